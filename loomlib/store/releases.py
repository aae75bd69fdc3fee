"""Storage of releases: the versions that endpoints served, and A/B tests with their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sqlalchemy import func, or_, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import StoreError
from .database import Database
from .figures import PICOS
from .operation_tables import invocation_costs
from .release_tables import ab_sessions, ab_tests, endpoint_changes
from .tables import invocations
from .tenancy import own_columns

AB_TEST_STATES: Final = ("running", "stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChangeRow:
    """A change of the version that an endpoint serves.

    `action` is "observed" (Loom saw the version that another tool had chosen), "created", "promoted", "rolled back" or
    "deleted".
    """

    id: int
    scope: str
    agent_arn: str
    endpoint: str
    action: str
    version: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AbTestRow:
    """An A/B test: `design` has its arms, weights and planned number of sessions."""

    id: str
    scope: str
    agent_arn: str
    endpoint: str
    design: Mapping[str, Any] = field(repr=False)
    state: str
    started_at: datetime
    ended_at: datetime | None

    def __post_init__(self) -> None:
        if self.state not in AB_TEST_STATES:
            raise ValueError(f"an A/B test is {', '.join(AB_TEST_STATES)}, not {self.state!r}")


class AbCall(NamedTuple):
    """One ended call of a session of an A/B test.

    `cost` is in `currency`, without the items whose cost is unknown; None where no cost is stored. `invocation_id` is
    None for a call that is not stored.
    """

    session_id: str
    status: str
    failure: str | None
    duration_ms: float | None
    cost: Decimal | None
    unknown_items: int
    currency: str
    invocation_id: int | None = None


class StoredReleases:
    """Changes of endpoints, and A/B tests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_change(self, scope: str, agent_arn: str, endpoint: str, *, action: str, version: str) -> None:
        """Store that an endpoint serves a version from now on.

        Args:
            scope: The environment: "local" or "aws".
            agent_arn: The runtime's ARN.
            endpoint: The endpoint's name.
            action: What happened, as in `EndpointChangeRow`.
            version: The version that it serves; the last one of a deleted endpoint.
        """
        new = endpoint_changes.insert().values(
            scope=scope, agent_arn=agent_arn, endpoint=endpoint, action=action, version=version, at=datetime.now(UTC)
        )
        with self._database.write() as connection:
            connection.execute(new)

    def changes(self, scope: str, agent_arn: str, endpoint: str | None = None) -> tuple[EndpointChangeRow, ...]:
        """Return the changes of an agent's endpoints, oldest first.

        Args:
            scope: The environment: "local" or "aws".
            agent_arn: The runtime's ARN.
            endpoint: Only those of this endpoint.
        """
        chosen = select(*own_columns(endpoint_changes)).where(
            endpoint_changes.c.scope == scope, endpoint_changes.c.agent_arn == agent_arn
        )
        if endpoint is not None:
            chosen = chosen.where(endpoint_changes.c.endpoint == endpoint)
        with self._database.read() as connection:
            records = connection.execute(chosen.order_by(endpoint_changes.c.id)).mappings().all()
        return tuple(EndpointChangeRow(**record) for record in records)

    def start_test(self, id: str, scope: str, agent_arn: str, endpoint: str, design: Mapping[str, Any]) -> AbTestRow:
        """Store a new A/B test, which is running.

        Args:
            id: Its id.
            scope: The environment: "local" or "aws".
            agent_arn: The runtime's ARN.
            endpoint: The endpoint behind which it runs.
            design: The design as JSON.
        """
        new = ab_tests.insert().values(
            id=id,
            scope=scope,
            agent_arn=agent_arn,
            endpoint=endpoint,
            design=dict(design),
            state="running",
            started_at=datetime.now(UTC),
        )
        with self._database.write() as connection:
            connection.execute(new)
        stored = self.test(id)
        assert stored is not None
        return stored

    def test(self, id: str) -> AbTestRow | None:
        """Return an A/B test, or None."""
        with self._database.read() as connection:
            record = connection.execute(select(*own_columns(ab_tests)).where(ab_tests.c.id == id)).mappings().first()
        return None if record is None else AbTestRow(**record)

    def tests(self, scope: str, agent_arn: str) -> tuple[AbTestRow, ...]:
        """Return the A/B tests of an agent, newest first."""
        chosen = select(*own_columns(ab_tests)).where(ab_tests.c.scope == scope, ab_tests.c.agent_arn == agent_arn)
        with self._database.read() as connection:
            records = connection.execute(chosen.order_by(ab_tests.c.started_at.desc(), ab_tests.c.id)).mappings().all()
        return tuple(AbTestRow(**record) for record in records)

    def stop_test(self, id: str) -> AbTestRow:
        """Store that an A/B test has ended; one that had ended keeps its time.

        Raises:
            StoreError: There is no such test.
        """
        change = update(ab_tests).where(ab_tests.c.id == id, ab_tests.c.state == "running")
        with self._database.write() as connection:
            connection.execute(change.values(state="stopped", ended_at=datetime.now(UTC)))
        if (stored := self.test(id)) is None:
            raise StoreError("No such A/B test", on=id, try_="agent.releases.ab_tests()")
        return stored

    def join_test(self, test_id: str, session_id: str, arm: str) -> str:
        """Store that a session belongs to an arm, unless it belongs to one already; return the session's arm.

        Args:
            test_id: The test.
            session_id: The runtime session.
            arm: The arm that the session is assigned to.
        """
        this = (ab_sessions.c.test_id == test_id) & (ab_sessions.c.session_id == session_id)
        with self._database.read() as connection:
            stored_arm = connection.execute(select(ab_sessions.c.arm).where(this)).scalar_one_or_none()
        if stored_arm is not None:
            return str(stored_arm)
        new = ab_sessions.insert().values(test_id=test_id, session_id=session_id, arm=arm, at=datetime.now(UTC))
        with self._database.write() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(new)
            except IntegrityError:  # another thread or process was faster
                return str(connection.execute(select(ab_sessions.c.arm).where(this)).scalar_one())
        return arm

    def sessions(self, test_id: str, limit: int | None = None) -> dict[str, str]:
        """Return the arms of the sessions of a test, in the order of their first requests.

        Args:
            test_id: The test.
            limit: Only the first sessions; None for all.
        """
        chosen = select(ab_sessions.c.session_id, ab_sessions.c.arm).where(ab_sessions.c.test_id == test_id)
        with self._database.read() as connection:
            return {session: arm for session, arm in connection.execute(chosen.order_by(ab_sessions.c.id).limit(limit))}

    def calls(self, test_id: str, agent_id: int) -> tuple[AbCall, ...]:
        """Return the ended calls of a test's sessions, oldest first.

        Calls made before the session joined the test or after the test ended are not part of the test: the agent may
        have had another version then.

        Args:
            test_id: The test.
            agent_id: The agent's id in the store.
        """
        costs = invocation_costs.c
        began = invocations.c.created_at
        chosen = (
            select(
                invocations.c.id,
                invocations.c.session_id,
                invocations.c.status,
                invocations.c.failure,
                invocations.c.client_duration_ms,
                costs.known_picos,
                costs.unknown_items,
                costs.currency,
            )
            .join(ab_sessions, ab_sessions.c.session_id == invocations.c.session_id)
            .join(ab_tests, ab_tests.c.id == ab_sessions.c.test_id)
            .outerjoin(invocation_costs, costs.invocation_id == invocations.c.id)
            .where(ab_sessions.c.test_id == test_id, invocations.c.agent_id == agent_id)
            .where(invocations.c.status.in_(("complete", "error")))
            .where(began >= ab_sessions.c.at, or_(ab_tests.c.ended_at.is_(None), began < ab_tests.c.ended_at))
            .order_by(invocations.c.id)
        )
        with self._database.read() as connection:
            return tuple(
                AbCall(
                    session_id=session,
                    status=status,
                    failure=failure,
                    duration_ms=duration,
                    cost=None if picos is None else Decimal(picos) / PICOS,
                    unknown_items=unknown or 0,
                    currency=currency or "",
                    invocation_id=id,
                )
                for id, session, status, failure, duration, picos, unknown, currency in connection.execute(chosen)
            )

    def count_sessions(self, test_id: str) -> int:
        """Return how many sessions a test has."""
        counted = select(func.count()).select_from(ab_sessions).where(ab_sessions.c.test_id == test_id)
        with self._database.read() as connection:
            return int(connection.execute(counted).scalar_one())
