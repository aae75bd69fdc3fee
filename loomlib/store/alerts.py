"""Storage of alerts: rules, states and history. Only the names of addresses are stored, never the addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, delete, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import StoreError
from .database import Database
from .operation_tables import alert_events, alerts
from .tenancy import own_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """A stored rule with its state, the time of the last change, and which state was notified when.

    `notified_at` and `notified_state` are the last notification or the last attempt to send it again. `pending` has the
    addresses that were not reached yet, by name, with the number of attempts, and the time of the first one.
    """

    id: int
    scope: str
    name: str
    rule: Mapping[str, Any]
    state: str | None
    state_since: datetime | None
    checked_at: datetime | None
    notified_at: datetime | None
    notified_state: str | None
    created_at: datetime
    pending: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEventRow:
    """An entry of an alert's history: `kind` is the event, `reading` the figure that caused it."""

    id: int
    scope: str
    alert: str
    at: datetime
    kind: str
    state: str
    before: str | None
    sentence: str
    reading: Mapping[str, Any] = field(repr=False)


class Alerts:
    """The alerts of all scopes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, scope: str, name: str, rule: Mapping[str, Any], *, at: datetime) -> AlertRow:
        """Store a new alert.

        Args:
            scope: The environment: "local" or "aws".
            name: The alert's name, unique in its scope.
            rule: The rule as JSON.
            at: The time of creation.

        Raises:
            StoreError: The name is taken.
        """
        values = {"scope": scope, "name": name, "rule": dict(rule), "created_at": at}
        with self._database.write() as connection:
            try:
                connection.execute(alerts.insert().values(values))
            except IntegrityError as error:
                raise StoreError(
                    "An alert of that name exists already", on=name, try_="another name, or remove it"
                ) from error
        record = self.get(scope, name)
        assert record is not None
        return record

    def get(self, scope: str, name: str) -> AlertRow | None:
        """Return the alert, or None."""
        chosen = select(alerts).where(alerts.c.scope == scope, alerts.c.name == name)
        with self._database.read() as connection:
            record = connection.execute(chosen).mappings().first()
        return None if record is None else _alert(record)

    def list(self, scope: str) -> tuple[AlertRow, ...]:
        """Return the alerts of a scope, oldest first."""
        chosen = select(alerts).where(alerts.c.scope == scope).order_by(alerts.c.id)
        with self._database.read() as connection:
            return tuple(_alert(record) for record in connection.execute(chosen).mappings())

    def remove(self, scope: str, name: str) -> bool:
        """Remove the alert; its history stays. Return False when there was none."""
        with self._database.write() as connection:
            removal = connection.execute(delete(alerts).where(alerts.c.scope == scope, alerts.c.name == name))
        return removal.rowcount > 0

    def note_state(self, id: int, state: str, *, at: datetime) -> str | None:
        """Store the alert's state.

        Args:
            id: The alert's id.
            state: The state that the check found.
            at: The time of the check.

        Returns:
            The previous state when it changed ("" when there was none), else None.
        """
        with self._database.write() as connection:
            before = connection.execute(select(alerts.c.state).where(alerts.c.id == id).with_for_update()).first()
            if before is None:
                return None
            changed = before[0] != state
            values: dict[str, Any] = {"checked_at": at} | ({"state": state, "state_since": at} if changed else {})
            connection.execute(update(alerts).where(alerts.c.id == id).values(values))
        return (before[0] or "") if changed else None

    def claim_notification(
        self, row: AlertRow, state: str, *, at: datetime, pending: Mapping[str, Any] | None = None
    ) -> bool:
        """Claim the notification of `state`, so that two processes do not send it twice.

        Args:
            row: The alert as it was read.
            state: The state to notify.
            at: The time of the notification.
            pending: The addresses to store as not reached, in case this process ends before `set_pending`.

        Returns:
            False when another process sent a notification since `row` was read.
        """
        same = alerts.c.notified_at.is_(None) if row.notified_at is None else alerts.c.notified_at == row.notified_at
        change = (
            update(alerts)
            .where(alerts.c.id == row.id, same)
            .values(notified_at=at, notified_state=state, pending=dict(pending or {}))
        )
        with self._database.write() as connection:
            return connection.execute(change).rowcount > 0

    def set_pending(self, id: int, pending: Mapping[str, Any]) -> None:
        """Store the addresses that were not reached."""
        change = update(alerts).where(alerts.c.id == id).values(pending=dict(pending))
        with self._database.write() as connection:
            connection.execute(change)

    def add_event(
        self,
        scope: str,
        alert: str,
        *,
        at: datetime,
        kind: str,
        state: str,
        before: str | None,
        sentence: str,
        reading: Mapping[str, Any],
    ) -> None:
        """Add an entry to the history.

        Args:
            scope: The environment: "local" or "aws".
            alert: The alert's name.
            at: The time of the event.
            kind: What happened: a change of state or a notification.
            state: The alert's state.
            before: Its state before; None when it had none.
            sentence: The text that was shown or sent.
            reading: The figures that decided, as JSON.
        """
        new = alert_events.insert().values(
            scope=scope, alert=alert, at=at, kind=kind, state=state, before=before, sentence=sentence,
            reading=dict(reading),
        )  # fmt: skip
        with self._database.write() as connection:
            connection.execute(new)

    def events(self, scope: str, alert: str | None = None, *, limit: int = 100) -> tuple[AlertEventRow, ...]:
        """Return the history, of one alert or of all, newest first.

        Args:
            scope: The environment: "local" or "aws".
            alert: The name of an alert; None for all.
            limit: The maximum number of entries.
        """
        chosen = select(*own_columns(alert_events)).where(alert_events.c.scope == scope)
        if alert is not None:
            chosen = chosen.where(alert_events.c.alert == alert)
        with self._database.read() as connection:
            records = connection.execute(chosen.order_by(alert_events.c.id.desc()).limit(limit)).mappings().all()
        return tuple(AlertEventRow(**record) for record in records)


def _alert(record: RowMapping) -> AlertRow:
    return AlertRow(**{column.key: record[column] for column in own_columns(alerts)})
