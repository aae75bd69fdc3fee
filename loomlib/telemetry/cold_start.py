"""Cold-start latency: from sending the request to the agent's start line in its log.

Cold-start latency = (agent start − request sent) × 1000 ms. The two times come from two clocks, so the result carries a
bound of their difference.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from loomlib.presentation.formats import milliseconds
from loomlib.presentation.html import view
from loomlib.store import Store

from .clock_skew import SkewBound
from .logs import LogReader
from .sources import RuntimeSource
from .start_search import StartSearch

START_STATES: Final = ("found", "no_start_line", "not_found_yet", "no_logs")
"""How a search ended.

`found`; `no_start_line`: the session's lines have no start line, or the request never reached the agent;
`not_found_yet`: no line of the session within the time allowed; `no_logs`: the endpoint has no log group.
"""

_UNKNOWN: Final = {
    "no_start_line": (
        "The agent's log has no start line, so its cold-start latency is unknown. "
        "Have its entrypoint print this as its first line: Agent invoked - Start time: <ISO time>"
    ),
    "not_found_yet": "No log line of this session has arrived yet. Logs can be minutes late: try again later.",
    "no_logs": "The endpoint has no log group yet, so the agent's start time is unknown.",
}

LookupProgress: TypeAlias = Callable[[int, int, int], None]
"""Called after each lookup with its number, the number of lookups, and how many log lines of the session there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart:
    """When an agent began to process one invocation, or why that is unknown.

    Attributes:
        state: One of `START_STATES`.
        start_time: When the agent started, on its own clock.
        cold_start_latency_ms: The raw difference of the two clocks; with `clocks_disagree` it is not a latency and may
            be negative: use `low_ms` and `high_ms`, which enclose the true value.
        skew: The bound of the clocks' difference.
        log_events_found: How many log lines of the session were found.
    """

    state: str
    start_time: datetime | None = None
    cold_start_latency_ms: float | None = None
    skew: SkewBound | None = None
    log_events_found: int = 0

    def __post_init__(self) -> None:
        if self.state not in START_STATES:
            raise ValueError(f"the state of a search is one of {', '.join(START_STATES)}, not {self.state!r}")
        if (self.state == "found") != (self.start_time is not None):
            raise ValueError("start_time must be given exactly when the state is found")

    @property
    def clocks_disagree(self) -> bool:
        """Whether the agent's clock certainly differs from the client's."""
        return self.skew is not None and self.skew.clocks_disagree

    @property
    def low_ms(self) -> float | None:
        """Lower bound of the latency in milliseconds."""
        bounds = self._range()
        return None if bounds is None else bounds[0]

    @property
    def high_ms(self) -> float | None:
        """Upper bound of the latency in milliseconds."""
        bounds = self._range()
        return None if bounds is None else bounds[1]

    def sentence(self) -> str:
        """Return the outcome in one or two sentences."""
        if self.state != "found":
            return _UNKNOWN[self.state]
        if self.clocks_disagree and self.low_ms is not None and self.high_ms is not None:
            return (
                "The agent's clock and the client's disagree: the agent started between "
                f"{milliseconds(self.low_ms)} and {milliseconds(self.high_ms)} after the request was sent."
            )
        after = milliseconds(self.cold_start_latency_ms)
        return f"The agent started {after} after the request was sent, by its own clock."

    def _repr_html_(self) -> str:
        return str(view(self.sentence()))

    def _range(self) -> tuple[float, float] | None:
        if self.skew is None or self.cold_start_latency_ms is None:
            return None
        return self.skew.latency_range_ms(self.cold_start_latency_ms)


def find_agent_start(
    store: Store,
    reader: LogReader,
    source: RuntimeSource,
    invocation_id: int,
    *,
    attempts: int = 12,
    interval_s: float = 5.0,
    progress: LookupProgress | None = None,
) -> AgentStart:
    """Find when the agent started a stored invocation.

    A start that was found before is returned from the store. Otherwise the session's log is read once, and then up to
    `attempts` times more; the outcome is stored.

    Args:
        store: Holds the invocation.
        reader: Reads the log.
        source: The agent's runtime.
        invocation_id: The stored invocation.
        attempts: How often to retry.
        interval_s: Seconds between two lookups (12 × 5 s by specification).
        progress: Called after each lookup.

    Raises:
        LookupError: The store has no such invocation.
        AwsError: The log cannot be read (`AccessDeniedError` and so on).
    """
    search = StartSearch(store, reader, source, invocation_id)
    lookups = attempts + 1
    for lookup in range(1, lookups + 1):
        is_settled = search.lookup()
        if progress is not None:
            progress(lookup, lookups, search.log_events_found)
        if is_settled or lookup == lookups:
            break
        time.sleep(interval_s)
    return _outcome(search)


async def afind_agent_start(
    store: Store,
    reader: LogReader,
    source: RuntimeSource,
    invocation_id: int,
    *,
    attempts: int = 12,
    interval_s: float = 5.0,
    progress: LookupProgress | None = None,
) -> AgentStart:
    """Find when the agent started, as `find_agent_start`, without blocking the running event loop.

    Args:
        store: Holds the invocation.
        reader: Reads the log.
        source: The agent's runtime.
        invocation_id: The stored invocation.
        attempts: How often to retry.
        interval_s: Seconds between two lookups.
        progress: Called after each lookup.

    Raises:
        LookupError: The store has no such invocation.
        AwsError: The log cannot be read (`AccessDeniedError` and so on).
    """
    search = await asyncio.to_thread(StartSearch, store, reader, source, invocation_id)
    lookups = attempts + 1
    for lookup in range(1, lookups + 1):
        is_settled = await asyncio.to_thread(search.lookup)
        if progress is not None:
            progress(lookup, lookups, search.log_events_found)
        if is_settled or lookup == lookups:
            break
        await asyncio.sleep(interval_s)
    return await asyncio.to_thread(_outcome, search)


def _outcome(search: StartSearch) -> AgentStart:
    state = search.settle()
    if search.start is None:
        return AgentStart(state=state, log_events_found=search.log_events_found)
    return AgentStart(
        state="found",
        start_time=datetime.fromtimestamp(search.start, UTC),
        cold_start_latency_ms=search.latency_ms,
        skew=search.skew,
        log_events_found=search.log_events_found,
    )
