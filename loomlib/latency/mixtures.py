"""Scenarios whose calls are of two kinds, which no single percentile describes: the share and the figures of each.

Two things show a mixture. The logs tell which calls started a process (a microVM): a warm call whose microVM had gone,
or a cold call that a warm pool served. Where the logs say nothing, a gap between the durations does, when it is wider
than the range of either group and each group has at least a tenth of the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.statistics.estimates import Estimate

from .measurements import Measurement
from .stopping import StudyIntervals

FEWEST: Final = 12
"""Smallest number of calls in which a gap is searched for."""
BY_STARTS: Final = "process starts"
BY_GAP: Final = "a gap between the durations"


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePart:
    """One kind of the calls of a scenario.

    Attributes:
        label: What its calls have in common.
        share: Its share of the calls whose kind is known, 0 to 1.
        p50: Median duration of its calls, in milliseconds.
        p90: 90th percentile, in milliseconds.
        p99: 99th percentile, in milliseconds.
        ttft_p50: Median time to the first byte, in milliseconds.
        durations_ms: The durations, sorted.
    """

    label: str
    share: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate
    ttft_p50: Estimate
    durations_ms: tuple[float, ...]

    @property
    def n(self) -> int:
        """Its number of calls."""
        return len(self.durations_ms)

    @property
    def share_text(self) -> str:
        """The share of the calls with its interval."""
        return f"{percent(self.share.value)} of them (95 % interval {self.share.interval_text('share')} %)"

    def summary(self) -> dict[str, Any]:
        """Return the part as JSON-ready values."""
        return {
            "label": self.label,
            "n": self.n,
            "share": self.share.summary(),
            "p50_ms": self.p50.summary(),
            "p90_ms": self.p90.summary(),
            "p99_ms": self.p99.summary(),
            "ttft_p50_ms": self.ttft_p50.summary(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """The two kinds of calls of one scenario.

    Attributes:
        basis: What shows the mixture: "process starts" or "a gap between the durations".
        slow: The calls that started a process; with a gap, the slower ones.
        fast: The others.
        unknown: Answered calls whose kind is not known.
    """

    basis: str
    slow: MixturePart
    fast: MixturePart
    unknown: int = 0

    @property
    def is_by_starts(self) -> bool:
        """True when the logs tell which calls started a process."""
        return self.basis == BY_STARTS

    def sentence(self, scenario: str) -> str:
        """Return the share and the duration of each kind.

        Args:
            scenario: The scenario's name.
        """
        calls = plural(self.slow.n + self.fast.n, f"{scenario} call")
        if self.is_by_starts:
            head = f"{self.slow.n} of {calls} started a new process, {self.slow.share_text}"
            kinds = ("these take", "the others")
        else:
            head = f"{self.slow.n} of {calls} belong to a slower group, {self.slow.share_text}"
            kinds = ("these take", "the faster ones")
        return (
            f"{head}: {kinds[0]} {_median(self.slow)}, {kinds[1]} {_median(self.fast)}. Percentiles of all of them mix "
            "both kinds."
        )

    def summary(self) -> dict[str, Any]:
        """Return the mixture as JSON-ready values."""
        return {
            "basis": self.basis,
            "slow": self.slow.summary(),
            "fast": self.fast.summary(),
            "unknown": self.unknown,
        }


def find_mixture(calls: Sequence[Measurement], intervals: StudyIntervals) -> Mixture | None:
    """Return the two kinds of a scenario's answered calls; None when they are of one kind.

    Args:
        calls: The scenario's calls.
        intervals: Makes the estimates.
    """
    done_calls = [call for call in calls if call.is_done]
    starting = [call for call in done_calls if call.started_process]
    running = [call for call in done_calls if call.started_process is False]
    if starting and running:
        kinds = ((starting, "started a process"), (running, "found a running process"))
        basis = BY_STARTS
    elif (cut := _gap(done_calls)) is not None:
        ordered = sorted(done_calls, key=_duration)
        fast, slow = ordered[:cut], ordered[cut:]
        kinds = (
            (slow, f"from {milliseconds(_duration(slow[0]))}"),
            (fast, f"up to {milliseconds(_duration(fast[-1]))}"),
        )
        basis = BY_GAP
    else:
        return None
    known_count = sum(len(kind) for kind, _ in kinds)
    slow_part, fast_part = (_part(kind, label, known_count, intervals) for kind, label in kinds)
    return Mixture(basis=basis, slow=slow_part, fast=fast_part, unknown=len(done_calls) - known_count)


def _part(calls: Sequence[Measurement], label: str, known_count: int, intervals: StudyIntervals) -> MixturePart:
    durations = [_duration(call) for call in calls]
    first_bytes = [call.ttft_ms for call in calls if call.ttft_ms is not None]
    return MixturePart(
        label=label,
        share=intervals.share(len(calls), known_count),
        p50=intervals.percentile(durations, 0.5),
        p90=intervals.percentile(durations, 0.9),
        p99=intervals.percentile(durations, 0.99),
        ttft_p50=intervals.percentile(first_bytes, 0.5),
        durations_ms=tuple(sorted(durations)),
    )


def _gap(calls: Sequence[Measurement]) -> int | None:
    """Return how many of the sorted durations lie below a gap that separates two groups; None without one."""
    ordered = sorted(max(_duration(call), 1e-3) for call in calls)
    if len(ordered) < FEWEST:
        return None
    gap, cut = max((b / a, place) for place, (a, b) in enumerate(pairwise(ordered), 1))
    below, above = ordered[:cut], ordered[cut:]
    wide = gap > max(below[-1] / below[0], above[-1] / above[0], 1.1)
    if not wide or min(len(below), len(above)) < max(2, len(ordered) / 10):
        return None
    return cut


def _median(part: MixturePart) -> str:
    if part.p50.value is not None:
        return f"{part.p50.text('ms')} at the median"
    shortest, longest = milliseconds(part.durations_ms[0]), milliseconds(part.durations_ms[-1])
    return shortest if part.n == 1 else f"between {shortest} and {longest}"


def _duration(call: Measurement) -> float:
    return call.duration_ms or 0.0
