"""The study of pre-warmed sessions: gaps with and without pings, run and resumed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from loomlib.experiments import StudyRun, UnitOutcome, planned_units

from ..agent_study import AgentProcedure, AgentStudy, call_labels, call_outcome, opening_outcome
from ..design import DEFAULT_PROMPT
from ..measured_agent import AgentWithStudyTarget, MeasuredAgent
from .design import NO_PING, PrewarmDesign, arm_key
from .result import GapCall, PrewarmResult

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement


class Gaps(AgentProcedure[GapCall, PrewarmDesign]):
    """Measures one gap: opens a session, waits and pings, then times the next call."""

    async def begin(self, unit: GapCall) -> str:
        """Return a new session id."""
        return f"loom-prewarm{uuid.uuid4().hex}"

    async def measure(self, unit: GapCall, session_id: str | None) -> UnitOutcome:
        """Open the session, wait for the gap, and time the call after it."""
        assert session_id is not None
        opening = await self._call(self._design.prompt, session_id, call_labels(self._study_id, unit, timed=False))
        if opening.status != "complete":
            return opening_outcome(opening, await self._unreachable_error(opening))
        pings, failed_pings = await self._pass_gap(unit, session_id)
        answer = await self._call(self._design.prompt, session_id, call_labels(self._study_id, unit))
        stop = await self._unreachable_error(answer)
        outcome = call_outcome(answer, stop)
        details = {**outcome.details, "pings": pings, "failed_pings": failed_pings}
        return UnitOutcome(failure=outcome.failure, values=outcome.values, details=details, stop=stop)

    async def end(self, unit: GapCall, session_id: str | None, outcome: UnitOutcome) -> None:
        """End the session."""
        assert session_id is not None
        await self._end_session(session_id)

    async def _pass_gap(self, unit: GapCall, session_id: str) -> tuple[list[float], list[str]]:
        """Wait until the gap ends, pinging at the arm's interval.

        Returns:
            The durations of the answered pings in milliseconds, and the failures of the others.
        """
        until = time.monotonic() + self._design.gap_s
        pings: list[float] = []
        failures: list[str] = []
        while unit.ping_every_s and time.monotonic() + unit.ping_every_s < until:
            await asyncio.sleep(unit.ping_every_s)
            labels = (f"study:{self._study_id}", "ping", f"position:{unit.position}")
            ping = await self._call(self._design.ping_prompt, session_id, labels)
            if ping.status != "complete":
                failures.append(ping.failure or ping.status)
            elif ping.client_duration_ms is not None:
                pings.append(ping.client_duration_ms)
        await asyncio.sleep(max(0.0, until - time.monotonic()))
        return pings, failures


class PrewarmStudy(AgentStudy[GapCall, PrewarmResult, PrewarmDesign]):
    """A study of the time that a ping every N seconds saves on the first call after an idle gap, and of its cost.

    Each unit opens a session, lets a gap pass, and times the next call. Without pings the session ends when the gap is
    longer than the runtime's idle timeout, and the call is cold. Every ping is a whole invocation of the agent.

    On AgentCore the idle time-out is at least 60 s (900 s by default). The local service accepts a shorter one through
    the runtime's environment variable LOOM_LOCAL_IDLE_TIMEOUT_S, so that a study with seconds for minutes is short.

    Examples:
        >>> agent = bench.deploy("calculator", name="prewarmed", environment={"LOOM_LOCAL_IDLE_TIMEOUT_S": "1"})
        >>> PrewarmStudy(agent, idle_timeout_s=1, gap_s=1.5, ping_every_s=(0, 0.5)).run().table()

    Args:
        agent: The agent.
        idle_timeout_s: The runtime's idle time-out in seconds, as deployed.
        gaps: Idle gaps measured in each arm.
        gap_s: Length of a gap in seconds; by default 1.5 times the idle time-out.
        ping_every_s: The arms: seconds between pings, 0 for none; by default none, and half the idle time-out.
        prompt: Sent with the timed call and the one that opens the session.
        ping_prompt: Sent with each ping.
        memory_gb: Memory of a session in GB, for its price.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
    """

    kind: ClassVar[str] = "prewarm"
    result_type = PrewarmResult

    def __init__(
        self,
        agent: MeasuredAgent | AgentWithStudyTarget,
        *,
        idle_timeout_s: float = 900.0,
        gaps: int = 6,
        gap_s: float | None = None,
        ping_every_s: Sequence[float] | None = None,
        prompt: str | None = None,
        ping_prompt: str = "ping",
        memory_gb: float = 0.5,
        seed: int = 0,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
    ) -> None:
        super().__init__(agent, study_id=study_id)
        self.design = PrewarmDesign(
            gaps=gaps,
            gap_s=1.5 * idle_timeout_s if gap_s is None else gap_s,
            ping_every_s=(NO_PING, idle_timeout_s / 2) if ping_every_s is None else tuple(ping_every_s),
            idle_timeout_s=idle_timeout_s,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            ping_prompt=ping_prompt,
            memory_gb=memory_gb,
            seed=seed,
            timeout_s=timeout_s,
            name=name,
        )

    # Methods that the kernel calls (see `Study`).

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the gaps in the order in which they are measured."""
        return planned_units(self.design.calls())

    def condition(self, unit: GapCall) -> str:
        """Return the arm's name."""
        return arm_key(unit.ping_every_s)

    async def procedure(self, run: StudyRun) -> Gaps:
        """Return the procedure that measures the gaps."""
        return Gaps(self)
