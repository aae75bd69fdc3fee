"""The comparison study: calls of several agents in turn, run and resumed."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from loomlib.errors import LoomError
from loomlib.experiments import Procedure, Study, StudyRun, UnitOutcome, planned_units
from loomlib.presentation.theme import PALETTE

from ..agent_study import call_labels, call_outcome, opening_outcome, stored_outcome
from ..design import DEFAULT_PROMPT
from ..measured_agent import AgentWithStudyTarget, MeasuredAgent, StoredAnswer, measured_agent
from .design import KIND, ComparisonDesign
from .result import ComparedCall, ComparisonResult

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement, StudyRow

_logger = logging.getLogger(__name__)


class ComparedCalls(Procedure[ComparedCall]):
    """Makes one timed call for each unit; with shared sessions, keeps one open session for each agent."""

    def __init__(self, study: ComparisonStudy) -> None:
        self._study, self._design = study, study.design
        self._open: dict[str, str] = {}

    async def begin(self, unit: ComparedCall) -> str:
        """Return the agent's open session, or a new session id: 44 characters; AgentCore takes 33 to 256."""
        return self._open.get(unit.agent) or f"loom-compare{uuid.uuid4().hex}"

    async def measure(self, unit: ComparedCall, session_id: str | None) -> UnitOutcome:
        """Make the timed call, after the untimed one that opens a shared session."""
        assert session_id is not None
        if not self._design.new_sessions and unit.agent not in self._open:
            opening = await self._call(unit, session_id, timed=False)
            if opening.status != "complete":
                return await self._outcome(unit, opening, timed=False)
        return await self._outcome(unit, await self._call(unit, session_id, timed=True), timed=True)

    async def end(self, unit: ComparedCall, session_id: str | None, outcome: UnitOutcome) -> None:
        """Keep a shared session open as long as it answers; end any other."""
        assert session_id is not None
        if not self._design.new_sessions and outcome.failure is None:
            self._open[unit.agent] = session_id
            return
        self._open.pop(unit.agent, None)
        await self._end_session(unit.agent, session_id)

    async def close(self) -> None:
        """End the shared sessions."""
        for agent, session_id in self._open.items():
            await self._end_session(agent, session_id)
        self._open.clear()

    async def _call(self, unit: ComparedCall, session_id: str, *, timed: bool) -> StoredAnswer:
        labels = call_labels(self._study.study_id, unit, timed=timed)
        agent = self._study.agents[unit.agent]
        return await agent.measure(
            self._design.prompt, session_id=session_id, labels=labels, timeout_s=self._design.timeout_s
        )

    async def _outcome(self, unit: ComparedCall, answer: StoredAnswer, *, timed: bool) -> UnitOutcome:
        stop = None
        if answer.failure == "transport" and not await self._study.agents[unit.agent].is_alive():
            stop = self._study.unreachable(unit.agent)
            if answer.bytes_received == 0:
                raise stop  # no response: the call stays planned
        return call_outcome(answer, stop) if timed else opening_outcome(answer, stop)

    async def _end_session(self, agent: str, session_id: str) -> None:
        try:
            await asyncio.to_thread(self._study.agents[agent].end_session, session_id)
        except LoomError as error:
            _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})


class ComparisonStudy(Study[ComparedCall, ComparisonResult]):
    """A comparison of agents, versions or endpoints: which is faster, by how much, and with what certainty.

    The agents are called in turn, one call at a time, in randomized blocks: whatever disturbs the machine or the
    service affects all of them. The others are compared with the first.

    Examples:
        >>> ComparisonStudy({"now": agent, "new": agent.at("candidate")}, calls=40).run().sentences()

    Args:
        agents: The agents by their labels, the one to compare with first.
        calls: Timed calls of each agent; p50 needs at least 6, p90 at least 10.
        prompt: Sent with every call.
        new_sessions: Whether each timed call is the first of a new session.
        seed: Seed of the order and of the permutations.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
    """

    kind: ClassVar[str] = KIND
    result_type = ComparisonResult
    design: ComparisonDesign

    def __init__(
        self,
        agents: Mapping[str, MeasuredAgent | AgentWithStudyTarget],
        *,
        calls: int = 20,
        prompt: str | None = None,
        new_sessions: bool = False,
        seed: int = 0,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
    ) -> None:
        self.agents = {label: measured_agent(agent) for label, agent in agents.items()}
        self.design = ComparisonDesign(
            agents={label: f"{agent.arn} {agent.qualifier}" for label, agent in self.agents.items()},
            calls=calls,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            new_sessions=new_sessions,
            seed=seed,
            timeout_s=timeout_s,
            name=name,
        )
        super().__init__(next(iter(self.agents.values())).store, study_id)

    @classmethod
    def resume(cls, agents: Mapping[str, MeasuredAgent | AgentWithStudyTarget], study_id: str) -> Self:
        """Return a stored study with its stored design; `run()` measures what is pending.

        Raises:
            StudyError: No study of this id is stored.
        """
        study = cls(agents, study_id=study_id)
        return study.use_stored_design(agents=study.design.agents)

    @property
    def title(self) -> str:
        """The agents' labels."""
        return ", ".join(self.agents)

    @property
    def how_to_resume(self) -> str:
        """Python code that recreates the stored study."""
        return f'ComparisonStudy.resume(agents, "{self.study_id}")'

    @property
    def colours(self) -> Mapping[str, str]:
        """The colours of the agents."""
        return {label: PALETTE[place % len(PALETTE)] for place, label in enumerate(self.agents)}

    def header(self) -> StudyRow:
        """Return the study's row for the store."""
        first = next(iter(self.agents.values()))
        labels = dict.fromkeys(label for agent in self.agents.values() for label in agent.labels)
        return self.row(
            scope=first.scope,
            agent_arn=first.arn,
            agent_name=first.name,
            environment={"qualifier": first.qualifier},
            labels=tuple(labels),
        )

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the calls in the order in which they are made."""
        return planned_units(self.design.order())

    def condition(self, unit: ComparedCall) -> str:
        """Return the agent's label."""
        return unit.agent

    async def procedure(self, run: StudyRun) -> ComparedCalls:
        """Return the procedure that makes the calls."""
        return ComparedCalls(self)

    def stored_outcome(self, unit: ComparedCall) -> UnitOutcome | None:
        """Return the outcome of a call that had ended when its process was killed."""
        return stored_outcome(self.agents[unit.agent], self.study_id, unit)
