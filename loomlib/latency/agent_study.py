"""Common parts of studies of a deployed agent: storing, checking, naming, resuming, and making calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from loomlib.errors import LoomError, StudyError, StudyInterruptedError
from loomlib.experiments import MeasuredUnit, Procedure, Study, StudyRecord, UnitOutcome

from .measured_agent import (
    AgentWithStudyTarget,
    MeasuredAgent,
    StoredAnswer,
    StudiedAgent,
    measured_agent,
    platform_version,
    release_fields,
)

if TYPE_CHECKING:
    from loomlib.store import StudyRow

_logger = logging.getLogger(__name__)


class AgentDesign(Protocol):
    """The design of a study of an agent."""

    @property
    def timeout_s(self) -> float | None:
        """Limit of each call, in seconds; None for the agent's own setting."""
        ...

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        ...

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        ...


A = TypeVar("A", bound=StudiedAgent)
U = TypeVar("U", bound=MeasuredUnit)
R = TypeVar("R", bound=StudyRecord)
D = TypeVar("D", bound=AgentDesign)


class EndpointStudy(Study[U, R], Generic[A, U, R]):
    """A study of one endpoint of an agent: its name, how it is resumed, and what it measures."""

    agent: A

    @property
    def title(self) -> str:
        """The agent's name."""
        return self.agent.name

    @property
    def how_to_resume(self) -> str:
        """Python code that recreates the stored study."""
        return f'{type(self).__name__}.resume(agent, "{self.study_id}")'

    def check(self, stored: StudyRow) -> None:
        """Raise `StudyError` when the stored study measures another agent or endpoint."""
        if stored.agent_arn != self.agent.arn or stored.scope != self.agent.scope:
            raise StudyError(
                f"This study measures another agent ({stored.agent_name or stored.agent_arn})",
                on=stored.id,
                try_="a new study without study_id",
            )
        if (qualifier := stored.environment.get("qualifier")) != self.agent.qualifier:
            raise StudyError(
                f"This study measures the endpoint {qualifier}, not {self.agent.qualifier}",
                on=stored.id,
                try_=f'agent.at("{qualifier}")',
            )


class AgentStudy(EndpointStudy[MeasuredAgent, U, R], Generic[U, R, D]):
    """A study that calls an agent, one call at a time; each kind of study adds its design and its units.

    Args:
        agent: The agent, such as `bench.agent("calculator")`.
        study_id: Id of a stored study to resume.
    """

    design: D

    def __init__(self, agent: MeasuredAgent | AgentWithStudyTarget, *, study_id: str | None = None) -> None:
        self.agent = measured_agent(agent)
        super().__init__(self.agent.store, study_id)

    @classmethod
    def resume(cls, agent: MeasuredAgent | AgentWithStudyTarget, study_id: str) -> Self:
        """Return a stored study with its stored design; `run()` measures what is pending.

        Raises:
            StudyError: No study of this id is stored.
        """
        return cls(agent, study_id=study_id).use_stored_design()

    def header(self) -> StudyRow:
        """Return the study's row for the store."""
        return self.row(
            scope=self.agent.scope,
            agent_arn=self.agent.arn,
            agent_name=self.agent.name,
            environment={
                "qualifier": self.agent.qualifier,
                "platform_version": platform_version(self.agent),
                **release_fields(self.agent),
            },
            labels=tuple(self.agent.labels),
        )

    def check(self, stored: StudyRow) -> None:
        """Raise `StudyError` when the stored study measures another agent, endpoint or platform."""
        super().check(stored)
        former, now = stored.environment.get("platform_version", ""), platform_version(self.agent)
        if former and now and former != now:
            raise StudyError(
                f"This study measures platform {former}, but the runtime is now on {now}",
                on=stored.id,
                try_=f'a new study, or bench.deploy(…, platform_version="{former}")',
            )

    def stored_outcome(self, unit: U) -> UnitOutcome | None:
        """Return the stored outcome of a call that had ended before its process was killed."""
        return stored_outcome(self.agent, self.study_id, unit)


class AgentProcedure(Procedure[U], Generic[U, D]):
    """Measures the units of a study of an agent by calling it.

    Args:
        study: The study.
        agent: The agent; the study's by default.
    """

    def __init__(self, study: AgentStudy[U, Any, D], agent: MeasuredAgent | None = None) -> None:
        self._agent, self._study = agent or study.agent, study
        self._design, self._study_id = study.design, study.study_id

    async def _call(self, prompt: str, session_id: str, labels: tuple[str, ...]) -> StoredAnswer:
        return await self._agent.measure(prompt, session_id=session_id, labels=labels, timeout_s=self._design.timeout_s)

    async def _unreachable_error(self, answer: StoredAnswer) -> StudyInterruptedError | None:
        """Return the error that ends the study when the service does not accept connections; otherwise None.

        Raises:
            StudyInterruptedError: The same error, when nothing of a response was received: the unit stays planned.
        """
        if answer.failure != "transport" or await self._agent.is_alive():
            return None
        error = self._study.unreachable(self._agent.name)
        if answer.bytes_received == 0:
            raise error
        return error

    async def _end_session(self, session_id: str) -> None:
        """End a session. A failure is only logged, because it affects no measurement."""
        try:
            await asyncio.to_thread(self._agent.end_session, session_id)
        except LoomError as error:
            _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})


def call_outcome(answer: StoredAnswer, stop: StudyInterruptedError | None = None) -> UnitOutcome:
    """Return the outcome of a timed call; a failed call has no duration."""
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


def opening_outcome(answer: StoredAnswer, stop: StudyInterruptedError | None = None) -> UnitOutcome:
    """Return the outcome of a unit whose session could not be opened: nothing was timed."""
    message = f"The untimed call that opens the session failed: {answer.error_message or answer.failure}"
    return UnitOutcome(
        failure=answer.failure or "malformed_stream",
        values={"invocation_id": answer.id, "error_message": message},
        details={"opening": True},
        stop=stop,
    )


def call_labels(study_id: str, unit: MeasuredUnit, *, timed: bool = True) -> tuple[str, ...]:
    """Return the labels of a call's invocation, by which a resumed study finds it.

    Args:
        study_id: The study.
        unit: The unit that the call belongs to.
        timed: False for the untimed call that opens a session.
    """
    kind = "timed" if timed else "opening"
    return (f"study:{study_id}", kind, f"position:{unit.position}", f"attempt:{unit.attempt}")


def stored_outcome(agent: MeasuredAgent, study_id: str, unit: MeasuredUnit) -> UnitOutcome | None:
    """Return the outcome of a call that had ended before its process was killed, from its stored invocation.

    Args:
        agent: The agent.
        study_id: The study.
        unit: The unit that was left running.

    Returns:
        None when the end of the call was not recorded.
    """
    from loomlib.store import INTERRUPTED

    if unit.session_id is None:
        return None
    required_labels = set(call_labels(study_id, unit))
    for row in agent.store.invocations.list(session_id=unit.session_id, limit=None):
        ended = row.status in ("complete", "error") and row.failure not in (INTERRUPTED, "cancelled")
        if ended and required_labels <= set(row.labels):
            return call_outcome(row)
    return None
