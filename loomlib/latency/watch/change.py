"""A change of one figure, and changes of several figures at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from loomlib.presentation.formats import figure, interval, number, signed
from loomlib.statistics.estimates import Estimate

from .metrics import ScenarioFigure, WatchedFigure

REGRESSION: Final = "regression"
"""Worse by more than the limit with the whole interval, and still worse."""
UNCLEAR: Final = "unclear"
"""Worse, but the interval contains the limit."""
WITHIN: Final = "within the limit"
UNDONE: Final = "undone"
"""Worse at first, but the present nights are not, or are no longer known to be."""
IMPROVEMENT: Final = "improvement"
CHANGE_STATES: Final = (REGRESSION, UNCLEAR, WITHIN, UNDONE, IMPROVEMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the level of one figure.

    Attributes:
        figure: The figure.
        state: One of `CHANGE_STATES`.
        before: Median of the nights before it, in the figure's unit.
        after: Median of the nights after it, up to the next change.
        effect: The level after it relative to the level before: a ratio, or for shares and scores a difference, with
            its 95 % interval.
        present: The level of the present nights relative to the level before the change, likewise.
        nights_before: Number of nights before it.
        nights_after: Number of nights after it.
        last_before: Time of the last night that is certainly before it.
        since: Time of the most probable first night after it.
        first_after: Time of the first night that is certainly after it.
        found: Time of the night after whose study it was found.
        facts: What changed between `last_before` and `first_after`, each with its value before and after.
    """

    figure: WatchedFigure
    state: str
    before: float
    after: float
    effect: Estimate
    present: Estimate
    nights_before: int
    nights_after: int
    last_before: datetime
    since: datetime
    first_after: datetime
    found: datetime
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @property
    def is_worse(self) -> bool:
        """Whether it means slower or more expensive calls, more failures, or a lower score."""
        return self.state != IMPROVEMENT

    @property
    def has_risen(self) -> bool:
        """Whether the figure rose: worse, unless a higher value is better."""
        return self.is_worse != self.figure.is_higher_better

    def effect_text(self) -> str:
        """Return the effect with its interval, such as `1.26 times [1.18–1.35]` or `+4.5 points [2–8]`."""
        return effect_text(self.figure, self.effect)

    def sentence(self) -> str:
        """Return what changed: `p90 of warm calls rose from 318 ms to 402 ms: 1.26 times [1.18–1.35]`."""
        verb = "rose" if self.has_risen else "fell"
        levels = f"from {figure(self.before, self.figure.kind)} to {figure(self.after, self.figure.kind)}"
        return f"{self.figure.title} {verb} {levels}: {self.effect_text()}"

    def summary(self) -> dict[str, Any]:
        """Return the change as JSON-ready values."""
        return {
            "scenario": self.figure.subject if isinstance(self.figure, ScenarioFigure) else "",
            "subject": self.figure.subject,
            "title": self.figure.title,
            "metric": self.figure.metric,
            "state": self.state,
            "before": self.before,
            "after": self.after,
            "unit": self.figure.kind,
            "effect": effect_summary(self.figure, self.effect),
            "present": effect_summary(self.figure, self.present),
            "nights_before": self.nights_before,
            "nights_after": self.nights_after,
            "last_before": self.last_before.isoformat(),
            "since": self.since.isoformat(),
            "first_after": self.first_after.isoformat(),
            "found": self.found.isoformat(),
            "changed": {name: list(values) for name, values in self.facts.items()},
            "sentence": f"{self.sentence()}.",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroup:
    """Changes in one direction that may have happened at the same time.

    Attributes:
        changes: The changes, the largest effect first.
        last_before: Time of the last night that is certainly before all of them.
        since: Time of the most probable first night after them.
        first_after: Time of the first night that is certainly after the first of them.
        facts: What changed between these two nights, each with its value before and after.
    """

    changes: tuple[Change, ...]
    last_before: datetime
    since: datetime
    first_after: datetime
    facts: Mapping[str, tuple[str, str]]


def effect_text(of: WatchedFigure, effect: Estimate) -> str:
    """Return an effect with its 95 % interval.

    Args:
        of: The figure.
        effect: A ratio, or a difference.
    """
    if effect.value is None:
        return str(effect)
    if of.kind == "number":
        bounds = interval(effect.low, effect.high, of=effect.value, open_above=effect.open_above)
        return f"{signed(effect.value)} [{bounds}]"
    if of.is_difference:
        sign, size = ("+" if effect.value > 0 else ""), effect.value * 100
        low, high = (None if end is None else end * 100 for end in (effect.low, effect.high))
        bounds = interval(low, high, of=size, open_above=effect.open_above)
        return f"{sign}{number(size)} points [{bounds}]"
    above = "≥" if effect.open_above else ""
    return f"{number(effect.value, 2)} times [{number(effect.low, 2)}–{above}{number(effect.high, 2)}]"


def effect_summary(of: WatchedFigure, effect: Estimate) -> dict[str, object]:
    """Return an effect as JSON-ready values.

    Args:
        of: The figure.
        effect: A ratio, or a difference.
    """
    values = effect.summary()
    values["text"] = effect_text(of, effect)
    return {"is_ratio": not of.is_difference, **values}


def group_changes(changes: Sequence[Change]) -> list[ChangeGroup]:
    """Group changes of one direction whose possible nights overlap, newest first.

    The time of a group is the range that is possible for all of its changes.

    Args:
        changes: Changes, worse or better.
    """
    groups: list[list[Change]] = []
    for change in sorted(changes, key=lambda change: (change.first_after, change.since)):
        for group in groups:
            same = group[0].is_worse == change.is_worse and group[0].state == change.state
            if same and change.last_before < min(other.first_after for other in group):
                group.append(change)
                break
        else:
            groups.append([change])
    change_groups = [_group(group) for group in groups]
    return sorted(change_groups, key=lambda group: group.since, reverse=True)


def _group(changes: Sequence[Change]) -> ChangeGroup:
    # The change with the shortest set of nights is the clearest, and its most probable night the most certain.
    clearest = min(changes, key=lambda change: change.first_after - change.last_before)
    return ChangeGroup(
        changes=tuple(sorted(changes, key=_size, reverse=True)),
        last_before=max(change.last_before for change in changes),
        since=clearest.since,
        first_after=min(change.first_after for change in changes),
        facts={
            name: values
            for name, values in clearest.facts.items()
            if all(change.facts.get(name) == values for change in changes)
        },
    )


def _size(change: Change) -> tuple[bool, float]:
    value = change.effect.value or 0.0
    if change.figure.is_difference:
        return True, abs(value)
    # Whole answers before first bytes, which often say the same again.
    return not change.figure.metric.startswith("ttft"), max(value, 1 / value) - 1 if value > 0 else 0.0
