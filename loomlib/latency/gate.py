"""A gate on a scenario's 90th percentile, and how long its limit has been missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loomlib.experiments import Gate, StudyLedger
from loomlib.presentation.formats import date_time, milliseconds, percent, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, Decision, decide_at_most
from loomlib.statistics.order_statistics import confidence_above
from loomlib.statistics.percentiles import needed_for, percentile

from .measurements import Measurement, of_scenario
from .scenarios import Scenario
from .stopping import StudyIntervals

if TYPE_CHECKING:
    from loomlib.store import Store

_P = 0.9
_MOST_EARLIER = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyGate(Gate):
    """The verdict on a scenario's 90th percentile (milliseconds) and its limit.

    Attributes:
        scenario: The scenario.
        confidence: Certainty that the percentile is above the limit, by the number of calls below it.
        since: Time of the first study in an unbroken series of missed ones of this agent, endpoint and prompt, this one
            included; None unless the gate is missed.
        studies: Length of that series.
    """

    scenario: Scenario
    confidence: float | None
    since: datetime | None
    studies: int

    @property
    def p90(self) -> Estimate:
        """The 90th percentile, in milliseconds."""
        return self.figure

    @property
    def by_ms(self) -> float | None:
        """The 90th percentile minus the limit, in milliseconds."""
        return None if self.figure.value is None else self.figure.value - self.limit


def judge(
    store: Store,
    study_id: str,
    measurements: Sequence[Measurement],
    *,
    limit_ms: float,
    scenario: Scenario,
    planned: int | None = None,
) -> LatencyGate:
    """Compare a stored study with a limit; earlier studies of the agent and prompt show since when it has been missed.

    Args:
        store: The store with the studies.
        study_id: The study.
        measurements: Its calls.
        limit_ms: The limit, in milliseconds.
        scenario: The scenario that the limit is for.
        planned: Calls of a scenario that were planned, if the study ended early by its rule (`StudyIntervals`).
    """
    if limit_ms <= 0:
        raise ValueError(f"a limit must be above 0 ms, not {limit_ms}")
    durations = _durations(measurements, scenario)
    p90 = StudyIntervals(planned=planned).percentile(durations, _P)
    decision = decide_at_most(p90, limit_ms, durations, allow_open=True)
    outcome = decision.outcome
    confidence = None
    if p90.value is not None:
        confidence = confidence_above(len(durations), _P, sum(duration <= limit_ms for duration in durations))
    since, studies = _series(StudyLedger(store, study_id), limit_ms, scenario) if outcome == MISSED else (None, 0)
    text = _sentence(decision, scenario, limit_ms, p90, confidence, since, studies)
    data: dict[str, Any] = {
        "scenario": scenario.value,
        "limit_ms": limit_ms,
        "p90": p90.summary(),
        "by_ms": None if p90.value is None else p90.value - limit_ms,
        "confidence": confidence,
        "since": since.isoformat() if since else None,
        "studies": studies,
        "needed_n": decision.needed_n,
    }
    return LatencyGate(
        outcome=outcome, limit=limit_ms, figure=p90, text=text, data=data,
        scenario=scenario, confidence=confidence, since=since, studies=studies,
    )  # fmt: skip


def _sentence(
    decision: Decision,
    scenario: Scenario,
    limit_ms: float,
    p90: Estimate,
    confidence: float | None,
    since: datetime | None,
    studies: int,
) -> str:
    limit, outcome, noun = milliseconds(limit_ms), decision.outcome, f"answered {scenario} call"
    series = f", {studies} studies in a row" if studies > 1 else ""
    if p90.value is None or confidence is None:
        if outcome == MISSED and since is not None:
            return f"Gate missed: {decision.all_missed(noun)} of {limit}, since {date_time(since)}{series}."
        return f"Gate unclear: {plural(p90.n, noun)}, {p90.needed_n} are needed to judge the limit of {limit}."
    figure = f"p90 of {scenario} calls {milliseconds(p90.value)} (95 % interval {p90.interval_text('ms')})"
    if outcome == MISSED and since is not None:
        return (
            f"Gate missed by {milliseconds(p90.value - limit_ms)}: {figure}, limit {limit}, confidence "
            f"{_confidence(confidence)}, since {date_time(since)}{series}."
        )
    if outcome == PASSED:
        return f"Gate passed: {figure}, limit {limit}."
    return (
        f"Gate unclear: the interval contains the limit of {limit}: {figure}, certainty that it is "
        f"exceeded {_confidence(confidence)}; {decision.advice(f'{scenario} call')}."
    )


def _series(ledger: StudyLedger, limit_ms: float, scenario: Scenario) -> tuple[datetime, int]:
    """Find the unbroken series of studies above the limit that ends with this one.

    Returns:
        The start of the series, and the number of its studies.
    """
    study, store = ledger.stored, ledger.store
    since, studies = study.created_at, 1
    for earlier in store.studies.list(agent=study.agent_arn, scope=study.scope, limit=_MOST_EARLIER * 4):
        same = all(earlier.design.get(name) == study.design.get(name) for name in ("kind", "prompt"))
        same = same and earlier.environment.get("qualifier") == study.environment.get("qualifier")
        if not same or earlier.id == study.id or earlier.created_at > study.created_at:
            continue
        calls = [Measurement.read(row) for row in StudyLedger(store, earlier.id).rows()]
        durations = _durations(calls, scenario)
        if len(durations) < needed_for(_P):
            continue  # too few calls: neither ends the series nor extends it
        if percentile(durations, _P) <= limit_ms or studies >= _MOST_EARLIER:
            break
        since, studies = earlier.created_at, studies + 1
    return since, studies


def _durations(measurements: Sequence[Measurement], scenario: Scenario) -> list[float]:
    return [call.duration_ms for call in of_scenario(measurements, scenario) if call.duration_ms is not None]


def _confidence(share: float) -> str:
    return "over 99 %" if share > 0.99 else "under 1 %" if share < 0.01 else percent(share)
