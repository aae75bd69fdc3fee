"""Watch an agent: read its nights, search for changes, and say which of them are regressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from statistics import median, stdev
from typing import TYPE_CHECKING

from loomlib.errors import StudyError
from loomlib.presentation.formats import day, join, plural
from loomlib.statistics.changes import fewest_nights
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, outcome_at_least, outcome_at_most
from loomlib.statistics.shifts import estimate_shift

from ..scenarios import Scenario
from .change import IMPROVEMENT, REGRESSION, UNCLEAR, UNDONE, WITHIN, Change
from .choice import watched_figures
from .detection import WORSE, FoundChange, NightSeries, find_changes
from .evaluations import StoredEvaluations, read_evaluations
from .limits import WatchLimits
from .metrics import WATCH_METRICS, WatchedFigure, level
from .nights import Night, StoredNights, changed_conditions, changed_facts, join_days, read_nights
from .result import FigureHistory, WatchResult

if TYPE_CHECKING:
    from loomlib.store import Store

DAYS = 60


def watch_agent(
    store: Store,
    *,
    scope: str,
    agent_arn: str,
    agent_name: str = "",
    qualifier: str = "DEFAULT",
    scenarios: Sequence[str] = (),
    metrics: Sequence[str] = (),
    days: int = DAYS,
    max_slower: float = 0.0,
    max_cost_increase: float = 0.0,
    max_drop: float = 0.0,
    since: date | None = None,
    allow_overload: bool = False,
    allow_empty: bool = False,
    now: datetime | None = None,
) -> WatchResult:
    """Return what changed between the stored latency studies and evaluations of an agent, one night after the other.

    Args:
        store: The store with the studies.
        scope: The environment: "local" or "aws".
        agent_arn: The runtime's ARN.
        agent_name: The agent's name; its ARN by default.
        qualifier: The endpoint.
        scenarios: The scenarios, such as "warm"; by default, all of them and the evaluations.
        metrics: The figures, of `WATCH_METRICS`; all by default, but the mean score only of evaluators whose scores do
            not pass or fail. With fewer figures, smaller changes can be detected.
        days: Number of days up to now: only changes found in them count.
        max_slower: How much slower is allowed, as a share (0.1 for 10 %).
        max_cost_increase: How much more a call may cost, likewise.
        max_drop: How much lower pass rates and mean scores may be, as a difference (0.02 for 2 points).
        since: Where the history begins, such as the day from which a change is accepted as the new level. By default
            between `days` and 2 × `days` days ago; this date moves only once every `days` days, because the
            probability of a false alarm holds only for repeated looks at the same growing history.
        allow_overload: Whether to include studies that an overloaded machine disturbed.
        allow_empty: Whether to return a result without nights instead of raising an error.
        now: The reference time; the present by default.

    Raises:
        StudyError: Neither a latency study nor an evaluation of this endpoint is stored for that time.
    """
    if days < 1:
        raise ValueError(f"days must be at least 1, not {days}")
    limits = WatchLimits(max_slower=max_slower, max_cost_increase=max_cost_increase, max_drop=max_drop)
    if wrong := [name for name in scenarios if name not in tuple(Scenario)]:
        raise ValueError(f"a scenario must be one of {', '.join(Scenario)}, not {wrong[0]!r}")
    if wrong := [name for name in metrics if name not in WATCH_METRICS]:
        raise ValueError(f"a watched figure must be one of {', '.join(WATCH_METRICS)}, not {wrong[0]!r}")
    moment = now or datetime.now(UTC)
    if days >= moment.toordinal():
        raise ValueError(f"days must not reach back before the year 1, as {days} days do")
    begin = _beginning(moment, days, since)
    endpoint = {"scope": scope, "arn": agent_arn, "qualifier": qualifier}
    stored = read_nights(store, **endpoint, since=begin, allow_overload=allow_overload)
    judged = (
        StoredEvaluations(nights=())
        if scenarios
        else read_evaluations(store, **endpoint, since=begin, allow_overload=allow_overload)
    )
    nights = [night for night in join_days([*stored.nights, *judged.nights]) if night.at <= moment]
    nothing = not nights and not stored.disturbed
    if nothing and not allow_empty:
        raise StudyError(
            f"No complete latency study or evaluation of the endpoint {qualifier} is stored since {day(begin)}",
            on=agent_name or agent_arn,
            try_="run `loom report latency_study` or `loom report eval_set` every night, or increase days",
        )
    figures = watched_figures(nights, scenarios, metrics)
    watches = [watch for figure in figures if (watch := _watched(figure, nights)) is not None]
    found_changes = find_changes([watch.series for watch in watches])
    limit = moment - timedelta(days=days)
    changes = [
        _change(watches[found_change.series], nights, found_change, found_changes, limits)
        for found_change in found_changes
    ]
    return WatchResult(
        agent_name=agent_name or agent_arn,
        agent_arn=agent_arn,
        qualifier=qualifier,
        since=begin,
        days=days,
        limits=limits,
        histories=tuple(_history(watch, nights, found_changes, place) for place, watch in enumerate(watches)),
        changes=_newest([change for change in changes if change.found >= limit]),
        earlier=_newest([change for change in changes if change.found < limit]),
        fewest_nights=fewest_nights(),
        notes=tuple(_notes(stored, judged, allow_overload)),
        labels=tuple(nights[-1].facts["labels"].split(" · ")) if nights and "labels" in nights[-1].facts else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """A figure with its series; `values` are in its own unit."""

    figure: WatchedFigure
    series: NightSeries
    values: tuple[float, ...]
    left_out: tuple[str, ...]


def _beginning(now: datetime, days: int, since: date | None) -> datetime:
    if since is not None:
        return datetime(since.year, since.month, since.day, tzinfo=UTC)
    first = (now.astimezone(UTC).date().toordinal() - days) // days * days
    begin = date.fromordinal(max(1, first))
    return datetime(begin.year, begin.month, begin.day, tzinfo=UTC)


def _watched(figure: WatchedFigure, nights: Sequence[Night]) -> _Watched | None:
    with_calls = [number for number, night in enumerate(nights) if figure.group in night.conditions]
    if not with_calls:
        return None
    current = nights[with_calls[-1]].conditions[figure.group]
    same = [number for number in with_calls if nights[number].conditions[figure.group] == current]
    left_out: list[str] = []
    if others := [nights[number].conditions[figure.group] for number in with_calls if number not in set(same)]:
        left_out.append(
            f"{plural(len(others), 'night')} with another {join(changed_conditions(others, current))} "
            f"{'is' if len(others) == 1 else 'are'} not compared"
        )
    points = [(number, value) for number in same if (value := figure.value(nights[number])) is not None]
    if few := len(same) - len(points):
        left_out.append(f"{plural(few, 'night')} had {figure.missing}")
    numbers = [number for number, _ in points]
    hints = [
        place for place in range(1, len(numbers)) if changed_facts(nights[numbers[place - 1]], nights[numbers[place]])
    ]
    return _Watched(
        figure=figure,
        series=NightSeries(nights=numbers, levels=[level(figure, value) for _, value in points], hints=hints),
        values=tuple(value for _, value in points),
        left_out=tuple(left_out),
    )


def _change(
    watched: _Watched, nights: Sequence[Night], one: FoundChange, found: Sequence[FoundChange], limits: WatchLimits
) -> Change:
    series, numbers = watched.series, watched.series.nights
    last = max(other.place for other in found if other.series == one.series)
    before = series.levels[one.begin : one.place]
    effect = _effect(watched.figure, before, series.levels[one.place : one.end])
    present = effect if last == one.place else _effect(watched.figure, before, series.levels[last:])
    return Change(
        figure=watched.figure,
        state=_state(one, effect, present, limits.of(watched.figure), watched.figure),
        before=median(watched.values[one.begin : one.place]),
        after=median(watched.values[one.place : one.end]),
        effect=effect,
        present=present,
        nights_before=len(before),
        nights_after=one.end - one.place,
        last_before=nights[numbers[one.first - 1]].at,
        since=nights[numbers[one.place]].at,
        first_after=nights[numbers[one.last]].at,
        found=nights[one.found].at,
        facts=_facts_between(nights, numbers[one.first - 1 : one.last + 1]),
    )


def _facts_between(nights: Sequence[Night], numbers: Sequence[int]) -> dict[str, tuple[str, str]]:
    """Return every fact that changed from one of these nights to the next, with its first and its last value."""
    facts: dict[str, tuple[str, str]] = {}
    for before, after in pairwise(numbers):
        for name, (former, new) in changed_facts(nights[before], nights[after]).items():
            facts[name] = (facts[name][0] if name in facts else former, new)
    return facts


def _effect(figure: WatchedFigure, before: Sequence[float], after: Sequence[float]) -> Estimate:
    """Return a ratio or a difference, in the figure's own direction."""
    shift = estimate_shift(before, after)
    if shift.value is None or shift.low is None or shift.high is None:
        return shift
    if not figure.is_difference:
        return replace(shift, value=math.exp(shift.value), low=math.exp(shift.low), high=math.exp(shift.high))
    low, high, value, is_open = shift.low, shift.high, shift.value, shift.open_above
    if figure.is_higher_better:
        low, high, value, is_open = (-math.inf if is_open else -high), -low, -value, math.isinf(low)
    if figure.kind == "share":  # a share cannot change by more than 100 points
        low, high, is_open = max(low, -1.0), min(high, 1.0), is_open and not figure.is_higher_better
    return replace(shift, value=value, low=low, high=value if math.isinf(high) else high, open_above=is_open)


def _state(one: FoundChange, effect: Estimate, present: Estimate, limit: float, figure: WatchedFigure) -> str:
    if one.direction != WORSE:
        return IMPROVEMENT
    compare = outcome_at_least if figure.is_higher_better else outcome_at_most
    outcome = compare(present, limit)
    if outcome == MISSED:
        return REGRESSION
    if compare(effect, limit) == MISSED:
        return UNDONE
    return WITHIN if outcome == PASSED else UNCLEAR


def _history(
    watched: _Watched, nights: Sequence[Night], found_changes: Sequence[FoundChange], place: int
) -> FigureHistory:
    numbers = watched.series.nights
    starts = [0, *sorted(one.place for one in found_changes if one.series == place), len(numbers)]
    parts = [watched.series.levels[a:b] for a, b in pairwise(starts)]
    present = watched.values[starts[-2] :]
    deviations = [one - median(part) for part in parts for one in part]
    return FigureHistory(
        figure=watched.figure,
        at=tuple(nights[number].at for number in numbers),
        values=watched.values,
        versions=tuple(nights[number].facts.get("version", "") for number in numbers),
        present=median(present) if present else None,
        present_nights=len(present),
        spread=stdev(deviations) if len(deviations) >= 3 else None,
        left_out=watched.left_out,
    )


def _newest(changes: Sequence[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: change.since, reverse=True))


def _notes(stored: StoredNights, judged: StoredEvaluations, allow_overload: bool) -> list[str]:
    notes: list[str] = []
    if stored.disturbed:
        days = join(list(dict.fromkeys(day(at) for at in stored.disturbed)), most=5)
        count = len(stored.disturbed)
        handling = "compared as they are" if allow_overload else "left out"
        notes.append(
            f"{plural(count, 'study', 'studies')} on an overloaded machine {'is' if count == 1 else 'are'} {handling}: "
            f"{days}."
        )
    if stored.unfinished:
        notes.append(f"{plural(stored.unfinished, 'incomplete study', 'incomplete studies')} left out.")
    if judged.unfinished:
        notes.append(f"{plural(judged.unfinished, 'incomplete evaluation')} left out.")
    if judged.reused:
        verb = "is" if judged.reused == 1 else "are"
        notes.append(
            f"{plural(judged.reused, 'evaluation')} {verb} left out because stored answers were reused "
            "(evaluate with reuse=False to measure again)."
        )
    return notes
