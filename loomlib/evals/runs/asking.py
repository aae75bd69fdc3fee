"""Send one case to a target: all turns in one session, retried only after throttling or transport errors."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from loomlib.agents import FAILURES

from ...errors import CreditsUsedUpError
from ...presentation.formats import time_limit
from ..targets import CallableTarget, Target, UserConversation, UserSimulator
from ..values.answers import CaseAnswer, CaseFailure, TurnAnswer
from ..values.cases import EvalCase, Turn

RETRIED_FAILURES: Final = ("throttle", "transport")
_FIRST_PAUSE_S: Final = 0.5
_MAX_PAUSE_S: Final = 30.0
_MAX_MESSAGE: Final = 2000  # characters
_MAX_STATE: Final = 500  # characters
_NOT_READ: Final = "traces not read"
_RETRIED_STATES: Final = ("", "not_found_yet", "partial")


class Asker:
    """Sends single cases to a target.

    Args:
        target: The target of the evaluation.
        timeout_s: Time limit of a turn in seconds; None for no limit.
        retries: Maximum number of retries of a case after throttling and transport failures.
    """

    def __init__(self, target: Target, *, timeout_s: float | None, retries: int) -> None:
        self._target, self._timeout_s, self._retries = target, timeout_s, retries
        self._labels = tuple(target.labels)
        self._user: UserSimulator | None = getattr(target, "user", None)
        self._ending: set[asyncio.Task[None]] = set()

    async def ask(self, case: EvalCase, repeat: int, *, attempts: int = 0) -> CaseAnswer:
        """Send a case and return its answer or failure.

        Args:
            case: The case.
            repeat: The repeat, from 0.
            attempts: Number of earlier attempts.

        Raises:
            CreditsUsedUpError: The tenant's credit does not cover a turn; the case stays pending.
        """
        if not case.turns and self._user is None:
            return self._answer((), repeat, attempts + 1, _no_user(case))
        while True:
            attempts += 1
            try:
                session_id = self._target.new_session()
            except Exception as error:  # noqa: BLE001 - a user's target: its exception is a failure to answer
                return self._answer((), repeat, attempts, _failure(error))
            try:
                turns, failure, retry_after_s, prompts = await self._converse(case, session_id)
            finally:
                self._end(session_id)
            if failure is None or failure.kind not in RETRIED_FAILURES or attempts > self._retries:
                return self._answer(turns, repeat, attempts, failure, () if case.turns else prompts)
            await asyncio.sleep(_pause_s(attempts, retry_after_s))

    def ask_now(self, case: EvalCase, repeat: int) -> CaseAnswer:
        """Call a plain function in this thread, once.

        Args:
            case: The case.
            repeat: The repeat, from 0.
        """
        target = self._target
        assert isinstance(target, CallableTarget)
        if not case.turns:
            return self._answer((), repeat, 1, _no_user(case))
        session_id, turns = target.new_session(), list[TurnAnswer]()
        state: Mapping[str, Any] | None = case.initial_state or None
        for turn in case.turns:
            try:
                turns.append(target.ask_now(turn, session_id=session_id, state=state))
            except CreditsUsedUpError:
                raise
            except Exception as error:  # noqa: BLE001 - a user's function: its exception is a failure to answer
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
        prompts: Sequence[str] = (),
    ) -> CaseAnswer:
        if failure is not None and attempts != failure.attempts:
            failure = CaseFailure(stage="answer", kind=failure.kind, message=failure.message, attempts=attempts)
        metadata = {"prompts": list(prompts)} if prompts else {}
        return CaseAnswer(
            turns=turns, failure=failure, repeat=repeat, attempts=attempts, labels=self._labels, metadata=metadata
        )

    async def _converse(
        self, case: EvalCase, session_id: str
    ) -> tuple[tuple[TurnAnswer, ...], CaseFailure | None, float | None, list[str]]:
        """Return the answers, the failure that ended the conversation, its `retry_after_s`, and the sent prompts."""
        turns: list[TurnAnswer] = []
        prompts: list[str] = []
        state: Mapping[str, Any] | None = case.initial_state or None
        try:
            user = self._user.begin(case.scenario) if self._user is not None and case.scenario is not None else None
        except Exception as error:  # noqa: BLE001 - the simulated user failed, not the agent
            return (), _user_failure(error), None, prompts
        turn: Turn | None = case.turns[0] if case.turns else Turn(prompt=case.prompt)
        while turn is not None:
            try:
                prompts.append(turn.prompt)
                answer = await self._turn(turn, session_id, state)
            except CreditsUsedUpError:  # not the agent's failure: it ends the run, which can be resumed with new credit
                raise
            except Exception as error:  # noqa: BLE001 - a user's agent: its exception is a failure to answer
                return tuple(turns), _failure(error), _retry_after_s(error), prompts
            if isinstance(answer, CaseFailure):
                return tuple(turns), answer, None, prompts
            turns.append(answer)
            state = None
            try:
                turn = await _next_turn(case, user, turns)
            except Exception as error:  # noqa: BLE001 - the simulated user failed, not the agent
                return tuple(turns), _user_failure(error), None, prompts
        return tuple(turns), None, None, prompts

    async def _turn(self, turn: Turn, session_id: str, state: Mapping[str, Any] | None) -> TurnAnswer | CaseFailure:
        limit = self._timeout_s
        answering = self._target.ask(turn, session_id=session_id, timeout_s=limit, state=state)
        if limit is None:
            return await answering
        try:
            # A target that enforces the limit itself reports more details; this covers the others.
            async with asyncio.timeout(limit * 1.05 + 0.05):
                return await answering
        except TimeoutError:
            return CaseFailure(stage="answer", kind="timeout", message=f"No complete answer within {time_limit(limit)}")

    def _end(self, session_id: str) -> None:
        task = asyncio.ensure_future(self._target.end(session_id))
        self._ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved and ignored: a session that cannot be ended expires at its timeout


async def read_traces(target: Target, turns: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
    """Return the answers with what their traces contain, or unchanged when the traces cannot be read.

    Args:
        target: The target that gave the answers.
        turns: The answers.
    """
    try:
        return await target.collect_tools(turns)
    except Exception as error:  # noqa: BLE001 - the answers exist, and most evaluators need no trace
        state = f"{_NOT_READ}: {type(error).__name__}: {error}"[:_MAX_STATE]
        return [turn if turn.tools is not None else replace(turn, tools_state=state) for turn in turns]


def is_trace_missing(turn: TurnAnswer) -> bool:
    """Return whether the tools of a turn are missing and may still arrive with its trace."""
    state = turn.tools_state
    return turn.tools is None and (state in _RETRIED_STATES or state.startswith(_NOT_READ))


def _failure(error: Exception) -> CaseFailure:
    kind = getattr(error, "failure", None)
    message = str(error) or type(error).__name__
    if kind not in FAILURES:
        kind = "timeout" if isinstance(error, TimeoutError) else "exception"
        message = f"{type(error).__name__}: {message}"
    return CaseFailure(stage="answer", kind=kind, message=message[:_MAX_MESSAGE])


def _user_failure(error: Exception) -> CaseFailure:
    return CaseFailure(stage="answer", kind="simulated_user", message=_failure(error).message)


async def _next_turn(case: EvalCase, user: UserConversation | None, turns: Sequence[TurnAnswer]) -> Turn | None:
    """Return the case's next turn or the simulated user's reply; None at the end."""
    if user is None or case.scenario is None:
        return case.turns[len(turns)] if len(turns) < len(case.turns) else None
    if len(turns) >= case.scenario.max_turns:
        return None
    reply = await user.reply(turns[-1].text)
    return Turn(prompt=reply) if reply else None


def _no_user(case: EvalCase) -> CaseFailure:
    return CaseFailure(
        stage="answer",
        kind="no_user",
        message=f"{case.id} has a scenario, which needs a simulated user: with_simulated_user(agent, PlannedUser())",
    )


def _retry_after_s(error: Exception) -> float | None:
    seconds = getattr(error, "retry_after_s", None)
    return float(seconds) if isinstance(seconds, (int, float)) else None


def _pause_s(attempts: int, retry_after_s: float | None) -> float:
    """Return the pause before a retry: what the service requested, else exponential backoff with jitter."""
    pause_s = min(_MAX_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempts - 1))
    jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    if retry_after_s is not None:
        return min(retry_after_s, 10 * _MAX_PAUSE_S) * (1 + 0.1 * jitter)
    return pause_s * jitter
