"""The task of a Dask worker in a study: claim units in the shared store, measure them, and return their outcomes."""

from __future__ import annotations

import json
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from loomlib.errors import StoreError, StudyError, StudyInterruptedError
from loomlib.jobs.dask import check_release, refused, resolve_reference, run_on_worker, worker_name

from .ledger import StudyLedger
from .progress import ProgressCounter, StudySnapshot
from .run_ledger import RUNNING_STATE
from .study import Study, StudyRun

if TYPE_CHECKING:
    from loomlib.store import StudyRow

_making = threading.Lock()


def measure_units(job: str, positions: str) -> str:
    """Measure units one after another, and return their outcomes; the process that runs the study stores them.

    Each unit is claimed in the store before anything is sent. Measuring ends early at a unit that is no longer planned:
    the worker that claimed it was killed, or the study was stopped.

    Args:
        job: JSON of `cluster_units.job_text`, the same for all tasks of a study.
        positions: JSON list of the positions of the units.

    Returns:
        JSON with the `outcomes`, a list of objects with their `position`, and the `worker`'s name; or JSON that says
        why it `refused`.
    """
    try:
        with _making:
            study = _study(job)
        outcomes = run_on_worker(_measure(study, json.loads(positions)))
    except Exception as error:  # noqa: BLE001 - every error that ends the study is reported with this worker's name
        return refused(error)
    return json.dumps({"worker": worker_name(), "outcomes": outcomes})


async def _measure(study: Study[Any, Any], positions: list[int]) -> list[dict[str, Any]]:
    ledger = StudyLedger(study.store, study.study_id)
    silent = ProgressCounter(StudySnapshot(title="", done={}, planned={}, colours={}), _drop)
    procedure = await study.procedure(StudyRun(ledger, silent))
    units = {unit.position: unit for unit in study.units()}
    outcomes: list[dict[str, Any]] = []
    try:
        for position in positions:
            unit = units[position]
            if ledger.stored.state != RUNNING_STATE:
                break
            session_id = await procedure.begin(unit)
            if not ledger.claim(unit, session_id):
                break
            try:
                outcome = await procedure.measure(unit, session_id)
            except BaseException:
                ledger.release(unit)  # no outcome was observed
                raise
            stop = outcome.stop
            outcomes.append(
                {
                    "position": position,
                    "failure": outcome.failure,
                    "values": dict(outcome.values),
                    "details": dict(outcome.details),
                    "stop": None if stop is None else {"what": stop.what, "on": stop.on, "try_": stop.try_},
                }
            )
            if stop is not None:
                break
            await procedure.end(unit, session_id, outcome)
    except StudyInterruptedError as error:
        stop_of = {"what": error.what, "on": error.on, "try_": error.try_}
        outcomes.append({"position": None, "stop": stop_of})
    finally:
        await procedure.close()
    return outcomes


def _drop(_snapshot: object) -> None:
    """Discard the progress: the process that runs the study reports it."""


@lru_cache(maxsize=16)
def _study(job: str) -> Study[Any, Any]:
    values = json.loads(job)
    check_release(values["release"])
    try:
        study: Study[Any, Any] = resolve_reference(values["study"])
        stored: StudyRow | None = study.store.studies.get(study.study_id)
    except StudyError as error:
        raise _other_database(values["study_id"]) from error
    except StoreError:
        raise
    if stored is None:
        raise _other_database(values["study_id"])
    return study


def _other_database(study_id: str) -> StudyError:
    return StudyError(
        "The worker's database does not have the study",
        on=f"{study_id} on worker {worker_name()}",
        try_="the same DATABASE_URL (or, on one machine, the same LOOM_HOME) in the worker's environment",
    )
