"""An A/B test as the target of an evaluation: each case runs on the version to which its session is assigned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..agents import new_session_id
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from .eval_target import AgentTarget


class AbTarget:
    """The target that `loom.evaluate` uses for an A/B test. Its answers are not reused: a session has one version.

    Args:
        targets: The agent at the endpoint of each arm, by the endpoint's name.
        route: Returns the endpoint of a session.
        name: The name shown in summaries.
    """

    def __init__(self, targets: Mapping[str, AgentTarget], route: Callable[[str], str], name: str) -> None:
        self._targets, self._route, self.name = targets, route, name
        self._first = next(iter(targets.values()))
        self.key = ""
        self.labels = self._first.labels
        self.store, self.scope, self.arn = self._first.store, self._first.scope, self._first.arn
        self.concurrency = self._first.concurrency

    def new_session(self) -> str:
        """Return a new session id."""
        return new_session_id()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Invoke the version of the session and return its answer."""
        return await self._of(session_id).ask(turn, session_id=session_id, timeout_s=timeout_s, state=state)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers with tools, tokens and cost from their traces, or with the trace's state."""
        return await self._first.collect_tools(answers)

    async def end(self, session_id: str) -> None:
        """End the session."""
        await self._of(session_id).end(session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return self._first.connected(evaluator)

    def _of(self, session_id: str) -> AgentTarget:
        return self._targets[self._route(session_id)]
