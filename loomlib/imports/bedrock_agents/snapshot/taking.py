"""Read an agent of Bedrock Agents with its collaborators, to five levels."""

from __future__ import annotations

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
    """Return an agent with all that it consists of, at the version that an alias routes to; nothing is written to AWS.

    A part that cannot be read, such as a schema in a bucket without access, is a `problem` of that part.

    Args:
        clients: The connection.
        agent_id: The agent's id.
        alias: The alias's name, id or ARN; DRAFT or TSTALIASID for the working draft, which is labelled as not
            immutable.
        region: The region, if it is not the connection's.
        progress: Called with a line when an agent is read.

    Raises:
        ResourceNotFoundError: There is no such agent or alias.
        AwsError: The agent cannot be read.
    """
    reader = _Reader(clients, region, progress)
    agent = reader.tree(agent_id, alias)
    is_immutable = all(item.version != DRAFT for item in agent.walk())
    if agent.version == DRAFT:
        reader.note(agent, "This is the working draft, which can change at any time; make a version for an import.")
    return AgentSnapshot(
        agent=agent,
        region=region or clients.region,
        is_immutable=is_immutable,
        digest=agent_digest(agent),
        notes=tuple(reader.notes),
    )


class _Reader:
    """Reads agents, each version once."""

    def __init__(self, clients: Clients, region: str | None, progress: Progress | None) -> None:
        self._clients, self._region, self._progress = clients, region, progress
        self._routes: dict[tuple[str, str], AgentRoute] = {}
        self._versions: dict[tuple[str, str, str], ReadAgent] = {}
        self.notes: dict[str, None] = {}

    def note(self, agent: ImportedAgent, text: str) -> None:
        self.notes[f"{agent.name}: {text}"] = None

    def tree(self, agent_id: str, alias: str) -> ImportedAgent:
        return self._agent(agent_id, alias, (agent_id,))

    # `above` are the ids of the agents on the way down to an agent, its own included.
    def _agent(self, agent_id: str, alias: str, above: tuple[str, ...]) -> ImportedAgent:
        read = self._version(agent_id, alias)
        for text in read.notes:
            self.note(read.agent, text)
        collaborators = tuple(self._collaborator(item, above) for item in read.agent.collaborators)
        return replace(read.agent, collaborators=collaborators)

    def _version(self, agent_id: str, alias: str) -> ReadAgent:
        asked = (agent_id, alias)
        if asked not in self._routes:
            self._routes[asked] = find_route(self._clients, agent_id, alias, region=self._region)
        route = self._routes[asked]
        key = (agent_id, route.id, route.version)
        if key not in self._versions:
            if self._progress:
                self._progress(f"reading the agent {agent_id}, version {route.version}")
            documents = read_version(self._clients, agent_id, route.version, region=self._region)
            self._versions[key] = read_agent(documents, route)
        return self._versions[key]

    def _collaborator(self, collaborator: Collaborator, above: tuple[str, ...]) -> Collaborator:
        _, _, path = collaborator.alias_arn.partition(":agent-alias/")
        agent_id, _, alias_id = path.partition("/")
        if not agent_id or not alias_id:
            return replace(collaborator, problem=f"its alias {collaborator.alias_arn or 'is missing'}")
        if agent_id in above:
            cycle = " → ".join((*above[above.index(agent_id) :], agent_id))
            return replace(collaborator, problem=f"the agents call each other in a circle ({cycle})")
        if len(above) >= DEEPEST:
            return replace(collaborator, problem=f"it is below the {DEEPEST} levels that Bedrock allows")
        try:
            agent = self._agent(agent_id, alias_id, (*above, agent_id))
        except LoomError as error:
            return replace(collaborator, problem=error.what.rstrip("."))
        return replace(collaborator, agent=agent)
