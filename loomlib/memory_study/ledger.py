"""A recall study in the store: planned before the first question, written question by question, read after a kill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError

from .design import RecallDesign
from .measurements import DONE, FAILED, RUNNING, Asked
from .scoring import Score

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow, Store, StudyRow

    from .design import PlannedQuestion


class Ledger:
    """One study's rows. Every method is one short transaction."""

    def __init__(self, store: Store, study_id: str) -> None:
        self.store, self.study_id = store, study_id

    def stored(self) -> StudyRow:
        """The study. Raises `StudyError` when there is none of that id."""
        found = self.store.studies.get(self.study_id)
        if found is None:
            raise StudyError("No such study in the store", on=self.study_id, try_="RecallStudy(bench).run() makes one")
        return found

    def open(self, design: RecallDesign, *, scope: str, subject: str, name: str, labels: tuple[str, ...]) -> StudyRow:
        """The stored study, created with its whole plan when there is none; a stored one must have the same design."""
        from loomlib.store import PlannedMeasurement, StudyRow

        found = self.store.studies.get(self.study_id)
        if found is None:
            found = self.store.studies.create(
                StudyRow(
                    id=self.study_id,
                    scope=scope,
                    agent_arn=subject,
                    agent_name=name,
                    design=design.stored(),
                    created_at=datetime.now(UTC),
                    labels=labels,
                )
            )
        known, asked = found.design, design.stored()
        if differing := sorted(each for each in asked if known.get(each) != asked[each]):
            raise StudyError(
                f"The stored study has another {', '.join(differing)}",
                on=self.study_id,
                try_="RecallStudy.resume(bench, study_id) takes the stored design; a new study needs a new id",
            )
        # A process killed between the two writes leaves a study without its plan: the plan follows from the design.
        if not self.store.measurements.list(self.study_id):
            self.store.measurements.plan(
                self.study_id,
                [
                    PlannedMeasurement(
                        position=each.position,
                        block=each.probe.session,
                        scenario=each.arm.key,
                        session_plan=each.plan,
                    )
                    for each in design.questions()
                ],
            )
        return found

    def asked(self, design: RecallDesign) -> list[Asked]:
        """Every question by position."""
        planned = {each.position: each for each in design.questions()}
        return [_asked(row, planned[row.position]) for row in self.store.measurements.list(self.study_id)]

    def settle_unseen(self) -> None:
        """Give back what a killed process left running."""
        for row in self.store.measurements.list(self.study_id, states=(RUNNING,)):
            self.give_back(row.position)

    def claim(self, position: int, session_id: str | None = None) -> bool:
        """Planned → running; False when somebody else took it."""
        return self.store.measurements.claim(self.study_id, position, session_id=session_id)

    def give_back(self, position: int) -> None:
        """Running → planned."""
        self.store.measurements.reopen(self.study_id, position)

    def record(
        self,
        position: int,
        found: Score,
        *,
        duration_ms: float | None,
        ttft_ms: float | None = None,
        invocation_id: int | None = None,
        **details: Any,
    ) -> None:
        """Running → done, with how it was answered."""
        self.store.measurements.record(
            self.study_id,
            position,
            DONE,
            duration_ms=duration_ms,
            ttft_ms=ttft_ms,
            invocation_id=invocation_id,
            details={"score": asdict(found), **details},
        )

    def fail(self, position: int, failure: str, message: str | None, invocation_id: int | None = None) -> None:
        """Running → failed."""
        self.store.measurements.record(
            self.study_id, position, FAILED, failure=failure, error_message=message, invocation_id=invocation_id
        )

    def amend(self, position: int, **details: Any) -> None:
        """Add what became known later, such as tokens that a trace tells."""
        row = next(row for row in self.store.measurements.list(self.study_id) if row.position == position)
        self.store.measurements.amend(self.study_id, position, details={**row.details, **details})

    def save(self, state: str, *, finished: bool = False, **environment: Any) -> None:
        """The study's state, with `environment` merged into what is stored."""
        known: Mapping[str, Any] = self.stored().environment
        self.store.studies.save_state(
            self.study_id,
            state,
            finished_at=datetime.now(UTC) if finished else None,
            environment={**known, **environment},
        )


def _asked(row: MeasurementRow, planned: PlannedQuestion) -> Asked:
    details = dict(row.details)
    stored: dict[str, Any] | None = details.get("score")
    if stored is not None:
        stored |= {"relevant": tuple(stored["relevant"]), "stale": tuple(stored["stale"])}
    return Asked(
        position=row.position,
        arm=planned.arm,
        probe=planned.probe,
        state=row.state,
        duration_ms=row.duration_ms,
        failure=row.failure,
        error_message=row.error_message,
        score=None if stored is None else Score(**stored),
        extracted=details.get("extracted"),
        searches=int(details.get("searches", 0)),
        model_calls=details.get("model_calls"),
        input_tokens=details.get("input_tokens"),
        output_tokens=details.get("output_tokens"),
        shown=tuple(str(each) for each in details.get("shown", ())),
        invocation_id=row.invocation_id,
        session_id=row.session_id,
    )
