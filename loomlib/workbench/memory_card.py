"""The card of a memory, and the texts that replace its empty tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..aws.memory_shapes import MemoryDescription
from ..presentation.html import card

NO_EVENTS: Final = (
    "No events. An agent writes them with CreateEvent: bedrock_agentcore's MemorySessionManager does, and so does the "
    "blueprint assistant_with_memory."
)
"""Shown in place of a table without events."""


def no_records(description: MemoryDescription) -> str:
    """Return what to show in place of a table without records.

    Args:
        description: The memory.
    """
    if not description.strategies:
        return (
            "No records: the memory has no strategy, so nothing is extracted. "
            'bench.memories.create(name, strategies=["semantic"]) creates one that extracts facts.'
        )
    names = ", ".join(template for strategy in description.strategies for template in strategy.namespaces)
    return f"No records here. They are extracted some time after a turn ends, into {names}."


def memory_card(description: MemoryDescription, labels: Sequence[str]) -> str:
    """Return a memory's card as HTML.

    Args:
        description: The memory.
        labels: Labels of its origin, such as `local`.
    """
    facts = [
        (f"{strategy.name} ({strategy.type.lower()})", ", ".join(strategy.namespaces))
        for strategy in description.strategies
    ]
    expiry = "–" if description.event_expiry_days is None else f"after {description.event_expiry_days} days"
    return card(
        f"Memory {description.name}",
        state=({"ACTIVE": "good", "FAILED": "bad"}.get(description.status, "wait"), description.status.lower()),
        labels=(*labels, description.region),
        facts=[("id", description.memory_id), ("events expire", expiry), *facts],
        note=description.failure_reason
        or ("" if facts else "No strategy: events are stored, no records are extracted."),
    )
