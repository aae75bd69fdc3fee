"""The inventory of an account's Bedrock agents as a table, one row per agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..aws.bedrock_agent_parts import list_routes
from ..aws.bedrock_agents import BedrockAgent, list_bedrock_agents
from ..imports.bedrock_agents.features import FEATURE_NAMES
from ..imports.bedrock_agents.inventory import InventoryEntry, newest_route, take_inventory
from .context import Context
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("name", "id", "status", "version", "aliases", "model", "collaborators", "updated_at")


def read_inventory(context: Context, *, region: str | None = None) -> tuple[InventoryEntry, ...]:
    """Return an entry for each Bedrock agent of the account, with progress when it takes longer than a second.

    Args:
        context: The workbench's resources.
        region: The AWS region; the connection's by default.

    Raises:
        AwsError: The agents cannot be listed.
    """
    agents = list_bedrock_agents(context.clients, region=region)
    return take_inventory(context.clients, agents, region=region, progress=WaitLine())


def newest_alias(context: Context, agent: BedrockAgent) -> str:
    """Return the id of the alias whose version the inventory shows, or DRAFT if there is none.

    Args:
        context: The workbench's resources.
        agent: The agent.

    Raises:
        AwsError: The aliases cannot be listed.
    """
    route = newest_route(list_routes(context.clients, agent.id, region=agent.region))
    return route if isinstance(route, str) else route.id


def inventory_frame(entries: Iterable[InventoryEntry]) -> pd.DataFrame:
    """Return the inventory, one row per agent, with a column for each feature.

    Args:
        entries: The agents.
    """
    import pandas as pd

    columns = (*_COLUMNS, *FEATURE_NAMES, "problem")
    frame = pd.DataFrame.from_records([_row(entry) for entry in entries], columns=columns)
    frame["updated_at"] = pd.to_datetime(frame["updated_at"], utc=True)
    return frame


def _row(entry: InventoryEntry) -> dict[str, Any]:
    listed, snapshot = entry.agent, entry.snapshot
    row: dict[str, Any] = {
        "name": listed.name,
        "id": listed.id,
        "status": listed.status,
        "aliases": ", ".join(f"{route.name} → {route.version or 'no version'}" for route in entry.routes),
        "updated_at": listed.updated_at,
        "problem": entry.problem,
    }
    if snapshot is not None:
        agent = snapshot.agent
        row |= {"version": agent.version, "model": agent.model.identifier, "collaborators": len(agent.collaborators)}
        row |= {feature.name: feature.state for feature in snapshot.features}
    return row
