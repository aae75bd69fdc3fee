"""When the agents of a study's calls started, asked of the logs after the last call, with a deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loomlib.errors import LoomError

from .measurements import Measurement
from .scenarios import Scenario

if TYPE_CHECKING:
    from .ledger import Ledger
    from .ports import FoundStart, MeasuredAgent

FOUND, NO_START_LINE, NOT_FOUND_YET, NO_LOGS = "found", "no_start_line", "not_found_yet", "no_logs"

_AT_ONCE = 8
_SETTLED = (FOUND, NO_START_LINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFoundYet:
    """The search ended by our own deadline, not by the logs: asking again later may find the line."""

    state: str = NOT_FOUND_YET
    cold_start_latency_ms: float | None = None


def to_ask(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The calls whose start is asked for: answered ones that nobody has found yet.

    Cold calls first, because their start is the measurement; then warm ones, which bound how far the clocks disagree
    and are what a cold start is compared with.
    """
    wanted = [
        each
        for scenario in (Scenario.COLD, Scenario.WARM)
        for each in measurements
        if each.scenario is scenario and each.is_done and each.start_state not in _SETTLED
    ]
    return [each for each in wanted if each.invocation_id is not None]


async def find_starts(
    agent: MeasuredAgent, ledger: Ledger, *, deadline_s: float, told: Callable[[int, int], None]
) -> None:
    """Ask for every start that is still unknown and store each answer once; `told` gets how many of how many.

    Each search polls by the agent's own settings. What is not found within `deadline_s` seconds in all is stored as
    "not_found_yet", which asking again (running the study again) can turn into a found one.
    """
    wanted = to_ask(ledger.measurements())
    until = time.monotonic() + deadline_s
    turn = asyncio.Semaphore(_AT_ONCE)
    searches = {asyncio.create_task(_search_apart(agent, each, turn)): each for each in wanted}
    pending = set(searches)
    try:
        while pending and (left := until - time.monotonic()) > 0:
            done, pending = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            for search in done:
                ledger.note_start(searches[search], search.result())
            told(len(wanted) - len(pending), len(wanted))
        for search in pending:
            ledger.note_start(searches[search], NotFoundYet())
    finally:
        for search in pending:
            search.cancel()


async def _search_apart(agent: MeasuredAgent, measurement: Measurement, turn: asyncio.Semaphore) -> FoundStart:
    """The search on a daemon thread: one that sleeps between its looks is left behind at the deadline.

    A pool's threads would be waited for when the interpreter ends, a minute each.
    """
    async with turn:
        outcome: Future[FoundStart] = Future()
        outcome.set_running_or_notify_cancel()  # from here on a cancelled study cannot cancel it under the thread

        def search() -> None:
            try:
                found = _search(agent, measurement)
            except Exception as error:  # noqa: BLE001 - a foreign agent's; carried over to the study's thread
                outcome.set_exception(error)
            else:
                outcome.set_result(found)

        threading.Thread(target=search, name="loom-start-search", daemon=True).start()
        return await asyncio.wrap_future(outcome)


def _search(agent: MeasuredAgent, measurement: Measurement) -> FoundStart:
    assert measurement.invocation_id is not None
    try:
        return agent.agent_start(measurement.invocation_id)
    except LoomError:
        # Logs that cannot be read (a missing permission, a broken connection) leave the start unknown, not the study.
        return NotFoundYet(state=NO_LOGS)
