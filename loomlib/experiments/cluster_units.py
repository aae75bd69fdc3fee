"""Measure the units of a study by the workers of a Dask cluster. This process alone stores their outcomes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.jobs.dask import ClusterConnection, Reference, Refusal, found, loom_release

from .units import MeasuredUnit, UnitOutcome

U = TypeVar("U", bound=MeasuredUnit)

_TASK: Final = "loomlib.experiments.worker_units:measure_units"
"""The worker's module imports the study's, which imports this one."""


class UnitsOnCluster(Generic[U]):
    """Gives the chains of units of a study to workers, and their outcomes to the study.

    Args:
        connection: The connection to the cluster.
        job: What the workers need to know of the study, from `job_text`.
        study_id: The study.
        settle: Decides the state of units that a killed worker left running, by their positions, and returns those
            that are still to be measured.
        record: Stores an outcome.
    """

    def __init__(
        self,
        connection: ClusterConnection,
        job: str,
        study_id: str,
        *,
        settle: Callable[[Sequence[int]], Sequence[int]],
        record: Callable[[int, UnitOutcome], None],
    ) -> None:
        self._connection, self._job, self._study_id = connection, job, study_id
        self._settle, self._record = settle, record
        self._measure: Callable[..., str] = found(_TASK)

    async def measure(self, chains: Sequence[Sequence[U]], check: Callable[[], None]) -> None:
        """Measure chains, several at once; each chain by one worker in its order.

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
                self._measure, self._job, json.dumps(list(positions)), name=f"measure-{self._study_id}"
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
            # What is left was claimed by a worker that was killed: Dask gave its task to this one.
            left = [position for position in positions if position not in measured]
            positions = self._settle(left) if left else ()


def _outcome(values: Mapping[str, Any], worker: str, stop: StudyInterruptedError | None) -> UnitOutcome:
    return UnitOutcome(
        failure=values["failure"],
        values=values["values"],
        details={**values["details"], "worker": worker},
        stop=stop,
    )


def job_text(study: Reference, study_id: str) -> str:
    """Return what workers need to know of a study, as JSON without secrets.

    Args:
        study: How a worker makes the study.
        study_id: The study.
    """
    return json.dumps({"release": loom_release(), "study": study.stored(), "study_id": study_id})


def chains_of(units: Sequence[U], chain: Callable[[U], str]) -> list[list[U]]:
    """Group units by their chain, in the order in which the chains begin.

    Args:
        units: The units in the order of the plan.
        chain: Returns a unit's chain.
    """
    chains: dict[str, list[U]] = {}
    for unit in units:
        chains.setdefault(chain(unit), []).append(unit)
    return list(chains.values())
