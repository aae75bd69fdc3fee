"""Making the timed calls of a latency study, each in the session that its scenario asks for.

A closed loop with one call at a time: the next call waits for the last. It shows what one caller sees, not how the
agent behaves under load.
"""

from __future__ import annotations

import asyncio
import logging
import uuid

from loomlib.errors import LoomError, StudyInterruptedError
from loomlib.experiments import MeasuredUnit, Procedure, UnitOutcome

from .design import StudyDesign
from .measured_agent import Answer, MeasuredAgent
from .measurements import Measurement
from .scenarios import Scenario

_logger = logging.getLogger(__name__)


class Calls(Procedure[Measurement]):
    """Makes the calls. Sessions are opened and ended outside of timed calls.

    Args:
        agent: The agent that is measured.
        design: The study's design.
        study_id: The study, with which invocations are labelled.
    """

    def __init__(self, agent: MeasuredAgent, design: StudyDesign, study_id: str) -> None:
        self._agent, self._design, self._study_id = agent, design, study_id
        self._long_lived: tuple[str, str] | None = None  # its plan and its session

    async def begin(self, unit: Measurement) -> str:
        """Return the open long-lived session, or a new session id: 44 characters; AgentCore takes 33 to 256."""
        if unit.scenario is Scenario.STICKY and self._long_lived:
            plan, session_id = self._long_lived
            if plan == unit.session_plan:
                return session_id
            await self.close()
        return f"loom-latency{uuid.uuid4().hex}"

    async def measure(self, unit: Measurement, session_id: str | None) -> UnitOutcome:
        """Make the timed call, after the untimed one that opens its session where the scenario asks for it."""
        assert session_id is not None
        if unit.scenario is not Scenario.COLD and not self._is_open(session_id):
            opening = await self._call(session_id, call_labels(self._study_id, unit, timed=False))
            if opening.status != "complete":
                return await self._outcome(unit, opening, timed=False)
        answer = await self._call(session_id, call_labels(self._study_id, unit))
        return await self._outcome(unit, answer, timed=True)

    async def end(self, unit: Measurement, session_id: str | None, outcome: UnitOutcome) -> None:
        """Keep a long-lived session open as long as it answers; end any other session."""
        assert session_id is not None
        if unit.scenario is Scenario.STICKY and outcome.failure is None:
            self._long_lived = (unit.session_plan, session_id)
        elif self._is_open(session_id):
            await self.close()
        else:
            await end_session(self._agent, session_id)

    async def close(self) -> None:
        """End the long-lived session; the next sticky call opens another."""
        if self._long_lived:
            session_id = self._long_lived[1]
            self._long_lived = None
            await end_session(self._agent, session_id)

    def _is_open(self, session_id: str) -> bool:
        return self._long_lived is not None and self._long_lived[1] == session_id

    async def _call(self, session_id: str, labels: tuple[str, ...]) -> Answer:
        return await self._agent.measure(
            self._design.prompt, session_id=session_id, labels=labels, timeout_s=self._design.timeout_s
        )

    async def _outcome(self, unit: Measurement, answer: Answer, *, timed: bool) -> UnitOutcome:
        stop = await gone(
            self._agent,
            answer,
            study_id=self._study_id,
            resume=f'LatencyStudy.resume(agent, "{self._study_id}").run()',
        )
        if stop is not None and answer.bytes_received == 0:
            raise stop  # nobody answered: the call stays planned
        return call_outcome(answer, stop) if timed else opening_outcome(answer, stop)


async def gone(agent: MeasuredAgent, answer: Answer, *, study_id: str, resume: str) -> StudyInterruptedError | None:
    """Return the error that ends a study whose service accepts no connections any more; None while it does.

    Going on would only count refused connections as failures of the agent.

    Args:
        agent: The agent.
        answer: What came of the last call.
        study_id: The study.
        resume: Python that resumes the study.
    """
    if answer.failure != "transport" or await agent.is_alive():
        return None
    return StudyInterruptedError(
        "The service behind the agent accepts no connections any more; the study's measurements are stored",
        on=f"{agent.name}, study {study_id}",
        try_=f"start the service again, then {resume}",
    )


def call_outcome(answer: Answer, stop: StudyInterruptedError | None = None) -> UnitOutcome:
    """Return the outcome of a timed call; one that did not end well has no duration."""
    complete = answer.status == "complete" and answer.client_duration_ms is not None
    return UnitOutcome(
        failure=None if complete else answer.failure or "malformed_stream",
        values={
            "invocation_id": answer.id,
            "duration_ms": answer.client_duration_ms if complete else None,
            "ttft_ms": answer.ttft_ms if complete else None,
            "connect_ms": answer.connect_ms,
            "error_message": answer.error_message,
        },
        details={"connection_reused": answer.connection_reused},
        stop=stop,
    )


def opening_outcome(answer: Answer, stop: StudyInterruptedError | None = None) -> UnitOutcome:
    """Return the outcome of a unit whose untimed call, which opens the session, failed: nothing was timed."""
    message = f"The untimed call that opens the session failed: {answer.error_message or answer.failure}"
    return UnitOutcome(
        failure=answer.failure or "malformed_stream",
        values={"invocation_id": answer.id, "error_message": message},
        details={"opening": True},
        stop=stop,
    )


def call_labels(study_id: str, unit: MeasuredUnit, *, timed: bool = True) -> tuple[str, ...]:
    """Return the labels of a call's invocation; a resumed study finds the invocation by them.

    Args:
        study_id: The study.
        unit: The unit that the call belongs to.
        timed: False for the untimed call that opens a session.
    """
    kind = "timed" if timed else "opening"
    return (f"study:{study_id}", kind, f"position:{unit.position}", f"attempt:{unit.attempt}")


def stored_outcome(agent: MeasuredAgent, study_id: str, unit: MeasuredUnit) -> UnitOutcome | None:
    """Return the outcome of a call that had ended when its process was killed, from its stored invocation.

    Args:
        agent: The agent.
        study_id: The study.
        unit: The unit that was left running.

    Returns:
        None when nobody saw the call end.
    """
    from loomlib.store import INTERRUPTED

    if unit.session_id is None:
        return None
    wanted = set(call_labels(study_id, unit))
    for row in agent.store.invocations.list(session_id=unit.session_id, limit=None):
        ended = row.status in ("complete", "error") and row.failure not in (INTERRUPTED, "cancelled")
        if ended and wanted <= set(row.labels):
            return call_outcome(row)
    return None


async def end_session(agent: MeasuredAgent, session_id: str) -> None:
    """End a session. One that is gone already, or cannot be ended, affects no measurement: it is logged."""
    try:
        await asyncio.to_thread(agent.end_session, session_id)
    except LoomError as error:
        _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})
