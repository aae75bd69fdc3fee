"""The next step of a load test, derived from the previous steps: a stopped test continues with the same step.

The search for the highest load is replayed on the stored steps until it requests a step that was not made. Its clock
counts only the time of steps, so that a pause between two runs changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..load.calls import LoadCall
from ..load.search import HighestLoad, find_highest_load
from .design import LoadDesign


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """The step to make next.

    Attributes:
        load: Calls a second, or users.
        seconds: How long calls are offered.
        left_s: Seconds that the test may still take, this step included; None without a limit.
    """

    load: float
    seconds: float
    left_s: float | None = None


class _Ask(Exception):  # noqa: N818 -- it carries a request, not an error
    def __init__(self, load: float, seconds: float) -> None:
        self.load, self.seconds = load, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """A step that was made: its calls, and its duration in seconds."""

    calls: Callable[[], Sequence[LoadCall]]
    elapsed_s: float


def next_step(design: LoadDesign, steps: Sequence[MeasuredStep]) -> PlannedStep | HighestLoad | None:
    """Return the next step, or the result of the search; None when the sweep is complete.

    Args:
        design: The design.
        steps: The previous steps, in order.
    """
    if not design.is_search:
        if len(steps) == len(design.loads):
            return None
        lasting_s = [design.step_s(load) for load in design.loads[len(steps) :]]
        return PlannedStep(load=design.loads[len(steps)], seconds=lasting_s[0], left_s=sum(lasting_s))
    taken = 0
    now_s = 0.0

    def run(load: float, seconds: float) -> Sequence[LoadCall]:
        nonlocal taken, now_s
        if taken == len(steps):
            raise _Ask(load, seconds)
        step, taken = steps[taken], taken + 1
        now_s += step.elapsed_s
        return step.calls()

    first = min(max(design.lowest, design.highest / 8), design.highest)
    try:
        return find_highest_load(
            run,
            design.limits,
            first=float(round(first)) if design.is_closed_loop else first,
            lowest=design.lowest,
            highest=design.highest,
            limit_s=design.seconds,
            is_whole=design.is_closed_loop,
            clock=lambda: now_s,
        )
    except _Ask as wanted:
        return PlannedStep(load=wanted.load, seconds=wanted.seconds, left_s=max(0.0, design.seconds - now_s))
