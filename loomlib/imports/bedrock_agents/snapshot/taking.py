"""Read an agent of Bedrock Agents with its collaborators, to five levels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from loomlib.aws import Clients
from loomlib.aws.bedrock_agent_parts import DRAFT, AgentRoute, find_route, read_version
from loomlib.errors import LoomError

from ..model import DEEPEST, Collaborator, ImportedAgent
from .agents import ReadAgent, read_agent
from .digests import agent_digest
from .value import AgentSnapshot

Progress = Callable[[str], None]


def take_snapshot(
    clients: Clients, agent_id: str, *, alias: str, region: str | None = None, progress: Progress | None = None
) -> AgentSnapshot:
    """Return an agent with all its parts, at the version that an alias routes to; changes nothing in AWS.

    A part that cannot be read, such as a schema in an inaccessible bucket, has a `problem`.

    Args:
        clients: The AWS clients of a connection.
        agent_id: The agent's id.
        alias: The alias's name, id or ARN; DRAFT or TSTALIASID for the working draft, which is labelled as not
            immutable.
        region: The region, if it is not the connection's.
        progress: Called with a line before an agent is read.

    Raises:
        ResourceNotFoundError: There is no such agent or alias.
        AwsError: The agent cannot be read.
    """
    return AgentReader(clients, region=region, progress=progress).snapshot(agent_id, alias)


class AgentReader:
    """Takes snapshots of agents, and reads each version of an agent once; threads may share it.

    Args:
        clients: The AWS clients of a connection.
        region: The region, if it is not the connection's.
        progress: Called with a line before an agent is read.
    """

    def __init__(self, clients: Clients, *, region: str | None = None, progress: Progress | None = None) -> None:
        self._clients, self._region, self._progress = clients, region, progress
        self._lock = threading.Lock()
        self._routes: dict[tuple[str, str], AgentRoute] = {}
        self._versions: dict[tuple[str, str, str], ReadAgent] = {}

    def snapshot(self, agent_id: str, alias: str | AgentRoute) -> AgentSnapshot:
        """Return an agent at the version that an alias routes to; see `take_snapshot`.

        Args:
            agent_id: The agent's id.
            alias: The alias's name, id or ARN, or DRAFT; or the alias itself, if it has already been read.

        Raises:
            ResourceNotFoundError: There is no such agent or alias.
            AwsError: The agent cannot be read.
        """
        if isinstance(alias, AgentRoute):
            with self._lock:
                self._routes[agent_id, alias.id] = alias
            alias = alias.id
        walk = _Walk(self)
        agent = walk.agent(agent_id, alias, (agent_id,))
        if agent.version == DRAFT:
            walk.notes[f"{agent.name}: this is the working draft, which can change at any time."] = None
        return AgentSnapshot(
            agent=agent,
            region=self._region or self._clients.region,
            is_immutable=all(item.version != DRAFT for item in agent.walk()),
            digest=agent_digest(agent),
            notes=tuple(walk.notes),
        )

    def read(self, agent_id: str, alias: str) -> ReadAgent:
        """Return one version of an agent without the agents of its collaborators.

        Args:
            agent_id: The agent's id.
            alias: The alias's name, id or ARN, or DRAFT.

        Raises:
            AwsError: It cannot be read.
        """
        # Concurrent reads by two threads cost extra requests but never wait for the other thread's retries.
        route_key = (agent_id, alias)
        with self._lock:
            route = self._routes.get(route_key)
        if route is None:
            route = find_route(self._clients, agent_id, alias, region=self._region)
        key = (agent_id, route.id, route.version)
        with self._lock:
            self._routes[route_key] = route
            cached_agent = self._versions.get(key)
        if cached_agent is not None:
            return cached_agent
        if self._progress:
            self._progress(f"reading the agent {agent_id}, version {route.version}")
        agent = read_agent(read_version(self._clients, agent_id, route.version, region=self._region), route)
        with self._lock:
            self._versions[key] = agent
        return agent


class _Walk:
    """Follows the collaborators of one agent. `above` contains the ids of the agents on the path, including its own."""

    def __init__(self, reader: AgentReader) -> None:
        self._reader = reader
        self.notes: dict[str, None] = {}

    def agent(self, agent_id: str, alias: str, above: tuple[str, ...]) -> ImportedAgent:
        read = self._reader.read(agent_id, alias)
        self.notes.update(dict.fromkeys(f"{read.agent.name}: {note}" for note in read.notes))
        collaborators = tuple(self._collaborator(item, above) for item in read.agent.collaborators)
        return replace(read.agent, collaborators=collaborators)

    def _collaborator(self, collaborator: Collaborator, above: tuple[str, ...]) -> Collaborator:
        agent_id, _, alias_id = collaborator.alias_arn.partition(":agent-alias/")[2].partition("/")
        if not agent_id or not alias_id:
            state = f"is {collaborator.alias_arn}" if collaborator.alias_arn else "is missing"
            return replace(collaborator, problem=f"its alias {state}")
        if agent_id in above:
            circle = " → ".join((*above[above.index(agent_id) :], agent_id))
            return replace(collaborator, problem=f"the agents call each other in a circle ({circle})")
        if len(above) >= DEEPEST:
            return replace(collaborator, problem=f"it is below the {DEEPEST} levels that Bedrock allows")
        try:
            agent = self.agent(agent_id, alias_id, (*above, agent_id))
        except LoomError as error:
            return replace(collaborator, problem=error.what.rstrip("."))
        return replace(collaborator, agent=agent)
