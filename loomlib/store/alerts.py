"""Alerts: their rules, how each stands, and what happened to it. Addresses to notify are never in here, only names."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """A stored rule and how it stands: since when, and what of it was told when.

    `untold` has the addresses that are still to be told it, by name, and how often each was tried.
    """

    id: int
    scope: str
    name: str
    rule: Mapping[str, Any]
    state: str | None
    state_since: datetime | None
    checked_at: datetime | None
    told_at: datetime | None
    told_state: str | None
    created_at: datetime
    untold: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEventRow:
    """Something that happened to an alert: `kind` is what, `reading` the number behind it."""

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
        """A new alert; `StoreError` when its name is taken."""
        values = {"scope": scope, "name": name, "rule": dict(rule), "created_at": at}
        with self._database.write() as connection:
            try:
                connection.execute(alerts.insert().values(values))
            except IntegrityError as error:
                raise StoreError("An alert of that name exists", on=name, try_="another name, or remove it") from error
        found = self.get(scope, name)
        assert found is not None
        return found

    def get(self, scope: str, name: str) -> AlertRow | None:
        """The alert, or None."""
        chosen = select(alerts).where(alerts.c.scope == scope, alerts.c.name == name)
        with self._database.read() as connection:
            found = connection.execute(chosen).mappings().first()
        return None if found is None else _alert(found)

    def list(self, scope: str) -> tuple[AlertRow, ...]:
        """The alerts of a scope, oldest first."""
        chosen = select(alerts).where(alerts.c.scope == scope).order_by(alerts.c.id)
        with self._database.read() as connection:
            return tuple(_alert(each) for each in connection.execute(chosen).mappings())

    def remove(self, scope: str, name: str) -> bool:
        """Removes the alert; its history stays. False when there was none."""
        with self._database.write() as connection:
            gone = connection.execute(delete(alerts).where(alerts.c.scope == scope, alerts.c.name == name))
        return gone.rowcount > 0

    def note_state(self, id: int, state: str, *, at: datetime) -> str | None:
        """Notes how the alert stands; the state before when this changed it, else None ("" when there was none)."""
        with self._database.write() as connection:
            before = connection.execute(select(alerts.c.state).where(alerts.c.id == id)).first()
            if before is None:
                return None
            changed = before[0] != state
            values: dict[str, Any] = {"checked_at": at} | ({"state": state, "state_since": at} if changed else {})
            connection.execute(update(alerts).where(alerts.c.id == id).values(values))
        return (before[0] or "") if changed else None

    def claim_notification(
        self, row: AlertRow, state: str, *, at: datetime, untold: Mapping[str, Any] | None = None
    ) -> bool:
        """Notes that `state` is being told now; False when another process told something since `row` was read.

        `untold` is what is still owed when this process ends before `set_pending`.
        """
        same = alerts.c.told_at.is_(None) if row.told_at is None else alerts.c.told_at == row.told_at
        change = (
            update(alerts)
            .where(alerts.c.id == row.id, same)
            .values(told_at=at, told_state=state, untold=dict(untold or {}))
        )
        with self._database.write() as connection:
            return connection.execute(change).rowcount > 0

    def set_pending(self, id: int, untold: Mapping[str, Any]) -> None:
        """Notes who was not reached."""
        change = update(alerts).where(alerts.c.id == id).values(untold=dict(untold))
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
        """Adds to the history."""
        new = alert_events.insert().values(
            scope=scope, alert=alert, at=at, kind=kind, state=state, before=before, sentence=sentence,
            reading=dict(reading),
        )  # fmt: skip
        with self._database.write() as connection:
            connection.execute(new)

    def events(self, scope: str, alert: str | None = None, *, limit: int = 100) -> tuple[AlertEventRow, ...]:
        """What happened (to one alert), newest first."""
        chosen = select(alert_events).where(alert_events.c.scope == scope)
        if alert is not None:
            chosen = chosen.where(alert_events.c.alert == alert)
        with self._database.read() as connection:
            found = connection.execute(chosen.order_by(alert_events.c.id.desc()).limit(limit)).mappings().all()
        return tuple(AlertEventRow(**each) for each in found)


def _alert(found: RowMapping) -> AlertRow:
    return AlertRow(**found)
