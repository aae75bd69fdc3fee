"""A study in the store: planned before the first call, written call by call, read back after a kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError

from .design import StudyDesign
from .measurements import DONE, FAILED, RUNNING, Measurement
from .scenarios import Scenario

if TYPE_CHECKING:
    from loomlib.store import InvocationRow, MeasurementRow, Store, StudyRow

    from .ports import Answer, FoundStart, MeasuredAgent


class Ledger:
    """One study's rows. Every method is one short transaction."""

    def __init__(self, store: Store, study_id: str) -> None:
        self.store, self.study_id = store, study_id

    def open(self, agent: MeasuredAgent, design: StudyDesign) -> StudyRow:
        """The stored study, created with its whole plan when there is none.

        A stored study of that id must have the same design and agent; `StudyError` says what differs.
        """
        from loomlib.store import PlannedMeasurement, StudyRow

        stored = self.store.studies.get(self.study_id)
        if stored is None:
            stored = self.store.studies.create(
                StudyRow(
                    id=self.study_id,
                    scope=agent.scope,
                    agent_arn=agent.arn,
                    agent_name=agent.name,
                    design=design.stored(),
                    created_at=datetime.now(UTC),
                    environment={"qualifier": agent.qualifier},
                    labels=tuple(agent.labels),
                )
            )
        self._check(stored, agent, design)
        # A process killed between the two writes leaves a study without its plan: the plan follows from the design.
        if not self.store.measurements.list(self.study_id):
            self.store.measurements.plan(
                self.study_id,
                [
                    PlannedMeasurement(
                        position=call.position,
                        block=call.block,
                        scenario=call.scenario.value,
                        session_plan=design.session_plan(call),
                    )
                    for call in design.calls()
                ],
            )
        return stored

    def _check(self, stored: StudyRow, agent: MeasuredAgent, design: StudyDesign) -> None:
        if stored.agent_arn != agent.arn or stored.scope != agent.scope:
            raise StudyError(
                f"This study measures another agent ({stored.agent_name or stored.agent_arn})",
                on=self.study_id,
                try_="LatencyStudy(agent) without study_id starts a new one",
            )
        if (qualifier := stored.environment.get("qualifier")) != agent.qualifier:
            raise StudyError(
                f"This study measures the endpoint {qualifier}, not {agent.qualifier}",
                on=self.study_id,
                try_=f'agent.at("{qualifier}")',
            )
        known, asked = stored.design, design.stored()
        if differing := sorted(name for name in asked if known.get(name) != asked[name]):
            raise StudyError(
                f"The stored study has another {', '.join(differing)}",
                on=self.study_id,
                try_="LatencyStudy.resume(agent, study_id) takes the stored design; a new study needs a new id",
            )

    def measurements(self) -> list[Measurement]:
        """All measurements by position."""
        return [_measurement(row) for row in self.store.measurements.list(self.study_id)]

    def claim(self, owed: Measurement, session_id: str) -> bool:
        """Planned → running, before the call; False when somebody else took it."""
        return self.store.measurements.claim(self.study_id, owed.position, session_id=session_id)

    def record(self, owed: Measurement, answer: Answer) -> None:
        """Running → done or failed, with what the call gave."""
        complete = answer.status == "complete" and answer.client_duration_ms is not None
        self.store.measurements.record(
            self.study_id,
            owed.position,
            DONE if complete else FAILED,
            invocation_id=answer.id,
            duration_ms=answer.client_duration_ms if complete else None,
            ttft_ms=answer.ttft_ms if complete else None,
            connect_ms=answer.connect_ms,
            failure=None if complete else answer.failure or "malformed_stream",
            error_message=answer.error_message,
            details={"attempt": owed.attempt, "connection_reused": answer.connection_reused},
        )

    def record_failed_opening(self, owed: Measurement, answer: Answer) -> None:
        """Running → failed: the untimed call that should have opened the session failed, so nothing was timed."""
        self.store.measurements.record(
            self.study_id,
            owed.position,
            FAILED,
            invocation_id=answer.id,
            failure=answer.failure or "malformed_stream",
            error_message=f"The untimed call that opens the session failed: {answer.error_message or answer.failure}",
            details={"attempt": owed.attempt, "opening": True},
        )

    def give_back(self, owed: Measurement) -> None:
        """Running → planned, to be called again as the next attempt under the same position."""
        if self.store.measurements.reopen(self.study_id, owed.position):
            self.store.measurements.amend(self.study_id, owed.position, details={"attempt": owed.attempt + 1})

    def settle_unseen(self) -> int:
        """Decide what a killed process left running; returns how many are to be called again.

        The invocation's own record knows best: when the timed call ended and was stored, its outcome is adopted;
        when nobody saw it end, the measurement goes back into the plan as the next attempt.
        """
        self.store.invocations.abandon_stale()
        again = 0
        for left in self.measurements():
            if left.state != RUNNING:
                continue
            seen = self._seen(left)
            if seen is None:
                self.give_back(left)
                again += 1
            else:
                self.record(left, seen)
        return again

    def _seen(self, left: Measurement) -> InvocationRow | None:
        from loomlib.store import INTERRUPTED

        wanted = set(call_labels(self.study_id, left))
        if left.session_id is None:
            return None
        for each in self.store.invocations.list(session_id=left.session_id, limit=None):
            ended = each.status in ("complete", "error") and each.failure not in (INTERRUPTED, "cancelled")
            if ended and wanted <= set(each.labels):
                return each
        return None

    def typical_answer(self) -> tuple[str, int]:
        """The content type of the answered calls and their median size in bytes, for the harness floor."""
        answers = [
            answer
            for each in self.measurements()
            if each.is_done and each.invocation_id is not None
            if (answer := self.store.invocations.get(each.invocation_id)) is not None
        ]
        if not answers:
            return "application/json", 64
        types = Counter(answer.content_type or "application/json" for answer in answers)
        sizes = sorted(answer.bytes_received for answer in answers)
        return types.most_common(1)[0][0], sizes[len(sizes) // 2]

    def note_start(self, measurement: Measurement, found: FoundStart) -> None:
        """Keep how the search for the agent's start ended."""
        self.store.measurements.amend(
            self.study_id,
            measurement.position,
            start_state=found.state,
            cold_start_latency_ms=found.cold_start_latency_ms,
        )

    def save(self, state: str, *, finished: bool = False, **environment: Any) -> None:
        """The study's state, with `environment` merged into what is stored."""
        stored = self.store.studies.get(self.study_id)
        known: Mapping[str, Any] = stored.environment if stored else {}
        self.store.studies.save_state(
            self.study_id,
            state,
            finished_at=datetime.now(UTC) if finished else None,
            environment={**known, **environment},
        )


def call_labels(study_id: str, owed: Measurement) -> tuple[str, ...]:
    """What a timed call's invocation is labelled with, so that it can be told from the call that opened its session."""
    return (f"study:{study_id}", "timed", f"position:{owed.position}", f"attempt:{owed.attempt}")


def opening_labels(study_id: str, owed: Measurement) -> tuple[str, ...]:
    """What the untimed call that opens a session is labelled with."""
    return (f"study:{study_id}", "opening", f"position:{owed.position}", f"attempt:{owed.attempt}")


def _measurement(row: MeasurementRow) -> Measurement:
    return Measurement(
        position=row.position,
        block=row.block,
        scenario=Scenario(row.scenario),
        state=row.state,
        session_id=row.session_id,
        invocation_id=row.invocation_id,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
        ttft_ms=row.ttft_ms,
        connect_ms=row.connect_ms,
        connection_reused=row.details.get("connection_reused"),
        start_latency_ms=row.cold_start_latency_ms,
        start_state=row.start_state,
        failure=row.failure or ("lost" if row.state == "lost" else None),
        error_message=row.error_message,
        attempt=int(row.details.get("attempt", 1)),
        session_plan=row.session_plan,
    )
