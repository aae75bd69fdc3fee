"""Alerts as tables and static HTML: the rules, a check, and the history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..alerts import AlertCheck, AlertResult, AlertRule
from ..errors import StoreError
from ..presentation.formats import timestamp
from ..store import AlertEventRow, AlertRow
from .frames import rows_frame
from .overview_page import Section, overview_page

if TYPE_CHECKING:
    import pandas as pd


ALERTS = ("alert", "state", "since", "checked_at", "number", "limit", "agent", "window_s", "min_n", "notify")
_OF_THE_RULE = ("number", "limit", "side", "agent", "window_s", "min_n", "notify")
EVENTS = ("at", "alert", "kind", "state", "before", "sentence")
_EMPTY = 'No alerts yet. bench.alerts.add("error_rate", above=0.05, min_n=20) adds one.'


class AlertCheckView:
    """The result of a check of all alerts; returned by `bench.alerts.check()`."""

    def __init__(self, result: AlertCheck, *, labels: Sequence[str]) -> None:
        self.found, self._labels = result, tuple(labels)

    @property
    def checked(self) -> tuple[AlertResult, ...]:
        """The result of each rule."""
        return self.found.checked

    @property
    def alarms(self) -> tuple[AlertResult, ...]:
        """The rules in alarm."""
        return self.found.alarms

    @property
    def exit_code(self) -> int:
        """2 if a rule is in alarm, else 1 if a rule cannot be read, else 0."""
        return self.found.exit_code

    def sentence(self) -> str:
        """Return how many rules are in alarm, and why."""
        if not self.checked and not self.found.unreadable:
            return _EMPTY
        counted = f"{len(self.alarms)} of {len(self.checked)} alerts in alarm."
        return " ".join(
            [counted, *(alarm.sentence for alarm in self.alarms), *self.found.problems, *self.found.unreadable]
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per alert."""
        return [check.row() for check in self.checked]

    def table(self) -> pd.DataFrame:
        """Return one row per alert."""
        return rows_frame(self.rows(), ("alert", "state", "since", "sentence"))

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"{check.state}: {check.sentence}" for check in self.checked)])

    def _repr_html_(self) -> str:
        rows = [
            (
                check.rule.name,
                check.state,
                timestamp(check.since),
                check.sentence,
                "; ".join(check.problems),
            )
            for check in self.checked
        ]
        table = Section(("alert", "state", "since", "result", "failed notifications"), rows)
        return overview_page("Alerts", self._labels, self.sentence(), (), table)


def alert_frame(rows: Sequence[AlertRow]) -> pd.DataFrame:
    """Return the stored rules with their state at the last check, one row each."""
    return rows_frame([_alert(row) for row in rows], ALERTS)


def _alert(row: AlertRow) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "alert": row.name,
        "state": row.state or "not checked",
        "since": row.state_since,
        "checked_at": row.checked_at,
    }
    try:
        rule = AlertRule.read(row.rule)
    except StoreError:
        return fields | dict.fromkeys(_OF_THE_RULE) | {"state": "unreadable"}
    return fields | {
        "number": rule.number,
        "limit": rule.limit,
        "side": "below" if rule.above is None else "above",
        "agent": rule.agent or "all agents",
        "window_s": rule.window.total_seconds(),
        "min_n": rule.min_n,
        "notify": ", ".join(rule.notify),
    }


def event_frame(rows: Sequence[AlertEventRow]) -> pd.DataFrame:
    """Return events of alerts, one row each."""
    return rows_frame([{name: getattr(row, name) for name in EVENTS} for row in rows], EVENTS)
