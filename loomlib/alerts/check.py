"""Checking the rules: how each stands now, what has changed, and who is told.

An alarm is told once, and again as a reminder while it lasts; its end is told once. `unclear` and `no data` are kept in
the history and told to nobody: they neither make an alarm nor end one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..errors import LoomError
from ..operations import Window
from ..statistics import Estimate
from .notify import Notify, Telling
from .rule import ALARM, NO_DATA, OK, Rule

if TYPE_CHECKING:
    from ..store import AlertRow, Store

OVER: Final = "over"
"""What is told when an alarm has ended."""

Measure = Callable[[Rule, Window], Estimate]
"""The number of a rule over a time; raises `LoomError` where it cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How one alert stands. `changed_from` is the state before when this check changed it (None: it did not).

    `told` are the names that were told something now; `problems` says who could not be.
    """

    rule: Rule
    state: str
    sentence: str
    estimate: Estimate | None
    since: datetime
    checked_at: datetime
    changed_from: str | None = None
    told: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """One row of a table."""
        estimate = self.estimate
        return {
            "alert": self.rule.name,
            "state": self.state,
            "since": self.since,
            "value": estimate.value if estimate else None,
            "low": estimate.low if estimate else None,
            "high": estimate.high if estimate else None,
            "n": estimate.n if estimate else None,
            "limit": self.rule.limit,
            "told": ", ".join(self.told),
            "problems": "; ".join(self.problems),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertCheck:
    """All alerts at one moment; made by `Workbench.check_alerts()`."""

    checked: tuple[Checked, ...]
    checked_at: datetime

    @property
    def alarms(self) -> tuple[Checked, ...]:
        """Those in alarm."""
        return tuple(each for each in self.checked if each.state == ALARM)

    @property
    def problems(self) -> tuple[str, ...]:
        """Who could not be told, and why."""
        return tuple(f"{each.rule.name}: {problem}" for each in self.checked for problem in each.problems)

    @property
    def exit_code(self) -> int:
        """2 with an alarm, else 0."""
        return 2 if self.alarms else 0


def check_alerts(store: Store, scope: str, measure: Measure, notify: Notify | None, *, now: datetime) -> AlertCheck:
    """Judges every rule of a scope and tells who is to be told (nobody without `notify`)."""
    return AlertCheck(
        checked=tuple(_check(store, row, measure, notify, now) for row in store.alerts.list(scope)), checked_at=now
    )


def _check(store: Store, row: AlertRow, measure: Measure, notify: Notify | None, now: datetime) -> Checked:
    rule = Rule.read(row.rule)
    estimate: Estimate | None = None
    try:
        estimate = measure(rule, Window(since=now - rule.window, until=None))
        state = rule.judge(estimate)
        sentence = rule.sentence(state, estimate)
    except LoomError as error:
        state, sentence = NO_DATA, f"{rule.claim()}: {error}"
    before = store.alerts.note_state(row.id, state, at=now)
    reading = estimate.summary() if estimate else {}
    if before is not None:
        _remember(store, row, now, "state", state, before or None, sentence, reading)
    told, problems = (
        _tell(store, row, rule, state, sentence, reading, notify, now) if notify and rule.notify else ((), ())
    )
    since = now if before is not None or row.state_since is None else row.state_since
    return Checked(
        rule=rule,
        state=state,
        sentence=sentence,
        estimate=estimate,
        since=since,
        checked_at=now,
        changed_from=before,
        told=told,
        problems=problems,
    )


def _tell(
    store: Store,
    row: AlertRow,
    rule: Rule,
    state: str,
    sentence: str,
    reading: dict[str, Any],
    notify: Notify,
    now: datetime,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kind = _due(row, rule, state, now)
    # Claimed before it is told, so that of two who check at once one tells.
    if kind is None or not store.alerts.claim_telling(row, state, at=now):
        return (), ()
    word = {"alarm": "ALARM", "reminder": "STILL IN ALARM", OVER: "over"}[kind]
    telling = Telling(
        alert=rule.name,
        state=OVER if kind == OVER else ALARM,
        title=f"Loom: {word} · {rule.name}",
        body=f"{sentence}\nChecked {now:%Y-%m-%d %H:%M:%S} UTC over {_span(rule)}.",
        names=rule.notify,
    )
    problems = _problems(notify, telling)
    if len(problems) >= len(rule.notify):
        store.alerts.unclaim_telling(row)  # nobody knows: the next check tries again
        _remember(store, row, now, "not told", state, None, "; ".join(problems), reading)
        return (), tuple(problems)
    told = tuple(name for name in rule.notify if not any(repr(name) in problem for problem in problems))
    _remember(store, row, now, "reminder" if kind == "reminder" else "told", state, None, sentence, reading)
    if problems:
        _remember(store, row, now, "not told", state, None, "; ".join(problems), reading)
    return told, tuple(problems)


def _due(row: AlertRow, rule: Rule, state: str, now: datetime) -> str | None:
    """What is to be told: `alarm`, `reminder`, `over`, or nothing."""
    stands = row.told_state == ALARM
    if state == OK:
        return OVER if stands else None
    if state != ALARM:
        return None
    if not stands:
        return "alarm"
    waited = None if row.told_at is None else now - row.told_at
    return "reminder" if rule.remind_every and waited is not None and waited >= rule.remind_every else None


def _problems(notify: Notify, telling: Telling) -> Sequence[str]:
    try:
        return notify(telling)
    except LoomError as error:
        return [f"{name!r} was not told: {error}" for name in telling.names]


def _remember(
    store: Store,
    row: AlertRow,
    now: datetime,
    kind: str,
    state: str,
    before: str | None,
    sentence: str,
    reading: dict[str, Any],
) -> None:
    store.alerts.add_event(
        row.scope, row.name, at=now, kind=kind, state=state, before=before, sentence=sentence, reading=reading
    )


def _span(rule: Rule) -> str:
    hours = rule.window.total_seconds() / 3600
    return f"the last {hours:g} h" if hours >= 1 else f"the last {hours * 60:g} min"
