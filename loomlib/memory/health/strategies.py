"""Strategies that bring nothing, and extractions that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Final

from ...aws.memory_shapes import FailedExtraction
from ..reading import MemoryReader
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

_ENOUGH_TURNS: Final = 3
_MOST_FAILED: Final = 200


def find_unused(scan: MemoryScan, reader: MemoryReader, *, extraction: timedelta) -> Iterator[Finding]:
    """Strategies without a record although enough was said, longer ago than extraction takes."""
    turns = sum(
        any(m.role == "USER" for m in each.messages) for each in scan.events if each.timestamp <= scan.now - extraction
    )
    used = {each.strategy_id for each in scan.records}
    for strategy in scan.memory.strategies:
        if strategy.strategy_id in used or turns < _ENOUGH_TURNS:
            continue
        if (
            "records" in scan.truncated
            and next(reader.records(strategy=strategy.strategy_id, limit=1), None) is not None
        ):
            continue
        state = f" (it is {strategy.status})" if strategy.status not in ("ACTIVE", "") else ""
        yield Finding(
            kind="unused_strategy",
            severity="warning",
            what=f"the strategy {strategy.name} ({strategy.type}) has no record, after {turns:,} turns{state}",
            count=turns,
            evidence=(MemoryEvidence(id=strategy.strategy_id, what="strategy", said=", ".join(strategy.namespaces)),),
            fix="look at memory.failed_extractions(), and whether anybody speaks of what it extracts; "
            "else delete it (UpdateMemory): it reads every turn, with a model",
        )
    failed: defaultdict[str, list[FailedExtraction]] = defaultdict(list)
    for each in islice(reader.failed_extractions(), _MOST_FAILED):
        failed[each.strategy_id].append(each)
    names = {each.strategy_id: each.name for each in scan.memory.strategies}
    for strategy_id, some in failed.items():
        yield Finding(
            kind="unused_strategy",
            severity="problem",
            what=f"{len(some):,} extractions of {names.get(strategy_id, strategy_id)} failed: what was said is unknown",
            count=len(some),
            evidence=tuple(
                MemoryEvidence(
                    id=each.job_id,
                    what="extraction",
                    said=scan.shown(each.reason),
                    actor_id=each.actor_id,
                    session_id=each.session_id,
                )
                for each in some[:20]
            ),
            fix="mend the reason, then StartMemoryExtractionJob with each job's id",
        )
