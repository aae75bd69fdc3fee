"""A target and the user who talks to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..targets import Target, UserSimulator, as_target
from ..values.answers import CaseFailure, TurnAnswer
from ..values.cases import Turn


def accompanied(target: Any, user: UserSimulator) -> Accompanied:
    """`target` (an agent, a function, a `Target`) with a user who leads the conversations of cases with a scenario.

        loom.evaluate(accompanied(agent, PlannedUser()), evalset, ["contains"])

    Cases with turns of their own are asked as they are.
    """
    return Accompanied(target, user)


class Accompanied:
    """What `accompanied` gives to `loom.evaluate`."""

    def __init__(self, given: Any, user: UserSimulator) -> None:
        self._given, self._user = given, user
        self.store, self.scope, self.arn = (getattr(given, name, None) for name in ("store", "scope", "arn"))

    def eval_target(self) -> LedTarget:
        """The target with its user; an agent is looked up now."""
        return LedTarget(as_target(self._given), self._user)


class LedTarget:
    """A `Target` that does everything as the one behind it, and has a user."""

    def __init__(self, target: Target, user: UserSimulator) -> None:
        self._target, self.user = target, user
        self.name, self.concurrency = target.name, target.concurrency
        self.key = f"{target.key} user {user.key}" if target.key else ""
        self.labels = tuple(dict.fromkeys((*target.labels, *user.labels)))
        self.connected = getattr(target, "connected", None)  # how judges reach their model

    def new_session(self) -> str:
        return self._target.new_session()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        return await self._target.ask(turn, session_id=session_id, timeout_s=timeout_s, state=state)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        return await self._target.collect_tools(answers)

    async def end(self, session_id: str) -> None:
        await self._target.end(session_id)
