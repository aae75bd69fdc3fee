"""Find in the logs when the agent started each call; runs after the last call."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from loomlib.errors import LoomError
from loomlib.experiments import StudyLedger

from .measured_agent import MeasuredAgent
from .measurements import FOUND, NO_LOGS, NO_START_LINE, NOT_FOUND_YET, Measurement
from .scenarios import Scenario

_AT_ONCE = 8
_SETTLED = (FOUND, NO_START_LINE)


def to_search(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the answered calls whose start is not known yet.

    Cold calls come first, because their start is the measurement; then warm ones, which bound how far the clocks
    disagree and are what a cold start is compared with.
    """
    return [
        call
        for scenario in (Scenario.COLD, Scenario.WARM)
        for call in measurements
        if call.scenario is scenario and call.is_done and call.start_state not in _SETTLED
        if call.invocation_id is not None
    ]


async def find_starts(
    agent: MeasuredAgent,
    ledger: StudyLedger,
    measurements: Sequence[Measurement],
    *,
    deadline_s: float,
    report: Callable[[int, int], None],
) -> None:
    """Search the logs for every unknown start time, and store each result once.

    Args:
        agent: The agent.
        ledger: The ledger in which the answers are stored.
        measurements: The study's calls.
        deadline_s: Limit of all searches together, in seconds. What is not found by then is stored as "not_found_yet";
            running the study again searches again.
        report: Called with the number of ended searches and the number of all searches.
    """
    calls = to_search(measurements)
    until = time.monotonic() + deadline_s
    slots = asyncio.Semaphore(_AT_ONCE)
    searches = {asyncio.create_task(_search_on_thread(agent, call, slots)): call for call in calls}
    pending = set(searches)
    try:
        while pending and (left_s := until - time.monotonic()) > 0:
            done, pending = await asyncio.wait(pending, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            for search in done:
                state, latency_ms = search.result()
                ledger.amend(searches[search].position, start_state=state, cold_start_latency_ms=latency_ms)
            report(len(calls) - len(pending), len(calls))
        for search in pending:
            ledger.amend(searches[search].position, start_state=NOT_FOUND_YET)
    finally:
        for search in pending:
            search.cancel()


async def _search_on_thread(
    agent: MeasuredAgent, call: Measurement, slots: asyncio.Semaphore
) -> tuple[str, float | None]:
    """Search on a daemon thread, which can be abandoned when it is still polling at the deadline.

    A pool's threads would be waited for when the interpreter ends, a minute each.
    """
    async with slots:
        outcome: Future[tuple[str, float | None]] = Future()
        outcome.set_running_or_notify_cancel()  # from here on a cancelled study cannot cancel it under the thread

        def search() -> None:
            try:
                start = _search(agent, call)
            except Exception as error:  # noqa: BLE001 - a foreign agent's; carried over to the study's thread
                outcome.set_exception(error)
            else:
                outcome.set_result(start)

        threading.Thread(target=search, name="loom-start-search", daemon=True).start()
        return await asyncio.wrap_future(outcome)


def _search(agent: MeasuredAgent, call: Measurement) -> tuple[str, float | None]:
    assert call.invocation_id is not None
    try:
        start = agent.agent_start(call.invocation_id)
    except LoomError:
        # Logs that cannot be read (a missing permission, a broken connection) leave the start unknown, not the study.
        return NO_LOGS, None
    return start.state, start.cold_start_latency_ms
