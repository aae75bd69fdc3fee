"""Finds strategies that extract nothing, and failed extractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Final

from ...aws.memory_shapes import FailedExtraction
from ...presentation.formats import plural
from ..reading import MemoryReader
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

_ENOUGH_TURNS: Final = 3
_MOST_FAILED: Final = 200


def find_unused(scan: MemoryScan, reader: MemoryReader, *, extraction: timedelta) -> Iterator[Finding]:
    """Yield strategies without a record in spite of enough turns, and failed extractions.

    Args:
        scan: The memory's records and events.
        reader: Reads the memory.
        extraction: How long extraction may take; newer turns are not counted.
    """
    turns = sum(
        any(message.role == "USER" for message in event.messages)
        for event in scan.events
        if event.timestamp <= scan.now - extraction
    )
    used = {record.strategy_id for record in scan.records}
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
            what=f"the strategy {strategy.name} ({strategy.type}) has no record after {plural(turns, 'turn')}{state}",
            count=turns,
            evidence=(
                MemoryEvidence(id=strategy.strategy_id, what="strategy", excerpt=", ".join(strategy.namespaces)),
            ),
            fix="check memory.failed_extractions(), and whether conversations contain what it extracts; "
            "otherwise delete it (UpdateMemory), because it processes every turn with a model",
        )
    failed: defaultdict[str, list[FailedExtraction]] = defaultdict(list)
    jobs_read = list(islice(reader.failed_extractions(), _MOST_FAILED + 1))
    least = "at least " if len(jobs_read) > _MOST_FAILED else ""
    for extraction_job in jobs_read[:_MOST_FAILED]:
        failed[extraction_job.strategy_id].append(extraction_job)
    names = {strategy.strategy_id: strategy.name for strategy in scan.memory.strategies}
    for strategy_id, jobs in failed.items():
        yield Finding(
            kind="unused_strategy",
            severity="problem",
            what=f"{least}{plural(len(jobs), 'extraction')} of {names.get(strategy_id, strategy_id)} failed, so facts "
            "may be missing",
            count=len(jobs),
            evidence=tuple(
                MemoryEvidence(
                    id=job.job_id,
                    what="extraction",
                    excerpt=scan.redacted(job.reason),
                    actor_id=job.actor_id,
                    session_id=job.session_id,
                )
                for job in jobs[:20]
            ),
            fix="fix the cause, then call StartMemoryExtractionJob with the id of each job",
        )
