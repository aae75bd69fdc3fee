"""Asking a target one case: its turns in one session, tried again only after throttling and transport failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from loomlib.agents import FAILURES

from ..targets import Target, UserConversation, UserSimulator
from ..targets.functions import CallableTarget
from ..values.answers import CaseAnswer, CaseFailure, TurnAnswer
from ..values.cases import EvalCase, Turn

TRIED_AGAIN: Final = ("throttle", "transport")
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_LONGEST_MESSAGE: Final = 2000


class Asker:
    """Asks cases. `retries` counts the tries of a case behind the first."""

    def __init__(self, target: Target, *, timeout_s: float | None, retries: int) -> None:
        self._target, self._timeout_s, self._retries = target, timeout_s, retries
        self._labels = tuple(target.labels)
        self._user: UserSimulator | None = getattr(target, "user", None)
        self._ending: set[asyncio.Task[None]] = set()

    async def ask(self, case: EvalCase, repeat: int, *, tried: int = 0) -> CaseAnswer:
        """The answer, or why there is none; never raises but for cancellation. `tried`: tries made before."""
        if not case.turns and self._user is None:
            return self._answer((), repeat, tried + 1, _no_user(case))
        attempts = tried
        while True:
            attempts += 1
            try:
                session_id = self._target.new_session()
            except Exception as error:  # noqa: BLE001 - somebody's target: what it raises is a failure to answer
                return self._answer((), repeat, attempts, _failure(error))
            try:
                turns, failure, wait_s, asked = await self._converse(case, session_id)
            finally:
                self._end(session_id)
            if failure is None or failure.kind not in TRIED_AGAIN or attempts > self._retries:
                return self._answer(turns, repeat, attempts, failure, () if case.turns else asked)
            await asyncio.sleep(_pause_s(attempts, wait_s))

    def ask_now(self, case: EvalCase, repeat: int) -> CaseAnswer:
        """A plain function asked in this thread, once."""
        target = self._target
        assert isinstance(target, CallableTarget)
        if not case.turns:
            return self._answer((), repeat, 1, _no_user(case))
        session_id, turns = target.new_session(), list[TurnAnswer]()
        state: Mapping[str, Any] | None = case.initial_state or None
        for turn in case.turns:
            try:
                turns.append(target.ask_now(turn, session_id=session_id, state=state))
            except Exception as error:  # noqa: BLE001 - somebody's function: what it raises is a failure to answer
                return self._answer(tuple(turns), repeat, 1, _failure(error))
            state = None
        return self._answer(tuple(turns), repeat, 1, None)

    async def finish(self) -> None:
        """Wait until every session is ended."""
        while self._ending:
            await asyncio.wait(self._ending)

    def _answer(
        self,
        turns: tuple[TurnAnswer, ...],
        repeat: int,
        attempts: int,
        failure: CaseFailure | None,
        asked: Sequence[str] = (),
    ) -> CaseAnswer:
        if failure is not None and attempts != failure.attempts:
            failure = CaseFailure(stage="answer", kind=failure.kind, message=failure.message, attempts=attempts)
        told = {"prompts": list(asked)} if asked else {}
        return CaseAnswer(
            turns=turns, failure=failure, repeat=repeat, attempts=attempts, labels=self._labels, metadata=told
        )

    async def _converse(
        self, case: EvalCase, session_id: str
    ) -> tuple[tuple[TurnAnswer, ...], CaseFailure | None, float | None, list[str]]:
        turns: list[TurnAnswer] = []
        asked: list[str] = []
        state: Mapping[str, Any] | None = case.initial_state or None
        try:
            lead = self._user.begin(case.scenario) if self._user is not None and case.scenario is not None else None
        except Exception as error:  # noqa: BLE001 - the simulated user failed, not the agent
            return (), _no_lead(error), None, asked
        turn: Turn | None = case.turns[0] if case.turns else Turn(prompt=case.prompt)
        while turn is not None:
            try:
                asked.append(turn.prompt)
                found = await self._turn(turn, session_id, state)
            except Exception as error:  # noqa: BLE001 - somebody's agent: what it raises is a failure to answer
                return tuple(turns), _failure(error), _retry_after(error), asked
            if isinstance(found, CaseFailure):
                return tuple(turns), found, None, asked
            turns.append(found)
            state = None
            try:
                turn = await _next_turn(case, lead, turns)
            except Exception as error:  # noqa: BLE001 - the simulated user failed, not the agent
                return tuple(turns), _no_lead(error), None, asked
        return tuple(turns), None, None, asked

    async def _turn(self, turn: Turn, session_id: str, state: Mapping[str, Any] | None) -> TurnAnswer | CaseFailure:
        limit = self._timeout_s
        asked = self._target.ask(turn, session_id=session_id, timeout_s=limit, state=state)
        if limit is None:
            return await asked
        try:
            # The target is told the limit and says more of what happened; this is for one that does not keep it.
            async with asyncio.timeout(limit * 1.05 + 0.05):
                return await asked
        except TimeoutError:
            return CaseFailure(stage="answer", kind="timeout", message=f"No complete answer within {limit:g} s")

    def _end(self, session_id: str) -> None:
        task = asyncio.ensure_future(self._target.end(session_id))
        self._ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # looked at: a session that cannot be ended ends by itself


def _failure(error: Exception) -> CaseFailure:
    kind = getattr(error, "failure", None)
    message = str(error) or type(error).__name__
    if kind not in FAILURES:
        kind = "timeout" if isinstance(error, TimeoutError) else "exception"
        message = f"{type(error).__name__}: {message}"
    return CaseFailure(stage="answer", kind=kind, message=message[:_LONGEST_MESSAGE])


def _no_lead(error: Exception) -> CaseFailure:
    return CaseFailure(stage="answer", kind="simulated_user", message=_failure(error).message)


async def _next_turn(case: EvalCase, lead: UserConversation | None, turns: Sequence[TurnAnswer]) -> Turn | None:
    """What is said next: the case's next turn, or what its user says to the answer; None at the end."""
    if lead is None or case.scenario is None:
        return case.turns[len(turns)] if len(turns) < len(case.turns) else None
    if len(turns) >= case.scenario.max_turns:
        return None
    said = await lead.reply(turns[-1].text)
    return Turn(prompt=said) if said else None


def _no_user(case: EvalCase) -> CaseFailure:
    return CaseFailure(
        stage="answer", kind="no_user", message=f"{case.id} is a conversation that a simulated user has to lead"
    )


def _retry_after(error: Exception) -> float | None:
    found = getattr(error, "retry_after_s", None)
    return float(found) if isinstance(found, (int, float)) else None


def _pause_s(attempts: int, told_s: float | None) -> float:
    """What the service asked for, else twice as long each time; with jitter, so that many do not come back at once."""
    pause_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempts - 1))
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return min(told_s, 10 * _LONGEST_WAIT_S) * (1 + 0.1 * jitter) if told_s is not None else pause_s * jitter
