"""A limit on a percentile, judged with its doubt: passed, missed, or unclear. A flaky night is not an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_percentile, percentile_replicates

from .ledger import Ledger
from .measurements import Measurement, of_scenario
from .scenarios import Scenario

if TYPE_CHECKING:
    from loomlib.store import Store

PASSED, MISSED, UNCLEAR = "passed", "missed", "unclear"
_P = 0.9
_EARLIER = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """How a scenario's 90th percentile (milliseconds) stands to a limit.

    `outcome` is "missed" when the estimate and its whole 95 % interval lie above the limit, "passed" when they lie at
    or below it, and "unclear" when the interval straddles the limit or the calls are too few: no reason to wake
    anybody. `by_ms` is the estimate minus the limit. `confidence` is the share of bootstrap replicates above the limit.
    `since` is when the first of an unbroken row of missed studies of this agent, endpoint and prompt was made, this one
    included; `studies` counts the row.
    """

    outcome: str
    scenario: Scenario
    limit_ms: float
    p90: Estimate
    by_ms: float | None
    confidence: float | None
    since: datetime | None
    studies: int

    @property
    def is_missed(self) -> bool:
        """True when the limit is exceeded beyond doubt."""
        return self.outcome == MISSED

    def sentence(self) -> str:
        """The verdict in a sentence: by how much, with what confidence, since when."""
        limit = milliseconds(self.limit_ms)
        if self.p90.value is None or self.by_ms is None or self.confidence is None:
            return (
                f"Gate unclear: {plural(self.p90.n, f'answered {self.scenario} call')}, "
                f"{self.p90.needed_n} are needed to judge the limit of {limit}."
            )
        found = f"p90 of {self.scenario} calls {milliseconds(self.p90.value)} (95 % interval {self.p90.interval})"
        if self.outcome == MISSED and self.since is not None:
            row = f", {plural(self.studies, 'study').replace('studys', 'studies')} in a row" if self.studies > 1 else ""
            return (
                f"Gate missed by {milliseconds(self.by_ms)}: {found}, limit {limit}, confidence "
                f"{_confidence(self.confidence)}, since {self.since:%d %b %Y %H:%M} UTC{row}."
            )
        if self.outcome == PASSED:
            return f"Gate passed: {found}, limit {limit}."
        return (
            f"Gate unclear: {found} straddles the limit of {limit} "
            f"({_confidence(self.confidence)} of the resamples lie above it); more calls would decide."
        )

    def summary(self) -> dict[str, object]:
        """The verdict as JSON-ready values."""
        return {
            "outcome": self.outcome,
            "scenario": self.scenario.value,
            "limit_ms": self.limit_ms,
            "p90": self.p90.summary(),
            "by_ms": self.by_ms,
            "confidence": self.confidence,
            "since": self.since.isoformat() if self.since else None,
            "studies": self.studies,
            "sentence": self.sentence(),
        }


def judge(
    store: Store,
    study_id: str,
    measurements: Sequence[Measurement],
    *,
    limit_ms: float,
    scenario: Scenario,
    seed: int,
) -> GateVerdict:
    """The verdict on one stored study; the studies of the same agent and prompt before it say since when."""
    if limit_ms <= 0:
        raise ValueError(f"a limit is above 0 ms, not {limit_ms}")
    durations = _durations(measurements, scenario)
    p90 = estimate_percentile(durations, _P, seed=seed)
    outcome = outcome_of(p90, limit_ms)
    since, studies = _since(store, study_id, limit_ms, scenario, seed) if outcome == MISSED else (None, 0)
    return GateVerdict(
        outcome=outcome,
        scenario=scenario,
        limit_ms=limit_ms,
        p90=p90,
        by_ms=None if p90.value is None else p90.value - limit_ms,
        confidence=(
            None if p90.value is None else float((percentile_replicates(durations, _P, seed=seed) > limit_ms).mean())
        ),
        since=since,
        studies=studies,
    )


def outcome_of(p90: Estimate, limit_ms: float) -> str:
    """`passed`, `missed` or `unclear`: how a 90th percentile stands to a limit, both in milliseconds."""
    if p90.value is None or p90.low is None or p90.high is None:
        return UNCLEAR
    if p90.low > limit_ms:
        return MISSED
    return PASSED if p90.high <= limit_ms else UNCLEAR


def _since(store: Store, study_id: str, limit_ms: float, scenario: Scenario, seed: int) -> tuple[datetime | None, int]:
    this = store.studies.get(study_id)
    if this is None:
        return None, 0
    since, studies = this.created_at, 1
    for earlier in store.studies.list(agent=this.agent_arn, scope=this.scope, limit=_EARLIER * 4):
        same = all(earlier.design.get(name) == this.design.get(name) for name in ("kind", "prompt"))
        same = same and earlier.environment.get("qualifier") == this.environment.get("qualifier")
        if not same or earlier.id == this.id or earlier.created_at > this.created_at:
            continue
        found = estimate_percentile(_durations(Ledger(store, earlier.id).measurements(), scenario), _P, seed=seed)
        if found.value is None:
            continue  # too few calls to say: neither breaks the row nor lengthens it
        if found.value <= limit_ms or studies >= _EARLIER:
            break
        since, studies = earlier.created_at, studies + 1
    return since, studies


def _durations(measurements: Sequence[Measurement], scenario: Scenario) -> list[float]:
    return [each.duration_ms for each in of_scenario(measurements, scenario) if each.duration_ms is not None]


def _confidence(share: float) -> str:
    return "over 99 %" if share > 0.99 else "under 1 %" if share < 0.01 else percent(share)
