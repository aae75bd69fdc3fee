"""What calls spend their time on inside, over many of them: each part of their breakdowns with its interval."""

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
class InsidePart:
    """One part over many calls. `share` is the part's sum over the sum of all durations: shares add up to 1.

    `p50_ms` is the median of its milliseconds, `mean_ms` their mean (means add up, medians do not). `certainties`
    counts how the part is known in each call ("measured", "inferred", "missing"), `doubts` the reasons where it is not
    measured.
    """

    name: str
    p50_ms: Estimate
    p50_share: Estimate
    share: Estimate
    mean_ms: float
    pooled_share: float
    certainties: Mapping[str, int]
    doubts: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def label(self) -> str:
        """The part's name for a reader."""
        return PART_NAMES[self.name]

    def certainty(self) -> str:
        """`measured`, or how many calls it is not measured in and why."""
        others = {name: count for name, count in self.certainties.items() if name != "measured"}
        if not others:
            return "measured"
        of = sum(self.certainties.values())
        told = ", ".join(f"{name} in {number(count, 0)} of {number(of, 0)}" for name, count in others.items())
        why = next(iter(self.doubts), "")
        return f"{told}: {why}" if why else told

    def summary(self) -> dict[str, object]:
        """The part as JSON-ready values."""
        return {
            "part": self.name,
            "p50_ms": self.p50_ms.summary(),
            "p50_share": self.p50_share.summary(),
            "share": self.share.summary(),
            "pooled_share": self.pooled_share,
            "mean_ms": self.mean_ms,
            "certainties": dict(self.certainties),
            "doubts": dict(self.doubts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The parts of `n` calls' time, in the order in which a call passes through them."""

    n: int
    parts: tuple[InsidePart, ...]
    total_ms: float
    duration: Estimate

    def __getitem__(self, name: str) -> InsidePart:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def largest(self) -> list[InsidePart]:
        """The parts that took any time, the largest first."""
        return sorted((part for part in self.parts if part.pooled_share > 0), key=lambda part: -part.pooled_share)

    def sentence(self) -> str:
        """Where the time goes: the largest part with its interval, then the others."""
        largest = self.largest()
        if not largest:
            return "Nothing is known of where the time went."
        first, others = largest[0], largest[1:]
        share = first.share
        interval = (
            f"{percent(first.pooled_share)} (95 % interval {_interval(share.low, share.high)} %, n = {self.n})"
            if share.low is not None and share.high is not None
            else f"{percent(first.pooled_share)} (n = {self.n}, too few for an interval)"
        )
        told = ", ".join(f"{part.label} {percent(part.pooled_share)}" for part in others[:5])
        rest = f"; {told}" if told else ""
        much = "Most" if first.pooled_share > 0.5 else "The largest share"
        return f"{much} of the time goes to {_THE.get(first.name, first.label)}: {interval}{rest}."

    def rows(self) -> list[dict[str, str]]:
        """One row a part, as text for a reader."""
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
        """Everything as JSON-ready values."""
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
    "unknown": "what is unknown",
}


def share_text(share: Estimate, otherwise: float | None) -> str:
    """`62 % [55–70]`; without an interval the bare share, or the reason why there is none."""
    if share.value is None or share.low is None or share.high is None:
        return str(share) if otherwise is None else percent(otherwise)
    return f"{percent(share.value)} [{_interval(share.low, share.high)}]"


def _interval(low: float, high: float) -> str:
    return "–".join(percent(end).removesuffix(" %") for end in (low, high))


def look_inside(breakdowns: Sequence[Breakdown], *, seed: int) -> Inside:
    """The parts of many calls; a call that took no time at all has none."""
    calls = [each for each in breakdowns if each.total_ns]
    wholes = [each.total_ms for each in calls]
    return Inside(
        n=len(calls),
        parts=tuple(_part(name, calls, wholes, seed) for name in PARTS) if calls else (),
        total_ms=sum(wholes),
        duration=estimate_percentile(wholes, 0.5, seed=seed),
    )


def _part(name: str, calls: Sequence[Breakdown], wholes: Sequence[float], seed: int) -> InsidePart:
    found = [each[name] for each in calls]
    amounts = [part.duration_ms for part in found]
    return InsidePart(
        name=name,
        p50_ms=estimate_percentile(amounts, 0.5, seed=seed),
        p50_share=estimate_percentile([part.share for part in found], 0.5, seed=seed),
        share=estimate_ratio(amounts, wholes, seed=seed),
        mean_ms=sum(amounts) / len(amounts),
        pooled_share=sum(amounts) / sum(wholes),
        certainties=dict(Counter(part.certainty for part in found).most_common()),
        doubts=dict(Counter(part.doubt for part in found if part.doubt and part.certainty != "measured").most_common()),
    )


def spans_sentence(known: int, of: int, states: Mapping[str, int]) -> str:
    """`8 of 10 calls have spans; not found yet 2.`"""
    others = {state: count for state, count in states.items() if state not in ("found", "partial")}
    told = "; " + ", ".join(f"{state.replace('_', ' ')} {count}" for state, count in others.items()) if others else ""
    partial = f", {states['partial']} of them partial" if states.get("partial") else ""
    return f"{number(known, 0)} of {plural(of, 'call')} have spans{partial}{told}."
