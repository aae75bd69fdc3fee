"""Parameters, verdict and gates of the memory report."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from loomlib.errors import ReportError, ResourceNotFoundError
from loomlib.memory.isolation import IsolationReport
from loomlib.memory_study.access import MemoryAccess
from loomlib.memory_study.own_memory import STRATEGIES
from loomlib.memory_study.script import read_conversation
from loomlib.memory_study.writing import wait_until_extracted, write_conversation
from loomlib.presentation.formats import date_time, plural

from .displays import Listing, Verdict

if TYPE_CHECKING:
    from loomlib.memory.health import HealthReport
    from loomlib.workbench import Workbench
    from loomlib.workbench.memory import Memory

FORMAT = "loom.memory-inspection/1"
SAMPLE = "sample_memory"
_PEOPLE = ("nadia", "nadia-2")
_SETTLE_S, _QUIET_S = 15.0, 2.0


def inspected_memory(bench: Workbench, name: str = "") -> Memory:
    """Return the memory with a name, id or ARN; by default a sample with scripted conversations (local only)."""
    if name:
        return bench.memories.get(name)
    if bench.where != "local":
        raise ReportError("Name the memory to inspect", on="memory", try_="bench.memories.table() lists them")
    try:
        return bench.memories.get(SAMPLE)
    except ResourceNotFoundError:
        memory = bench.memories.create(SAMPLE, strategies=STRATEGIES)
    access, script, began = MemoryAccess(reader=memory.reader), read_conversation("shellfish"), datetime.now(UTC)
    last = len(script.sessions) + 1
    for actor in _PEOPLE:
        write_conversation(access, script, actor, before=last, study_id=uuid.uuid4().hex, began=began)
    conversations = [(script, actor) for actor in _PEOPLE]
    wait_until_extracted(access, conversations, last, settle_s=_SETTLE_S, quiet_s=_QUIET_S)
    return memory


def chosen_actor(memory: Memory, actor: str = "") -> str:
    """Return the named actor, else the first one listed; "" when there is none."""
    return actor or next(iter(memory.reader.actors(limit=1)), "")


def since_of(since: str) -> datetime | timedelta | None:
    """Return a time in ISO 8601, or a duration such as 7d, 12h or 30m; None for "".

    Raises:
        ReportError: The text is neither.
    """
    if not since:
        return None
    unit = {"d": "days", "h": "hours", "m": "minutes"}.get(since[-1])
    try:
        if unit is None:
            return datetime.fromisoformat(since)
        duration = timedelta(**{unit: float(since[:-1])})
        datetime.now(UTC) - duration  # pyright: ignore[reportUnusedExpression] - it may be before the year 1
    except (ValueError, OverflowError) as error:
        raise ReportError("since cannot be read", on=since, try_="7d, 12h, 30m or 2026-11-01") from error
    return duration


def newest_sessions(memory: Memory, actor: str, sessions: int) -> list[str]:
    """Return the ids of an actor's `sessions` newest sessions.

    Args:
        memory: The memory.
        actor: The actor's id; an empty one has no sessions.
        sessions: The most sessions.
    """
    if not actor:
        return []
    newest = sorted(memory.reader.sessions(actor), key=lambda session: session.created_at, reverse=True)
    return [session.session_id for session in newest[:sessions]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingGate:
    """Gate: no read returns data of another actor or tenant. Unclear when something could not be read."""

    crossings: int
    unread: Sequence[str]

    @classmethod
    def of(cls, health: HealthReport, isolation: IsolationReport | None = None) -> CrossingGate:
        """Create the gate from the memory's health and from the isolation test, if it ran."""
        return cls(
            crossings=len(health.crossings) + (len(isolation.crossings) if isolation else 0),
            unread=(*health.skipped, *(isolation.not_checked if isolation else ())),
        )

    @property
    def outcome(self) -> str:
        """`missed`, `unclear` or `passed`."""
        return "missed" if self.crossings else "unclear" if self.unread else "passed"

    def sentence(self) -> str:
        """Return the verdict in a sentence."""
        if self.crossings:
            return f"Gate missed: {plural(self.crossings, 'finding')} across actors or tenants."
        if self.unread:
            return (
                "Gate unclear: no data of another actor or tenant was found in what was read; "
                f"not checked: {'; '.join(self.unread)[:300]}."
            )
        return "Gate passed: no data of one actor or tenant was found with another."

    def summary(self) -> dict[str, Any]:
        """Return the gate as JSON-ready values."""
        return {
            "name": "no crossing",
            "outcome": self.outcome,
            "crossings": self.crossings,
            "sentence": self.sentence(),
        }


def memory_verdict(
    memory: Memory, health: HealthReport, gate: CrossingGate, isolation: IsolationReport | None = None
) -> Verdict:
    """Return the verdict: the memory's health, and whether data crosses between actors.

    Args:
        memory: The memory.
        health: Its health report.
        gate: The gate on crossing reads.
        isolation: The isolation test, if it ran.
    """
    worst = [finding.what for finding in health.findings if finding.severity != "note"][:3]
    cost = health.growth.sentence() if health.growth else ""
    read = (("record", health.records), ("event", health.events), ("actor", health.actors))
    totals = ", ".join(plural(count, noun) for noun, count in read)
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in health.counts().items())
    state = "is healthy" if health.is_healthy else "has findings to fix"
    noted = f": {counts}" if counts else ""
    isolated = [f"{isolation.sentence()}."] if isolation else []
    sentences = [f"This memory {state}{noted} ({totals} checked).", *worst, *isolated]
    return Verdict(
        title=" · ".join([f"memory {memory.name}", *memory.labels, date_time(health.checked_at)]),
        sentences=[*sentences, *([cost] if cost else [])],
        gates=[(gate.outcome, gate.sentence())],
        summary={
            "format": FORMAT,
            "memory": {"id": memory.id, "name": memory.name, "arn": memory.arn},
            "labels": list(memory.labels),
            "sentences": sentences,
            "healthy": health.is_healthy,
            "events": health.events,
            "records": health.records,
            "actors": health.actors,
            "counts": dict(health.counts()),
            "findings": health.rows(),
            "isolation": None if isolation is None else {"reads": isolation.reads, "crossings": isolation.rows()},
            "gates": [gate.summary()],
        },
    )


def memory_notes(health: HealthReport, isolation: IsolationReport | None = None) -> Listing:
    """Return how the memory was checked, and the limitations of the checks."""
    notes = [
        "Events and records were read page by page with the operations that agents use; nothing was changed.",
        "A finding is stated where the memory or the service shows it, and inferred where a rule on language or "
        "similarity suggests it: read the evidence.",
        "Secrets and personal data are redacted.",
    ]
    if isolation is not None:
        notes.append(
            f"Isolation was tested with {len(isolation.actors)} test actors (seed {isolation.seed}) and "
            f"{isolation.reads} reads; the test data was deleted afterwards."
        )
    limits = [
        "How an agent uses its records: inv.telemetry.memories_used() shows that for each answer.",
        "Contradictions that no rule recognizes.",
        *(f"Not checked: {check}" for check in health.skipped),
    ]
    return Listing(items=[*(("", note, "") for note in notes), *(("Not covered:", limit, "") for limit in limits)])
