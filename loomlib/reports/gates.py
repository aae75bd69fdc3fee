"""A gate on the 90th percentile of calls' durations, decided on its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loomlib.experiments import overloaded_text
from loomlib.presentation.formats import milliseconds, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR, Decision, decide_at_most
from loomlib.statistics.percentiles import estimate_percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationGate:
    """Missed when the whole 95 % interval is above the limit; unclear when it contains the limit.

    Attributes:
        decision: The verdict on the interval.
        limit_ms: The limit, in milliseconds.
        p90: The 90th percentile of the durations.
        is_overloaded: Whether the machine's load disturbed the durations; the gate is unclear then.
    """

    decision: Decision
    limit_ms: float
    p90: Estimate
    is_overloaded: bool = False

    @property
    def outcome(self) -> str:
        """The outcome: "passed", "missed" or "unclear"."""
        return UNCLEAR if self.is_overloaded else self.decision.outcome

    def sentence(self) -> str:
        """Return the verdict in a sentence."""
        if self.is_overloaded:
            return overloaded_text(self.decision.outcome, replace(self, is_overloaded=False).sentence())
        limit = milliseconds(self.limit_ms)
        if self.p90.value is None and self.outcome == MISSED:
            return f"Gate missed: {self.decision.all_missed('answered call')} of {limit}."
        if self.p90.value is None:
            few = f"{plural(self.p90.n, 'answered call')}, {self.p90.needed_n} are needed"
            return f"Gate unclear: {few} to judge the limit of {limit}."
        measured = f"p90 {milliseconds(self.p90.value)} (95 % interval {self.p90.interval_text('ms')}), limit {limit}"
        if self.outcome == MISSED:
            return f"Gate missed by {milliseconds(self.p90.value - self.limit_ms)}: {measured}."
        if self.outcome == PASSED:
            return f"Gate passed: {measured}."
        return f"Gate unclear: {measured}; {self.decision.advice('call')}."

    def summary(self) -> dict[str, object]:
        """Return the verdict, ready for JSON."""
        return {
            "outcome": self.outcome,
            "limit_ms": self.limit_ms,
            "p90": self.p90.summary(),
            "needed_n": self.decision.needed_n,
            "sentence": self.sentence(),
        }


def judge_durations(durations_ms: Sequence[float], max_p90_ms: float, *, is_overloaded: bool = False) -> DurationGate:
    """Compare the 90th percentile of durations (ms) with a limit.

    Args:
        durations_ms: Durations of answered calls.
        max_p90_ms: The limit, in milliseconds.
        is_overloaded: Whether the machine's load disturbed the durations, which leaves the gate unclear.
    """
    p90 = estimate_percentile(durations_ms, 0.9, seed=0)
    decision = decide_at_most(p90, max_p90_ms, durations_ms, allow_open=True)
    return DurationGate(decision=decision, limit_ms=max_p90_ms, p90=p90, is_overloaded=is_overloaded)
