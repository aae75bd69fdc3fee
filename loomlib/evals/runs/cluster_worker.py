"""The task of a Dask worker in an evaluation: send cases to the target and return the answers; nothing is stored."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

from loomlib.errors import EvalError
from loomlib.jobs.dask import check_release, refused, resolve_reference, run_on_worker, worker_name

from ..targets import Target
from ..values.canonical import case_from_text
from .asking import Asker
from .stored_rows import writable_row

_making = threading.Lock()


def ask_cases(job: str, units: str) -> str:
    """Run cases concurrently and return their answers.

    Args:
        job: JSON of `cluster_asking.job_text`, the same for all tasks of a run.
        units: JSON list of `[case, repeat, attempts]` with the case's canonical text.

    Returns:
        JSON with the `answers`, as rows in the order of `units`, and the `worker`'s name; or JSON that says why it
        `refused`.
    """
    try:
        with _making:
            asker = _asker(job)
    except Exception as error:  # noqa: BLE001 - a user's module or this worker's configuration
        return refused(error)
    rows = run_on_worker(_ask(asker, json.loads(units)))
    return json.dumps({"worker": worker_name(), "answers": rows})


async def end_sessions(job: str) -> None:
    """Wait until this worker has ended its sessions of a run.

    Args:
        job: JSON of `cluster_asking.job_text`.
    """
    await asyncio.to_thread(_end_sessions, job)


def _end_sessions(job: str) -> None:
    # Without an asker, no session was started; a raised error would appear in Dask's log together with the job.
    with suppress(Exception):
        with _making:
            asker = _asker(job)
        run_on_worker(asker.finish())


async def _ask(asker: Asker, units: list[tuple[str, int, int]]) -> list[Any]:
    cases = [(case_from_text(text), repeat, attempts) for text, repeat, attempts in units]
    answers = await asyncio.gather(*(asker.ask(case, repeat, attempts=attempts) for case, repeat, attempts in cases))
    return [writable_row(answer, None) for answer in answers]


@lru_cache(maxsize=16)
def _asker(job: str) -> Asker:
    values = json.loads(job)
    check_release(values["release"])
    target: Target = resolve_reference(values["target"])
    if target.key != values["key"]:
        raise EvalError(
            "The worker sees another version of the target than the run",
            on=f"{target.key or 'no key'} instead of {values['key'] or 'no key'}",
            try_="let the worker use the same environment and credentials, or start a new run after a deployment",
        )
    store = getattr(target, "store", None)
    if store is not None and store.eval_runs.get(values["run_id"]) is None:
        raise EvalError(
            "The worker uses another database than the run",
            on=f"{store.url} on worker {worker_name()}",
            try_="the same DATABASE_URL (or, on one machine, the same LOOM_HOME) in the worker's environment",
        )
    return Asker(target, timeout_s=values["timeout_s"], retries=values["retries"])
