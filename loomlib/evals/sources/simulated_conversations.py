"""A target with a simulated user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..targets import Target, UserSimulator, as_target
from ..values.answers import CaseFailure, TurnAnswer
from ..values.cases import Turn


def with_simulated_user(target: Any, user: UserSimulator) -> SourceWithUser:
    """Combine a target with a simulated user, who leads the conversations of cases with a scenario.

    Args:
        target: An agent, a function or a `Target`.
        user: The simulated user. Cases with turns do not use it.

    Examples:
        >>> loom.evaluate(with_simulated_user(agent, PlannedUser()), evalset, ["contains"])
    """
    return SourceWithUser(target, user)


class SourceWithUser:
    """A target with a simulated user, as `with_simulated_user` returns it for `loom.evaluate`."""

    def __init__(self, source: Any, user: UserSimulator) -> None:
        self._source, self._user = source, user
        self.store, self.scope, self.arn = (getattr(source, name, None) for name in ("store", "scope", "arn"))

    def eval_target(self) -> TargetWithUser:
        """Return the target with its user."""
        return TargetWithUser(as_target(self._source), self._user)


class TargetWithUser:
    """A `Target` whose conversations a simulated user leads; requests go to the wrapped target."""

    def __init__(self, target: Target, user: UserSimulator) -> None:
        self._target, self.user = target, user
        self.name, self.concurrency = target.name, target.concurrency
        self.key = f"{target.key} user {user.key}" if target.key else ""
        self.labels = tuple(dict.fromkeys((*target.labels, *user.labels)))
        self.connected = getattr(target, "connected", None)  # how judges are connected to their model

    def new_session(self) -> str:
        """Return the id of a new session."""
        return self._target.new_session()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Ask one turn; see `Target.ask`."""
        return await self._target.ask(turn, session_id=session_id, timeout_s=timeout_s, state=state)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers with what their traces contain."""
        return await self._target.collect_tools(answers)

    async def end(self, session_id: str) -> None:
        """End a session."""
        await self._target.end(session_id)
