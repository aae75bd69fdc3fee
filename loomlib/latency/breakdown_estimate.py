"""Breakdowns of many calls' traces as estimates: each part of the time with its confidence interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loomlib.presentation.formats import number, percent, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_percentile
from loomlib.statistics.ratios import estimate_ratio
from loomlib.telemetry.traces import PARTS, Breakdown
from loomlib.telemetry.traces.part_styles import PART_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEstimate:
    """One part of the time, estimated over many calls.

    Attributes:
        name: The part's key in `loomlib.telemetry.traces.PARTS`.
        p50_ms: Median duration of the part, in milliseconds.
        p50_share: Median share of an invocation's duration.
        share: Its sum over the sum of all durations; shares add up to 1.
        mean_ms: Mean of its milliseconds; means add up, medians do not.
        pooled_share: `share` without an interval.
        certainties: How the part is known, by call: "measured", "inferred" or "missing".
        caveats: Reasons where it is not measured, by call.
    """

    name: str
    p50_ms: Estimate
    p50_share: Estimate
    share: Estimate
    mean_ms: float
    pooled_share: float
    certainties: Mapping[str, int]
    caveats: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def label(self) -> str:
        """The part's label."""
        return PART_NAMES[self.name]

    def certainty(self) -> str:
        """Return `measured`, or in how many calls the part is not measured, and why."""
        others = {name: count for name, count in self.certainties.items() if name != "measured"}
        if not others:
            return "measured"
        of = sum(self.certainties.values())
        counts = ", ".join(f"{name} in {number(count, 0)} of {number(of, 0)}" for name, count in others.items())
        reason = next(iter(self.caveats), "")
        return f"{counts}: {reason}" if reason else counts

    def summary(self) -> dict[str, object]:
        """Return the part as JSON-ready values."""
        return {
            "part": self.name,
            "p50_ms": self.p50_ms.summary(),
            "p50_share": self.p50_share.summary(),
            "share": self.share.summary(),
            "pooled_share": self.pooled_share,
            "mean_ms": self.mean_ms,
            "certainties": dict(self.certainties),
            "caveats": dict(self.caveats),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownEstimate:
    """The parts of the time of `n` calls, in the order in which a call passes through them."""

    n: int
    parts: tuple[PartEstimate, ...]
    total_ms: float
    duration: Estimate

    def __getitem__(self, name: str) -> PartEstimate:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def largest(self) -> list[PartEstimate]:
        """Return the parts that took any time, largest first."""
        return sorted((part for part in self.parts if part.pooled_share > 0), key=lambda part: -part.pooled_share)

    def sentence(self) -> str:
        """Return where the time goes: the largest part with its interval, then the others."""
        largest = self.largest()
        if not largest:
            return "It is not known where the time went."
        first, others = largest[0], largest[1:]
        share = first.share
        interval = (
            f"{percent(first.pooled_share)} (95 % interval {_interval(share.low, share.high)} %, n = {self.n})"
            if share.low is not None and share.high is not None
            else f"{percent(first.pooled_share)} (n = {self.n}, too few for an interval)"
        )
        shares = ", ".join(f"{part.label} {percent(part.pooled_share)}" for part in others[:5])
        rest = f"; {shares}" if shares else ""
        much = "Most" if first.pooled_share > 0.5 else "The largest share"
        return f"{much} of the time goes to {_THE.get(first.name, first.label)}: {interval}{rest}."

    def rows(self) -> list[dict[str, str]]:
        """Return one row of text for each part."""
        return [
            {
                "part": part.label,
                "share of all time [95 %]": share_text(part.share, part.pooled_share),
                "p50 [95 %] ms": str(part.p50_ms),
                "share in a call, p50 [95 %]": share_text(part.p50_share, None),
                "how it is known": part.certainty(),
            }
            for part in self.parts
            if part.pooled_share > 0 or (set(part.certainties) != {"measured"} and part.name != "unknown")
        ]

    def summary(self) -> dict[str, object]:
        """Return everything as JSON-ready values."""
        return {
            "n": self.n,
            "total_ms": self.total_ms,
            "duration_p50_ms": self.duration.summary(),
            "parts": [part.summary() for part in self.parts],
        }


_THE = {
    "model": "the model",
    "agent": "the agent's own work",
    "cold_start": "cold starts",
    "unknown": "unknown parts",
}


def share_text(share: Estimate, otherwise: float | None) -> str:
    """Return `62 % [55–70]`.

    Args:
        share: The share with its interval.
        otherwise: The share to show when there is no interval; None to show the reason instead.
    """
    if share.value is None or share.low is None or share.high is None:
        return str(share) if otherwise is None else percent(otherwise)
    return f"{percent(share.value)} [{_interval(share.low, share.high)}]"


def _interval(low: float, high: float) -> str:
    return "–".join(percent(end).removesuffix(" %") for end in (low, high))


def estimate_breakdown(breakdowns: Sequence[Breakdown]) -> BreakdownEstimate:
    """Estimate the parts of many calls' time.

    Args:
        breakdowns: Breakdowns of the calls; those that took no time at all are ignored.
    """
    calls = [breakdown for breakdown in breakdowns if breakdown.total_ns]
    wholes = [breakdown.total_ms for breakdown in calls]
    return BreakdownEstimate(
        n=len(calls),
        parts=tuple(_part(name, calls, wholes) for name in PARTS) if calls else (),
        total_ms=sum(wholes),
        duration=estimate_percentile(wholes, 0.5),
    )


def _part(name: str, calls: Sequence[Breakdown], wholes: Sequence[float]) -> PartEstimate:
    parts = [breakdown[name] for breakdown in calls]
    amounts = [part.duration_ms for part in parts]
    return PartEstimate(
        name=name,
        p50_ms=estimate_percentile(amounts, 0.5),
        p50_share=estimate_percentile([part.share for part in parts], 0.5),
        share=estimate_ratio(amounts, wholes),
        mean_ms=sum(amounts) / len(amounts),
        pooled_share=sum(amounts) / sum(wholes),
        certainties=dict(Counter(part.certainty for part in parts).most_common()),
        caveats=dict(
            Counter(part.caveat for part in parts if part.caveat and part.certainty != "measured").most_common()
        ),
    )


def spans_sentence(with_spans: int, total: int, states: Mapping[str, int]) -> str:
    """Return a sentence such as `8 of 10 calls have spans; not found yet 2.`.

    Args:
        with_spans: Calls with spans.
        total: Calls in all.
        states: How collecting the spans ended, by call.
    """
    others = {state: count for state, count in states.items() if state not in ("found", "partial")}
    rest = "; " + ", ".join(f"{state.replace('_', ' ')} {count}" for state, count in others.items()) if others else ""
    partial = f", {states['partial']} of them partial" if states.get("partial") else ""
    return f"{number(with_spans, 0)} of {plural(total, 'call')} have spans{partial}{rest}."
