"""Measure the units of a study on the workers of a Dask cluster. Only this process stores their outcomes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.jobs.dask import ClusterConnection, DaskCluster, Refusal, WorkerReference, load_object, loom_release

from .ledger import StudyLedger
from .run_ledger import RUNNING_STATE
from .units import MeasuredUnit, UnitOutcome

U = TypeVar("U", bound=MeasuredUnit)

_TASK: Final = "loomlib.experiments.worker_units:measure_units"
"""The worker's module imports the study's, which imports this one."""


class DistributedStudy(Protocol[U]):
    """The part of `Study` that is needed for measuring on a cluster."""

    study_id: str

    def units(self) -> Sequence[U]:
        """Read the units from the store."""
        ...

    def condition(self, unit: U) -> str:
        """Return the name under which progress counts the unit."""
        ...

    def chain(self, unit: U) -> str:
        """Return the name of a unit's chain: units that one worker measures in the plan's order."""
        ...

    def for_workers(self) -> WorkerReference:
        """Return how a worker creates the study."""
        ...

    def stored_outcome(self, unit: U) -> UnitOutcome | None:
        """Return the outcome of a unit that a killed process left running, if it is stored elsewhere."""
        ...


class DistributedRun(Protocol):
    """The part of `StudyRun` that is needed for measuring on a cluster."""

    ledger: StudyLedger

    def count(self, condition: str, *, failed: bool) -> None:
        """Count a unit as measured or failed."""
        ...

    def report(self, stage: str = "") -> None:
        """Report the study's progress."""
        ...


async def measure_on_cluster(
    study: DistributedStudy[U],
    pending: Sequence[U],
    run: DistributedRun,
    cluster: DaskCluster,
    check: Callable[[], None],
) -> None:
    """Measure the pending units of a study on the workers of a cluster.

    Args:
        study: The study.
        pending: The units in the order of the plan.
        run: The study's run, which holds its lease.
        cluster: The cluster.
        check: Called before each chain of units; raises to stop the study.
    """
    job = job_text(study.for_workers(), study.study_id)
    async with (
        run.ledger.recorded_machine() as conditions,
        cluster.connected(at_once=None, report=run.report) as connection,
    ):
        run.ledger.save(RUNNING_STATE, dask={"workers": connection.workers, "threads": connection.threads})
        measuring = _UnitsOnCluster(study, run, connection, job, conditions.save_when_due)
        await measuring.measure(_chains(pending, study.chain), check)


class _UnitsOnCluster(Generic[U]):
    """Distributes chains of units to workers, and stores their outcomes.

    Args:
        study: The study.
        run: Its run.
        connection: The connection to the cluster.
        job: Description of the study for the workers.
        save_conditions: Stores the machine's conditions when a save is due.
    """

    def __init__(
        self,
        study: DistributedStudy[U],
        run: DistributedRun,
        connection: ClusterConnection,
        job: str,
        save_conditions: Callable[[], object],
    ) -> None:
        self._study, self._run, self._connection, self._job = study, run, connection, job
        self._save_conditions = save_conditions
        self._measure: Callable[..., str] = load_object(_TASK)

    async def measure(self, chains: Sequence[Sequence[U]], check: Callable[[], None]) -> None:
        """Measure several chains at once; one worker measures each chain in its order.

        Args:
            chains: The units.
            check: Called before each chain; raises to stop the study.
        """
        waiting = iter(chains)
        running: set[asyncio.Task[None]] = set()

        async def work() -> None:
            for chain in waiting:
                async with self._connection.slots:
                    check()
                    await self._chain([unit.position for unit in chain])

        try:
            running.update(asyncio.ensure_future(work()) for _ in range(min(len(chains), 1000)))
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    task.result()
        finally:
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running)

    async def _chain(self, positions: Sequence[int]) -> None:
        while positions:
            result = await self._connection.call(
                self._measure, self._job, json.dumps(list(positions)), name=f"measure-{self._study.study_id}"
            )
            if isinstance(result, Refusal):
                raise StudyError(result.what, on=f"worker {result.worker}: {result.on}", try_=result.try_)
            measured: set[int] = set()
            for values in result["outcomes"]:
                stop = None if values["stop"] is None else StudyInterruptedError(**values["stop"])
                if values["position"] is not None:
                    measured.add(values["position"])
                    self._record(values["position"], _outcome(values, result["worker"], stop))
                if stop is not None:
                    raise stop
            # The remaining units were claimed by a worker that was killed; Dask moved its task to this worker.
            remaining = [position for position in positions if position not in measured]
            positions = self._settle(remaining) if remaining else ()

    def _record(self, position: int, outcome: UnitOutcome) -> None:
        (unit,) = self._units([position])
        self._run.ledger.record(unit, outcome)
        self._run.count(self._study.condition(unit), failed=outcome.failure is not None)
        self._run.report()
        self._save_conditions()

    def _settle(self, positions: Sequence[int]) -> list[int]:
        """Decide the state of units that a killed worker left running; return the positions still to be measured."""
        self._run.ledger.check_lease()
        self._run.ledger.settle(self._units(positions), self._study.stored_outcome)
        settled = self._units(positions)
        for unit in settled:
            if not unit.is_pending:
                self._run.count(self._study.condition(unit), failed=unit.is_failed)
        return [unit.position for unit in settled if unit.is_pending]

    def _units(self, positions: Sequence[int]) -> list[U]:
        requested = set(positions)
        return [unit for unit in self._study.units() if unit.position in requested]


def _outcome(values: Mapping[str, Any], worker: str, stop: StudyInterruptedError | None) -> UnitOutcome:
    return UnitOutcome(
        failure=values["failure"],
        values=values["values"],
        details={**values["details"], "worker": worker},
        stop=stop,
    )


def job_text(study: WorkerReference, study_id: str) -> str:
    """Return the description of a study for workers, as JSON without secrets.

    Args:
        study: How a worker creates the study.
        study_id: The study.
    """
    return json.dumps({"release": loom_release(), "study": study.stored(), "study_id": study_id})


def _chains(units: Sequence[U], chain: Callable[[U], str]) -> list[list[U]]:
    """Group units by their chain, in the order in which the chains begin.

    Args:
        units: The units in the order of the plan.
        chain: Returns a unit's chain.
    """
    chains: dict[str, list[U]] = {}
    for unit in units:
        chains.setdefault(chain(unit), []).append(unit)
    return list(chains.values())
