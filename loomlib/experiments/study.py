"""Run a study: one process at a time runs its units in order; a stopped study resumes where it stopped."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Self, TypeVar, cast

from loomlib.errors import StoreError, StudyError, StudyInterruptedError
from loomlib.jobs import OwnThread, Progress
from loomlib.jobs.dask import PROCESS, DaskCluster, WorkerReference, chosen_cluster
from loomlib.presentation.formats import seconds

from .cluster_units import measure_on_cluster
from .environment import describe_client
from .ledger import StudyLedger
from .progress import ProgressCounter, ProgressSnapshot, StudySnapshot, choose_progress
from .result import StudyRecord
from .run_ledger import RUNNING_STATE, new_id
from .units import MeasuredUnit, UnitOutcome

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement, Store, StudyRow

U = TypeVar("U", bound=MeasuredUnit)
R = TypeVar("R", bound=StudyRecord)
T = TypeVar("T")
P = ParamSpec("P")

COMPLETE = "complete"


class StudyRun:
    """One run of a study, as its procedure sees it."""

    def __init__(self, ledger: StudyLedger, progress: ProgressCounter[StudySnapshot]) -> None:
        self.ledger, self._progress = ledger, progress
        self._done_counts: Counter[str] = Counter()
        self._failed = 0
        self._stopped = threading.Event()

    @property
    def elapsed_s(self) -> float:
        """Seconds since this run began."""
        return self._progress.elapsed_s

    def count(self, condition: str, *, failed: bool) -> None:
        """Count a unit as measured or failed."""
        self._done_counts[condition] += 1
        self._failed += failed

    def report(self, stage: str = "") -> None:
        """Report the study's progress.

        Args:
            stage: The current activity other than measuring.
        """
        self._progress.set(done=dict(self._done_counts), failed=self._failed, stage=stage)

    async def blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code on a thread. When the study is stopped, wait for that code to return.

        Args:
            function: The code. If it takes long, it should call `check` regularly.
            args: Its arguments.
            kwargs: Its keyword arguments.
        """
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stopped.set()
            await asyncio.wait([work])
            raise

    def check(self) -> None:
        """Raise `StudyInterruptedError` if the study was asked to stop; call it in blocking code that takes long."""
        if self._stopped.is_set():
            raise StudyInterruptedError("The study was stopped; its measurements are stored", on=self.ledger.study_id)


class Procedure(ABC, Generic[U]):
    """How a kind of study measures one unit. One instance is created for each run."""

    async def begin(self, unit: U) -> str | None:
        """Prepare a unit before it is marked as running; return the session it will use, if any."""
        return None

    @abstractmethod
    async def measure(self, unit: U, session_id: str | None) -> UnitOutcome:
        """Measure the unit.

        An exception leaves the unit planned and stops the study. A failure of the measured subject is an outcome.
        """

    async def end(self, unit: U, session_id: str | None, outcome: UnitOutcome) -> None:
        """Clean up after a unit whose outcome is stored.

        Args:
            unit: The unit that was measured.
            session_id: The session that `begin` returned, if any.
            outcome: The stored outcome.
        """

    async def close(self) -> None:
        """Clean up after the last unit, also when the study is stopped."""


class Study(ABC, Generic[U, R]):
    """A planned series of measurements; each outcome is stored at once, so a study can be stopped and resumed.

    The whole plan is stored before the first unit, each unit is marked as running before anything is sent, and its
    outcome is stored as soon as it is known. One process at a time holds the lease on a study. A kind of study defines
    its plan (`planned`), how a unit is measured (`procedure`) and how its result is read (`result`).

    Args:
        store: The store with the study.
        study_id: Id of a stored study to resume, or of the new one.
    """

    kind: ClassVar[str]
    """Kind of study in words, such as "latency"."""
    result_type: type[R]
    """The kind of result that `result` reads from the store."""
    design: Any
    """The settings of the study: a dataclass with `stored()`, and with `read(stored)` for `use_stored_design`."""

    def __init__(self, store: Store, study_id: str | None = None) -> None:
        self.store = store
        self.study_id = study_id or new_id(self.kind)

    @property
    def title(self) -> str:
        """Heading of the progress bar."""
        return ""

    @property
    def colours(self) -> Mapping[str, str]:
        """CSS colours of the conditions, in the order in which progress lists them."""
        return {}

    @property
    @abstractmethod
    def how_to_resume(self) -> str:
        """Python code that opens the stored study, shown in messages."""

    @abstractmethod
    def header(self) -> StudyRow:
        """Return the row to store for the study."""

    @abstractmethod
    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the units in the order in which they are measured."""

    def units(self) -> Sequence[U]:
        """Read the units from the store."""
        return cast("Sequence[U]", self.result().units)

    @abstractmethod
    def condition(self, unit: U) -> str:
        """Return the name under which progress counts the unit."""

    @abstractmethod
    async def procedure(self, run: StudyRun) -> Procedure[U]:
        """Return the procedure that measures the units of this run."""

    def result(self) -> R:
        """Return the result from the measurements stored so far; nothing is measured."""
        return self.result_type.load(self.store, self.study_id)

    def use_stored_design(self, **subject: Any) -> Self:
        """Replace the design with that of the stored study, and return this study, which `run()` then resumes.

        Args:
            subject: Settings that identify the measured subject and keep their values; if they differ from the stored
                ones, running the study fails.

        Raises:
            StudyError: No study with this id is stored, or this release cannot run its design.
        """
        design = self.design.read(StudyLedger(self.store, self.study_id).stored.design)
        self.design = replace(design, **subject)
        return self

    def row(self, **fields: Any) -> StudyRow:
        """Return the row to store for the study, for `header`.

        Args:
            fields: The row's `scope`, `agent_arn`, `agent_name`, `labels` and `environment`.
        """
        from loomlib.store import StudyRow

        return StudyRow(id=self.study_id, design=self.design.stored(), created_at=datetime.now(UTC), **fields)

    def unreachable(self, name: str, *, what: str = "agent") -> StudyInterruptedError:
        """Return the error that ends the study when the service behind its subject accepts no connections.

        Continuing would only count refused connections as failures of the subject.

        Args:
            name: The subject's name.
            what: What it is, such as "gateways".
        """
        return StudyInterruptedError(
            f"The service behind the {what} no longer accepts connections; the study's measurements are stored",
            on=f"{name}, study {self.study_id}",
            try_=f"start the service again, then {self.how_to_resume}.run()",
        )

    def check(self, stored: StudyRow) -> None:
        """Raise `StudyError` when the stored study has a different subject."""

    def stored_outcome(self, unit: U) -> UnitOutcome | None:
        """Return the outcome of a unit that a killed process left running, if it is stored elsewhere."""
        return None

    def for_workers(self) -> WorkerReference:
        """Return how a worker of a Dask cluster creates this study; by default a kind of study is not distributed.

        Raises:
            StudyError: This study cannot be measured by several workers.
        """
        raise StudyError(
            f"A {self.kind} study must be run by one process", on=self.study_id, try_='run it without runner="dask"'
        )

    def chain(self, unit: U) -> str:
        """Return the name of a unit's chain: on a cluster, one worker measures a chain's units in their order.

        Args:
            unit: A unit; by default each unit is its own chain.
        """
        return str(unit.position)

    def enough(self, unit: U) -> str | None:
        """Return why no more measurements are needed, None to continue; called before each unit.

        The result must depend only on the stored units before this one, so that a resumed study stops at the same unit.

        Args:
            unit: The next unit of the plan.
        """
        return None

    async def finish(self, run: StudyRun) -> None:
        """Collect late data, such as logs and traces. Running a completed study again calls this again."""

    async def clean_up(self, run: StudyRun) -> None:
        """Delete the resources that the study created, after it is complete."""

    def run(
        self,
        progress: Progress[Any] | None = None,
        *,
        budget_s: float | None = None,
        runner: str = PROCESS,
        dask: DaskCluster | str | None = None,
    ) -> R:
        """Measure the pending units and return the result. Works in scripts and in notebooks.

        Args:
            progress: Shows the study's progress; by default a bar in a notebook, log lines elsewhere.
            budget_s: Stop after this many seconds; running the study again resumes it.
            runner: "process" measures in this process, one unit at a time; "dask" on the workers of a Dask cluster, as
                many units at once as they have threads. Each can resume the other's studies.
            dask: The scheduler's address, such as "tcp://host:8786", or a `DaskCluster`; it implies the runner "dask".

        Raises:
            ClusterError: The Dask cluster cannot be reached, or cannot do the work.
            StudyInterruptedError: The service can no longer be reached, or the budget is used up.
            StudyError: Another process runs this study, or the stored study with this id differs.
        """
        return self._thread(progress, budget_s, chosen_cluster(runner, dask)).wait()

    async def arun(
        self,
        progress: Progress[Any] | None = None,
        *,
        budget_s: float | None = None,
        runner: str = PROCESS,
        dask: DaskCluster | str | None = None,
    ) -> R:
        """Run the study from asynchronous code; see `run`.

        Args:
            progress: Shows how far the study is.
            budget_s: Stop after this many seconds.
            runner: "process" or "dask".
            dask: The scheduler's address, or a `DaskCluster`.
        """
        return await self._thread(progress, budget_s, chosen_cluster(runner, dask)).wait_async()

    def _thread(
        self, progress: Progress[Any] | None, budget_s: float | None, cluster: DaskCluster | None
    ) -> OwnThread[ProgressSnapshot, R]:
        return OwnThread(
            lambda report: self._run(report, budget_s, cluster),
            progress or choose_progress(self.title, logger=f"loomlib.{type(self).__module__.split('.')[1]}"),
            name="loom-study",
            interrupted=lambda: StudyInterruptedError(
                "The study was stopped; its measurements are stored",
                on=self.study_id,
                try_=f"{self.how_to_resume}.run()",
            ),
        )

    async def _run(
        self, report: Callable[[ProgressSnapshot], None], budget_s: float | None, cluster: DaskCluster | None
    ) -> R:
        if cluster is not None:
            self.for_workers()  # raises before anything is stored if workers cannot measure the study
        ledger = StudyLedger(self.store, self.study_id)
        stored = ledger.open(self.header(), self.planned(), resume=self.how_to_resume)
        self.check(stored)
        async with ledger.leased():
            self.store.invocations.abandon_stale()
            ledger.settle(self.units(), self.stored_outcome)
            units = self.units()
            counts = Counter(map(self.condition, units))
            planned = {name: counts[name] for name in (*self.colours, *counts) if counts[name]}
            snapshot = StudySnapshot(title=f"{self.kind} study", done={}, planned=planned, colours=self.colours)
            run = StudyRun(ledger, ProgressCounter(snapshot, report))
            for unit in units:
                if not unit.is_pending:
                    run.count(self.condition(unit), failed=unit.is_failed)
            if stored.state == COMPLETE:
                await self.finish(run)
            else:
                ledger.save(RUNNING_STATE, client=describe_client())
                run.report()
                pending = [unit for unit in units if unit.is_pending]
                if cluster is None:
                    await self._measure(pending, run, budget_s)
                elif pending:
                    check = partial(self._check_budget, run, budget_s)
                    await measure_on_cluster(self, pending, run, cluster, check)
                await self.finish(run)
                ledger.check_lease()
                ledger.save(COMPLETE, finished=True)
            await self.clean_up(run)
            run.report()
        return self.result()

    async def _measure(self, pending: Sequence[U], run: StudyRun, budget_s: float | None) -> None:
        procedure = await self.procedure(run)
        async with run.ledger.recorded_machine(is_measured=bool(pending)) as record:
            try:
                for unit in pending:
                    self._check_budget(run, budget_s)
                    if (reason := self.enough(unit)) is not None:
                        run.ledger.save(RUNNING_STATE, stopped=reason)
                        break
                    await self._measure_unit(unit, procedure, run)
                    run.report()
                    record.save_when_due()
            finally:
                # Also when cancelled: a session that stays open keeps an agent running until its idle timeout.
                await asyncio.shield(procedure.close())

    def _check_budget(self, run: StudyRun, budget_s: float | None) -> None:
        if budget_s is not None and run.elapsed_s >= budget_s:
            raise StudyInterruptedError(
                f"The study's budget of {seconds(budget_s)} is used up; its measurements are stored",
                on=self.study_id,
                try_=f"{self.how_to_resume}.run()",
            )

    async def _measure_unit(self, unit: U, procedure: Procedure[U], run: StudyRun) -> None:
        session_id = await procedure.begin(unit)
        if not run.ledger.claim(unit, session_id):
            return
        try:
            outcome = await procedure.measure(unit, session_id)
        except BaseException:
            # Cancelled, or nothing could be sent (a full disk, no credentials): nobody saw an outcome. When that cannot
            # be written either, the row stays "running", which the next run settles just the same. When the lease was
            # lost, the row is another process's.
            with suppress(StoreError):
                run.ledger.check_lease()
                run.ledger.release(unit)
            raise
        run.ledger.record(unit, outcome)
        run.count(self.condition(unit), failed=outcome.failure is not None)
        if outcome.stop is not None:
            raise outcome.stop
        await procedure.end(unit, session_id, outcome)
