"""All agents of Bedrock Agents in an account, with the outcomes of their features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from loomlib.aws import Clients
from loomlib.aws.bedrock_agent_parts import DRAFT, AgentRoute, list_routes
from loomlib.aws.bedrock_agents import TEST_ALIAS, BedrockAgent
from loomlib.errors import LoomError

from .snapshot import AgentReader, AgentSnapshot

AT_ONCE = 4
"""Number of agents that are read at the same time: Bedrock throttles these operations per account, and retries take
longer."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryEntry:
    """An agent in the inventory.

    Attributes:
        agent: The agent, as listed by Bedrock.
        routes: Its aliases except the test alias, with the versions that they route to.
        snapshot: The snapshot of the agent, None if it could not be read.
        problem: Why it could not be read, "" if it could.
    """

    agent: BedrockAgent
    routes: tuple[AgentRoute, ...] = ()
    snapshot: AgentSnapshot | None = None
    problem: str = ""


def take_inventory(
    clients: Clients,
    agents: Iterable[BedrockAgent],
    *,
    region: str | None = None,
    progress: Progress | None = None,
) -> tuple[InventoryEntry, ...]:
    """Return an entry for each agent, in the given order; changes nothing in AWS.

    The version of the most recently changed alias is read; without an alias, the working draft. An agent
    that cannot be read is an entry with a problem.

    Args:
        clients: The AWS clients of a connection.
        agents: The agents.
        region: The region, if it is not the connection's.
        progress: Called with a line after each agent is read.
    """
    listed, reader = tuple(agents), AgentReader(clients, region=region)
    done = 0

    def count(_: Future[InventoryEntry]) -> None:
        nonlocal done
        done += 1
        if progress:
            progress(f"Bedrock agents · {done} of {len(listed)} read")

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="loom-inventory") as pool:
        waiting = [pool.submit(_entry, clients, reader, agent, region) for agent in listed]
        for future in waiting:
            future.add_done_callback(count)
        return tuple(future.result() for future in waiting)


def _entry(clients: Clients, reader: AgentReader, agent: BedrockAgent, region: str | None) -> InventoryEntry:
    routes: tuple[AgentRoute, ...] = ()
    try:
        all_routes = list_routes(clients, agent.id, region=region)
        routes = tuple(route for route in all_routes if route.id != TEST_ALIAS)
        return InventoryEntry(agent=agent, routes=routes, snapshot=reader.snapshot(agent.id, newest_route(routes)))
    except LoomError as error:
        return InventoryEntry(agent=agent, routes=routes, problem=error.what)


def newest_route(routes: Iterable[AgentRoute]) -> AgentRoute | str:
    """Return the most recently changed alias, or DRAFT if there is none.

    Args:
        routes: The agent's aliases.
    """

    def changed(route: AgentRoute) -> tuple[float, str]:
        return route.updated_at.timestamp() if route.updated_at else 0.0, route.id

    used = (route for route in routes if route.version and route.id != TEST_ALIAS)
    return max(used, key=changed, default=DRAFT)
