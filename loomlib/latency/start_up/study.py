"""The study of session starts: sessions of the same agent on both platforms, interleaved, run and resumed."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from loomlib.errors import LoomError, StudyError
from loomlib.experiments import Procedure, StudyRun, UnitOutcome, planned_units
from loomlib.store import PlannedMeasurement, StudyRow

from ..agent_study import AgentProcedure, AgentStudy, call_labels, call_outcome
from ..design import DEFAULT_PROMPT
from ..measured_agent import (
    AgentAsProcess,
    AgentWithStarts,
    AgentWithStudyTarget,
    MeasuredAgent,
    measured_agent,
    platform_version,
)
from .design import PLATFORMS, PROCESS, StartUpDesign
from .direct import DirectStarts, script_in
from .result import StartedSession, StartUpResult

_logger = logging.getLogger(__name__)


class Sessions(AgentProcedure[StartedSession, StartUpDesign]):
    """Measures one session of one agent: its first call, then later ones."""

    async def begin(self, unit: StartedSession) -> str:
        """Return a new session id."""
        return f"loom-start-up{uuid.uuid4().hex}"

    async def measure(self, unit: StartedSession, session_id: str | None) -> UnitOutcome:
        """Make the first call, whose duration is the unit's, and the later ones."""
        assert session_id is not None
        first = await self._call(self._design.prompt, session_id, call_labels(self._study_id, unit))
        outcome = call_outcome(first, await self._unreachable_error(first))
        later_ms: list[float] = []
        while outcome.failure is None and len(later_ms) < self._design.later_calls:
            labels = (f"study:{self._study_id}", "later", f"position:{unit.position}")
            later = await self._call(self._design.prompt, session_id, labels)
            if later.status == "complete" and later.client_duration_ms is not None:
                later_ms.append(later.client_duration_ms)
            else:
                message = f"Call {len(later_ms) + 2} of the session failed: {later.error_message or later.failure}"
                return UnitOutcome(
                    failure=later.failure or "malformed_stream",
                    values={"invocation_id": first.id, "error_message": message},
                    stop=await self._unreachable_error(later),
                )
        return replace(outcome, details={**outcome.details, "later_ms": later_ms})

    async def end(self, unit: StartedSession, session_id: str | None, outcome: UnitOutcome) -> None:
        """End the session."""
        assert session_id is not None
        await self._end_session(session_id)


class ProcedureByCondition(Procedure[StartedSession]):
    """Measures each session with the procedure of its condition.

    Args:
        procedures: The procedure of each condition.
    """

    def __init__(self, procedures: Mapping[str, Procedure[StartedSession]]) -> None:
        self._procedures = procedures

    async def begin(self, unit: StartedSession) -> str | None:
        """Return a new session id."""
        return await self._procedures[unit.platform].begin(unit)

    async def measure(self, unit: StartedSession, session_id: str | None) -> UnitOutcome:
        """Measure the session."""
        return await self._procedures[unit.platform].measure(unit, session_id)

    async def end(self, unit: StartedSession, session_id: str | None, outcome: UnitOutcome) -> None:
        """End the session."""
        await self._procedures[unit.platform].end(unit, session_id, outcome)

    async def close(self) -> None:
        """Clean up after each."""
        for procedure in self._procedures.values():
            await procedure.close()


class StartUpStudy(AgentStudy[StartedSession, StartUpResult, StartUpDesign]):
    """The cost of a new session on platforms V1 and V2, in parts, for the same agent deployed on both.

    Each unit opens a session with a timed call and makes a few later ones. The cost of the new session is the first
    call minus the median of the later ones. The local AgentCore records what a start consists of; on AWS the cost is
    all that can be seen from outside. With the agent's source, its process is also started directly in each block, as
    `python agent.py`: without AgentCore and without isolation, so use only code that you would run yourself.

    Examples:
        >>> v1 = bench.deploy("calculator", name="calculator_v1", platform_version="V1")
        >>> v2 = bench.deploy("calculator", name="calculator_v2", platform_version="V2")
        >>> StartUpStudy(v1, v2, sessions=13).run().table()

    Args:
        v1: The agent on platform V1.
        v2: The agent on platform V2.
        sessions: Sessions started on each platform; intervals need 6 (median) and 13 (third quartile, `gate`).
        later_calls: Calls in each session after its first one.
        prompt: Sent with every call.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
        source: The agent's folder or `agent.py`, to start its process directly too (local AgentCore, HTTP and AG-UI).
        environment: Variables of that process; neither stored nor shown.

    Raises:
        StudyError: One of the agents is known to be on another platform, or its process cannot be started directly.
    """

    kind: ClassVar[str] = "start-up"
    result_type = StartUpResult

    def __init__(
        self,
        v1: MeasuredAgent | AgentWithStudyTarget,
        v2: MeasuredAgent | AgentWithStudyTarget,
        *,
        sessions: int = 13,
        later_calls: int = 3,
        prompt: str | None = None,
        seed: int = 0,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
        source: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(v1, study_id=study_id)
        self.agents = dict(zip(PLATFORMS, (self.agent, measured_agent(v2)), strict=True))
        for platform, agent in self.agents.items():
            if (actual := platform_version(agent)) not in ("", platform):
                raise StudyError(
                    f"This agent is on platform {actual}, and its sessions would be taken for those of {platform}",
                    on=agent.name,
                    try_=f'bench.deploy(…, platform_version="{platform}")',
                )
        self.design = StartUpDesign(
            sessions=sessions,
            later_calls=later_calls,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            seed=seed,
            timeout_s=timeout_s,
            name=name,
            source="" if source is None else str(Path(source).expanduser().absolute()),
        )
        self._environment = dict(environment or {})
        self._check_source()

    @classmethod
    def resume(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        v1: MeasuredAgent | AgentWithStudyTarget,
        v2: MeasuredAgent | AgentWithStudyTarget,
        study_id: str,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> StartUpStudy:
        """Return a stored study with its stored design; `run()` measures what is pending.

        Args:
            v1: The agent on platform V1.
            v2: The agent on platform V2.
            study_id: The study's id.
            environment: Variables of the process that is started directly, which are not stored.

        Raises:
            StudyError: No study of this id is stored.
        """
        study = cls(v1, v2, study_id=study_id, environment=environment).use_stored_design()
        study._check_source()
        return study

    @property
    def title(self) -> str:
        """The agents' names."""
        return " and ".join(agent.name for agent in self.agents.values())

    @property
    def how_to_resume(self) -> str:
        """Python code that recreates the stored study."""
        return f'StartUpStudy.resume(v1, v2, "{self.study_id}")'

    def header(self) -> StudyRow:
        """Return the study's row for the store."""
        labels = dict.fromkeys(label for agent in self.agents.values() for label in agent.labels)
        return replace(super().header(), environment={"agents": self._agent_documents()}, labels=tuple(labels))

    def check(self, stored: StudyRow) -> None:
        """Raise `StudyError` when the stored study measures other agents or endpoints."""
        if stored.scope != self.agent.scope or stored.environment.get("agents") != self._agent_documents():
            former = ", ".join(agent["name"] for agent in stored.environment.get("agents", {}).values())
            raise StudyError(
                f"This study measures other agents or endpoints ({former})",
                on=stored.id,
                try_="a new study without study_id",
            )

    def stored_outcome(self, unit: StartedSession) -> UnitOutcome | None:
        """Return None: a session whose end was not recorded is measured again, because its later calls are unknown."""
        return None

    # Methods that the kernel calls (see `Study`).

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the sessions in the order in which they are started."""
        return planned_units(self.design.order())

    def condition(self, unit: StartedSession) -> str:
        """Return the platform."""
        return unit.platform

    async def procedure(self, run: StudyRun) -> ProcedureByCondition:
        """Return the procedure that measures the sessions."""
        procedures: dict[str, Procedure[StartedSession]] = {
            platform: Sessions(self, agent) for platform, agent in self.agents.items()
        }
        if self.design.source and isinstance(self.agent, AgentAsProcess):
            procedures[PROCESS] = await run.blocking(DirectStarts, self.agent, self.design, self._environment)
        return ProcedureByCondition(procedures)

    async def finish(self, run: StudyRun) -> None:
        """Read the starts of the sessions whose start is not known yet."""
        for platform, agent in self.agents.items():
            unknown = {
                unit.session_id: unit.position
                for unit in self.units()
                if unit.platform == platform and unit.is_done and unit.start is None and unit.session_id is not None
            }
            if not unknown or not isinstance(agent, AgentWithStarts):
                continue
            run.report(f"reading how the sessions of {platform} started")
            try:
                starts = await run.blocking(agent.session_starts, list(unknown))
            except LoomError as error:
                _logger.warning("the starts of sessions could not be read: %s", error)
                continue
            for session_id, start in starts.items():
                run.ledger.amend(unknown[session_id], details={"start": start.stored()})

    def _check_source(self) -> None:
        """Raise `StudyError` when a process is to be started directly and cannot be."""
        if not self.design.source:
            return
        if self.agent.scope != "local" or not isinstance(self.agent, AgentAsProcess):
            raise StudyError(
                "Only an HTTP or AG-UI agent of the local AgentCore can be started as a process",
                on=self.agent.name,
                try_="the study without source",
            )
        script_in(Path(self.design.source))

    def _agent_documents(self) -> dict[str, Any]:
        return {
            platform: {"arn": agent.arn, "name": agent.name, "qualifier": agent.qualifier}
            for platform, agent in self.agents.items()
        }
