"""Storage of the agent catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, select, update
from sqlalchemy.exc import IntegrityError

from .database import Database
from .rows import AgentRow, row
from .tables import agents


class Agents:
    """The registered agents. Removing one hides it; registering it again restores its history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(
        self,
        *,
        scope: str,
        arn: str,
        runtime_id: str,
        region: str,
        account_id: str,
        name: str | None = None,
        status: str | None = None,
        log_group: str | None = None,
        available_qualifiers: Sequence[str] = (),
        raw_metadata: Mapping[str, Any] | None = None,
    ) -> AgentRow:
        """Insert or update the agent of this `scope` and `arn` and return it.

        `registered_at` keeps the time of the first registration.

        Args:
            scope: The environment: "local" or "aws".
            arn: The runtime's ARN.
            runtime_id: The runtime's id.
            region: The runtime's region.
            account_id: The account that owns the runtime.
            name: The runtime's name.
            status: Its status when it was last read, such as READY.
            log_group: Its log group.
            available_qualifiers: Names of its endpoints.
            raw_metadata: The service's description of it.
        """
        now = datetime.now(UTC)
        values: dict[str, Any] = {
            "runtime_id": runtime_id,
            "region": region,
            "account_id": account_id,
            "name": name,
            "status": status,
            "log_group": log_group,
            "available_qualifiers": list(available_qualifiers),
            "raw_metadata": dict(raw_metadata or {}),
            "last_refreshed_at": now,
            "removed_at": None,
        }
        this = (agents.c.scope == scope) & (agents.c.arn == arn)
        change = update(agents).where(this).values(values)
        with self._database.write() as connection:
            if connection.execute(change).rowcount == 0:
                try:
                    with connection.begin_nested():
                        connection.execute(agents.insert().values(scope=scope, arn=arn, registered_at=now, **values))
                except (
                    IntegrityError
                ):  # another process inserted it first (not on SQLite, which has one writer at a time)
                    connection.execute(change)
            return _only(connection, this)

    def list(self, scope: str | None = None) -> tuple[AgentRow, ...]:
        """Return the agents of `scope`, or all, in the order of their registration."""
        condition = agents.c.removed_at.is_(None)
        if scope is not None:
            condition &= agents.c.scope == scope
        with self._database.read() as connection:
            records = connection.execute(select(agents).where(condition).order_by(agents.c.id)).mappings().all()
        return tuple(row(AgentRow, record) for record in records)

    def get(self, scope: str, key: str | int) -> AgentRow | None:
        """Return the agent whose id, ARN, runtime id or name is `key`, tried in this order, or None.

        Of several agents with one name, the newest that is READY wins, else the newest.
        """
        text = str(key)
        matches: list[ColumnElement[bool]] = [agents.c.arn == text, agents.c.runtime_id == text, agents.c.name == text]
        if text.isascii() and text.isdecimal() and len(text) < 10:
            matches.insert(0, agents.c.id == int(text))
        order = case(*((match, rank) for rank, match in enumerate(matches)), else_=len(matches))
        best = (
            select(agents)
            .where(agents.c.scope == scope, agents.c.removed_at.is_(None), order < len(matches))
            .order_by(order, case((agents.c.status == "READY", 0), else_=1), agents.c.id.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            first = connection.execute(best).mappings().first()
        return None if first is None else row(AgentRow, first)

    def set_tags(self, id: int, tags: Mapping[str, str]) -> None:
        """Replace the stored tags of an agent."""
        with self._database.write() as connection:
            connection.execute(update(agents).where(agents.c.id == id).values(tags=dict(tags)))

    def set_message_format(self, id: int, form: Mapping[str, Any] | None) -> None:
        """Store the form of an agent's requests and answers; None removes it."""
        with self._database.write() as connection:
            connection.execute(update(agents).where(agents.c.id == id).values(message_format=form and dict(form)))

    def remove(self, id: int) -> bool:
        """Hide the agent; return False when there was none. Its invocations and studies stay stored."""
        removal = update(agents).where(agents.c.id == id, agents.c.removed_at.is_(None))
        with self._database.write() as connection:
            return connection.execute(removal.values(removed_at=datetime.now(UTC))).rowcount == 1


def _only(connection: Connection, this: ColumnElement[bool]) -> AgentRow:
    return row(AgentRow, connection.execute(select(agents).where(this)).mappings().one())
