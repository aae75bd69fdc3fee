"""Check the alert rules: the state of each, what has changed, and who is notified.

An alarm is sent once to each address, again as a reminder while it lasts, and its end is sent once (`delivery` handles
retries). The states `unclear` and `no data` are recorded in the history without a notification: they neither start nor
end an alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import LoomError, StoreError
from ..metrics import Window
from ..statistics import Estimate
from ..store import AlertRow, Store
from .delivery import Delivered, deliver
from .notify import Notify
from .rule import ALARM, NO_DATA, AlertRule

Measure = Callable[[AlertRule, Window], Estimate]
"""Returns the value of a rule's metric over a window; raises `LoomError` when it cannot be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertResult:
    """The state of one alert after a check.

    Attributes:
        rule: The rule.
        state: One of `ALERT_STATES`.
        sentence: The state with its evidence.
        estimate: The metric's value, None when it could not be computed.
        since: The time since which the alert has had this state.
        checked_at: The time of the check.
        changed_from: The previous state when this check changed it, else None.
        notified: Names of the addresses that were notified.
        problems: Notifications that failed, and addresses that are not retried.
    """

    rule: AlertRule
    state: str
    sentence: str
    estimate: Estimate | None
    since: datetime
    checked_at: datetime
    changed_from: str | None = None
    notified: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the result as one row of a table."""
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
            "notified": ", ".join(self.notified),
            "problems": "; ".join(self.problems),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertCheck:
    """All alerts at one time; returned by `Workbench.alerts.check()`.

    Attributes:
        checked: The alerts' results.
        checked_at: The time of the check.
        unreadable: A sentence for each alert whose stored rule cannot be read; its state is unknown.
    """

    checked: tuple[AlertResult, ...]
    checked_at: datetime
    unreadable: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[AlertResult, ...]:
        """The alerts in alarm."""
        return tuple(result for result in self.checked if result.state == ALARM)

    @property
    def problems(self) -> tuple[str, ...]:
        """Notifications that failed, and why."""
        return tuple(f"{result.rule.name}: {problem}" for result in self.checked for problem in result.problems)

    @property
    def exit_code(self) -> int:
        """2 with an alarm, else 1 with an unreadable alert, else 0."""
        return 2 if self.alarms else 1 if self.unreadable else 0


def check_alerts(store: Store, scope: str, measure: Measure, notify: Notify | None, *, now: datetime) -> AlertCheck:
    """Check every rule of a scope and send the notifications that are due.

    Args:
        store: Where rules and states are stored.
        scope: The scope of the alerts, such as an account and region.
        measure: Computes a rule's metric.
        notify: Sends notifications; None sends none.
        now: The time of the check.
    """
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
        notified=delivered.notified,
        problems=delivered.problems,
    )
