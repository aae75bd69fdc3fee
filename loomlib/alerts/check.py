"""Checking the rules: how each stands now, what has changed, and who is told.

An alarm is told once to each address, and again as a reminder while it lasts; its end is told once (`delivery` has who
is tried again). `unclear` and `no data` are kept in the history and told to nobody: they neither make an alarm nor end
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import LoomError, StoreError
from ..metrics import Window
from ..statistics import Estimate
from .delivery import Delivered, deliver
from .notify import Notify
from .rule import ALARM, NO_DATA, AlertRule

if TYPE_CHECKING:
    from ..store import AlertRow, Store

Measure = Callable[[AlertRule, Window], Estimate]
"""The number of a rule over a time; raises `LoomError` where it cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertResult:
    """How one alert stands. `changed_from` is the state before when this check changed it (None: it did not).

    `told` are the names that were told something now; `problems` says who could not be, and who is given up.
    """

    rule: AlertRule
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
    """All alerts at one moment; made by `Workbench.alerts.check()`.

    `unreadable` has a sentence for each alert whose stored rule cannot be read: nobody knows how that one stands.
    """

    checked: tuple[AlertResult, ...]
    checked_at: datetime
    unreadable: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[AlertResult, ...]:
        """Those in alarm."""
        return tuple(each for each in self.checked if each.state == ALARM)

    @property
    def problems(self) -> tuple[str, ...]:
        """Who could not be told, and why."""
        return tuple(f"{each.rule.name}: {problem}" for each in self.checked for problem in each.problems)

    @property
    def exit_code(self) -> int:
        """2 with an alarm, else 1 with an alert that cannot be read, else 0."""
        return 2 if self.alarms else 1 if self.unreadable else 0


def check_alerts(store: Store, scope: str, measure: Measure, notify: Notify | None, *, now: datetime) -> AlertCheck:
    """Judges every rule of a scope and tells who is to be told (nobody without `notify`)."""
    checked: list[AlertResult] = []
    unreadable: list[str] = []
    for row in store.alerts.list(scope):
        try:
            rule = AlertRule.read(row.rule)
        except StoreError as error:
            unreadable.append(f"{row.name}: {error}")
        else:
            checked.append(_check(store, row, rule, measure, notify, now))
    return AlertCheck(checked=tuple(checked), checked_at=now, unreadable=tuple(unreadable))


def _check(
    store: Store, row: AlertRow, rule: AlertRule, measure: Measure, notify: Notify | None, now: datetime
) -> AlertResult:
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
        store.alerts.add_event(
            row.scope, row.name, at=now, kind="state", state=state, before=before or None, sentence=sentence,
            reading=reading,
        )  # fmt: skip
    delivered = Delivered()
    if notify is not None and rule.notify:
        delivered = deliver(store, row, rule, state, sentence, reading, notify=notify, now=now)
    since = now if before is not None or row.state_since is None else row.state_since
    return AlertResult(
        rule=rule,
        state=state,
        sentence=sentence,
        estimate=estimate,
        since=since,
        checked_at=now,
        changed_from=before,
        told=delivered.told,
        problems=delivered.problems,
    )
