"""The timed calls of a latency study, each in the session that its scenario requires.

A closed loop with one call at a time: each call waits for the previous one to end. It shows what one caller sees, not
how the
agent behaves under load.
"""

from __future__ import annotations

import uuid
from typing import Any

from loomlib.experiments import UnitOutcome

from .agent_study import AgentProcedure, AgentStudy, call_labels, call_outcome, opening_outcome
from .design import StudyDesign
from .measured_agent import StoredAnswer
from .measurements import Measurement
from .scenarios import Scenario


class Calls(AgentProcedure[Measurement, StudyDesign]):
    """Makes the calls. Sessions are opened and ended outside of timed calls.

    Args:
        study: The study.
    """

    def __init__(self, study: AgentStudy[Measurement, Any, StudyDesign]) -> None:
        super().__init__(study)
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
        """Make the timed call, after an untimed one that opens its session where the scenario requires it."""
        assert session_id is not None
        if unit.scenario is not Scenario.COLD and not self._is_open(session_id):
            opening = await self._call(self._design.prompt, session_id, call_labels(self._study_id, unit, timed=False))
            if opening.status != "complete":
                return await self._outcome(unit, opening, timed=False)
        answer = await self._call(self._design.prompt, session_id, call_labels(self._study_id, unit))
        return await self._outcome(unit, answer, timed=True)

    async def end(self, unit: Measurement, session_id: str | None, outcome: UnitOutcome) -> None:
        """Keep a long-lived session open as long as it answers; end any other session."""
        assert session_id is not None
        if unit.scenario is Scenario.STICKY and outcome.failure is None:
            self._long_lived = (unit.session_plan, session_id)
        elif self._is_open(session_id):
            await self.close()
        else:
            await self._end_session(session_id)

    async def close(self) -> None:
        """End the long-lived session; the next sticky call opens another."""
        if self._long_lived:
            session_id = self._long_lived[1]
            self._long_lived = None
            await self._end_session(session_id)

    def _is_open(self, session_id: str) -> bool:
        return self._long_lived is not None and self._long_lived[1] == session_id

    async def _outcome(self, unit: Measurement, answer: StoredAnswer, *, timed: bool) -> UnitOutcome:
        stop = await self._unreachable_error(answer)
        return call_outcome(answer, stop) if timed else opening_outcome(answer, stop)
