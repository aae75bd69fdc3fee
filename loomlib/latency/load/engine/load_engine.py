"""The load engine: makes the calls of a step in its own processes, and continues an interrupted step."""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from loomlib.aws.load_client import Ended, write_plan
from loomlib.errors import StudyError
from loomlib.wall_clock import unix_lead_ns

from ..calls import LoadCall, OfferedCall
from .authorization import Authorization
from .division import divide, planned
from .journals import PATTERN, Journals, next_number
from .processes import LoadProcess
from .results import LoadStep, StoredCalls, load_call
from .step_file import begin_step, note_origin, read_origins
from .targets import LoadTarget

_LEAD_NS: Final = 20_000_000
"""From the start command to the step's start, so that every process has read it."""

_POLL_S: Final = 0.1
_RENEW_S: Final = 60.0
_DRAIN_S: Final = 5.0
_LOCK_LIMIT_S: Final = 15.0
_SESSION: Final = re.compile(r"[!-~]{1,256}")


class LoadEngine:
    """Makes calls at their times, with one process for each core, and stores the outcome of each as it ends.

    A call is journaled before it is sent and when it has ended. When this process or one of its own is killed, `run`
    with the same folder and step continues: calls whose end is unknown are "interrupted", and only those that were
    never sent are made.

    Examples:
        >>> engine = LoadEngine(LoadTarget.http("http://127.0.0.1:8080"), folder=Path("load"), timeout_s=60.0)

    Args:
        target: Where the requests go.
        processes: Number of processes that make the calls; one for each core of this machine by default.
        folder: The folder of the journals, with one subfolder for each step. Results are stored only there.
        timeout_s: Seconds from sending a request until its response must be complete.
        keep_arrivals: Whether the time of every read of a response is kept (`LoadCall.arrivals_s`).
    """

    def __init__(
        self,
        target: LoadTarget,
        *,
        processes: int | None = None,
        folder: Path,
        timeout_s: float,
        keep_arrivals: bool = False,
    ) -> None:
        if processes is not None and processes < 1:
            raise ValueError("processes must be 1 or more")
        if timeout_s <= 0:
            raise ValueError("timeout_s must be above 0")
        self._target, self._folder = target, folder
        self._processes = processes or len(os.sched_getaffinity(0))
        self._timeout_s, self._keep_arrivals = timeout_s, keep_arrivals

    def run(
        self,
        calls: Sequence[OfferedCall],
        *,
        step: str,
        on_call: Callable[[LoadCall], None] | None = None,
        on_start: Callable[[], None] | None = None,
        stop: threading.Event | None = None,
    ) -> LoadStep:
        """Make the calls of a step, or those of an interrupted step that were never sent.

        Args:
            calls: The calls; their indexes are 0 to the number of calls - 1.
            step: The step's name, the name of its folder.
            on_call: Called with each call that ends, some 100 ms later, in the thread of this call.
            on_start: Called when all processes are ready and the step starts in all of them; not when no call is left.
            stop: When it is set, no more calls are sent; those that have been sent may end for 5 seconds more. The
                remaining ones are "not_sent", and made when the step is run again.

        Raises:
            StudyInterruptedError: A process of the engine ended; running the step again continues it.
            StudyError: The folder has another step of this name, or another process is running it.
        """
        _check(calls, step)
        folder = self._folder / step
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder) as lock:
            started_at = begin_step(folder, calls)
            journals = Journals(folder, len(calls))
            journals.poll()
            pending = [number for number, call in enumerate(calls) if not journals.was_sent(call.index)]
            parts = divide(calls, pending, self._processes)
            if parts and not (stop is not None and stop.is_set()):
                self._make(calls, parts, folder, journals, lock, on_call, on_start, stop, started_at)
        unsent = {
            call.index: (call.session_id, call.at_s or 0.0)
            for call in (calls[number] for number in pending)
            if not journals.was_sent(call.index)
        }
        return LoadStep(
            calls=StoredCalls(journals, len(calls), unsent),
            cpu_s=journals.cpu_ns / 1e9,
            started_at=started_at,
            processes=len(parts),
            origins=read_origins(folder),
            rss_mb=journals.rss_kb / 1e3,
        )

    def _make(
        self,
        calls: Sequence[OfferedCall],
        parts: Sequence[Sequence[int]],
        folder: Path,
        journals: Journals,
        lock: int,
        on_call: Callable[[LoadCall], None] | None,
        on_start: Callable[[], None] | None,
        stop: threading.Event | None,
        started_at: datetime,
    ) -> None:
        def report(ended: Ended) -> None:
            if on_call is not None:
                on_call(load_call(ended))

        first = next_number(folder)
        base_ns = _base_ns(calls, parts, journals)
        with ExitStack() as stack:
            authorization = Authorization(self._target)
            stack.callback(authorization.close)
            form = authorization.form(
                timeout_s=self._timeout_s,
                keep_arrivals=self._keep_arrivals,
                traces_since_s=int(started_at.timestamp()),
            )
            secrets = authorization.secrets()
            processes: list[LoadProcess] = []
            for number, part in enumerate(parts):
                with write_plan(planned(calls, part), folder) as plan:
                    begin = {
                        "parent": os.getpid(),
                        "form": form.members(),
                        "secrets": secrets,
                        "journal": str(folder.absolute() / PATTERN.replace("*", f"{first + number:05d}")),
                        "plan": plan.fileno(),
                        "base_ns": base_ns,
                    }
                    # Every process holds the lock, so that the step cannot be continued while one of them still sends.
                    process = LoadProcess(begin, (plan.fileno(), lock))
                stack.callback(process.close)
                processes.append(process)
            for process in processes:
                process.wait_until_ready()
            origin_ns = time.perf_counter_ns() + _LEAD_NS - base_ns
            note_origin(folder, base_ns=base_ns, unix_ns=origin_ns + unix_lead_ns(time.perf_counter_ns))
            for process in processes:
                process.tell({"start": origin_ns})
            if on_start is not None:
                on_start()
            _attend(processes, authorization, secrets, journals, report if on_call is not None else None, stop)
            journals.poll(report if on_call is not None else None)
            if failed := [process for process in processes if process.has_failed]:
                raise failed[0].failure()


def _attend(
    processes: Sequence[LoadProcess],
    authorization: Authorization,
    secrets: dict[str, Any],
    journals: Journals,
    report: Callable[[Ended], None] | None,
    stop: threading.Event | None,
) -> None:
    """Wait until all processes have ended or one has failed; pass on the stop and renewed credentials."""
    renewed_s = time.monotonic()
    stopped_s: float | None = None
    while any(process.is_alive for process in processes):
        if any(process.has_failed for process in processes):
            # Calls that the others have sent may end: a call that is cut off here says nothing about the agent.
            for command in ("stop", "cancel"):
                for process in processes:
                    process.tell({command: True})
                until_s = time.monotonic() + _DRAIN_S
                for process in processes:
                    process.wait(max(0.0, until_s - time.monotonic()))
            return
        if stop is not None and stop.is_set():
            now_s = time.monotonic()
            command = "stop" if stopped_s is None else "cancel" if now_s - stopped_s > _DRAIN_S else ""
            stopped_s = stopped_s or now_s
            if command:
                for process in processes:
                    process.tell({command: True})
        if time.monotonic() - renewed_s > _RENEW_S:
            renewed_s = time.monotonic()
            if (new := authorization.secrets()) != secrets:
                secrets = new
                for process in processes:
                    process.tell({"secrets": new})
        if report is not None:
            journals.poll(report)
        next(process for process in processes if process.is_alive or process is processes[-1]).wait(_POLL_S)


def _base_ns(calls: Sequence[OfferedCall], parts: Sequence[Sequence[int]], journals: Journals) -> int:
    """Return the time on the step's scale at which this run begins.

    A continued step begins at the first start that was missed, or where a closed loop was interrupted, so that no time
    includes the pause between the runs.
    """
    if journals.latest_ns == 0:
        return 0
    starts = [call.at_s for part in parts for call in (calls[number] for number in part) if call.at_s is not None]
    return round(min(starts) * 1e9) if starts else journals.latest_ns


def _check(calls: Sequence[OfferedCall], step: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", step):
        raise ValueError("step must consist of letters, digits, dots, hyphens and underscores")
    used_indexes = bytearray(len(calls))
    for call in calls:
        if call.index >= len(calls) or used_indexes[call.index]:
            raise ValueError(f"the indexes of the calls must be 0 to {len(calls) - 1}, each once; not {call.index}")
        used_indexes[call.index] = 1
        if not _SESSION.fullmatch(call.session_id):
            raise ValueError(f"a session id must have 1 to 256 printable characters without spaces: call {call.index}")


@contextmanager
def _locked(folder: Path) -> Generator[int]:
    """Hold the step's lock; the processes of a killed run hold it until they have ended."""
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until_s = time.monotonic() + _LOCK_LIMIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until_s:
                    raise StudyError(
                        "Another process is running this load step", on=str(folder), try_="wait until it has ended"
                    ) from error
                time.sleep(0.02)
        yield file
    finally:
        os.close(file)
