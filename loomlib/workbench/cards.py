"""Cards of a workbench and of an agent, as notebooks show them."""

from __future__ import annotations

from collections.abc import Sequence

from ..agents import AgentEntry
from ..presentation.html import card
from .context import Context


def workbench_card(context: Context) -> str:
    """Return a workbench's card as HTML.

    Args:
        context: The workbench's resources.
    """
    entries = context.catalog.list()
    note = "" if entries else 'No agents yet. bench.deploy("calculator") deploys one in a few seconds.'
    return card(
        "Workbench",
        state=("good", "connected"),
        labels=context.labels or ("AWS",),
        facts=[
            ("agents", ", ".join(entry.name for entry in entries[:12]) or "none"),
            ("store", context.store.url),
            ("home folder", str(context.settings.home)),
        ],
        note=note,
    )


def agent_card(entry: AgentEntry, qualifier: str, labels: Sequence[str]) -> str:
    """Return an agent's card as HTML.

    Args:
        entry: The catalog's entry.
        qualifier: The endpoint to invoke.
        labels: Provenance labels, such as the local AgentCore.
    """
    failed = ("CREATE_FAILED", "UPDATE_FAILED", "DELETED")
    kind = "good" if entry.status == "READY" else "bad" if entry.status in failed else "wait"
    return card(
        entry.name,
        state=(kind, entry.status),
        labels=labels,
        facts=[
            ("runtime", entry.runtime_id),
            ("region", entry.region),
            ("qualifiers", ", ".join(entry.qualifiers)),
            ("log group", entry.log_group(qualifier)),
            ("invoke", 'agent.invoke("…")'),
        ],
    )
