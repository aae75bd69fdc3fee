"""Memories to look at without a service: records and events made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from loomlib.aws.memory_shapes import (
    SOURCE_EVENTS_KEY,
    MemoryDescription,
    MemoryEvent,
    MemoryMessage,
    MemoryRecord,
    MemoryStrategy,
)
from loomlib.memory.health.scan import MemoryScan
from loomlib.redaction import Redactor

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def record(
    text: str,
    namespace: str = "/facts/anna/",
    *,
    days_ago: float = 3.0,
    sources: Sequence[str] = (),
    strategy: str = "facts-1",
    metadata: dict[str, Any] | None = None,
) -> MemoryRecord:
    return MemoryRecord(
        record_id=f"mem-{next(_numbers):036d}",
        text=text,
        namespaces=(namespace,),
        strategy_id=strategy,
        created_at=NOW - timedelta(days=days_ago),
        metadata={**(metadata or {}), **({SOURCE_EVENTS_KEY: list(sources)} if sources else {})},
    )


def event(
    text: str,
    actor: str = "anna",
    *,
    session: str = "s1",
    days_ago: float = 3.0,
    metadata: dict[str, str] | None = None,
) -> MemoryEvent:
    return MemoryEvent(
        event_id=f"{next(_numbers):016d}#abc",
        actor_id=actor,
        session_id=session,
        timestamp=NOW - timedelta(days=days_ago),
        messages=(MemoryMessage(role="USER", text=text), MemoryMessage(role="ASSISTANT", text="Noted.")),
        metadata=metadata or {},
    )


def strategy(template: str = "/facts/{actorId}/", *, id: str = "facts-1") -> MemoryStrategy:
    return MemoryStrategy(
        strategy_id=id, name=id.partition("-")[0], type="SEMANTIC", status="ACTIVE", namespaces=(template,)
    )


def description(*strategies: MemoryStrategy) -> MemoryDescription:
    return MemoryDescription(
        memory_id="m-0123456789",
        arn="",
        name="m",
        status="ACTIVE",
        region="us-east-1",
        created_at=NOW,
        updated_at=NOW,
        strategies=strategies,
    )


def scan(
    records: Sequence[MemoryRecord] = (),
    events: Sequence[MemoryEvent] = (),
    *,
    strategies: Sequence[MemoryStrategy] | None = None,
    redactor: Redactor | None = None,
) -> MemoryScan:
    actors = tuple(dict.fromkeys(event.actor_id for event in events))
    return MemoryScan(
        memory=description(*(strategies if strategies is not None else [strategy()])),
        records=tuple(records),
        events=tuple(events),
        actors=actors,
        now=NOW,
        redactor=redactor or Redactor(),
    )
