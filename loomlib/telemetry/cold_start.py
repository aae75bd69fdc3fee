"""How long it took until the agent began: its start line in the logs, against the moment the request was sent.

The specification's definition: cold-start latency = (agent start − client invoke) × 1000 ms. The two times come from
two clocks, so the result carries a bound of their difference.
"""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from .clock_skew import SkewBound
from .start_search import StartSearch

if TYPE_CHECKING:
    from loomlib.store import Store

    from .logs import LogReader
    from .sources import RuntimeSource

START_STATES: Final = ("found", "no_start_line", "not_found_yet", "no_logs")
"""How a search ended: `found`; the session's lines are there but none is a start line (or the call never reached the
agent); no line of the session within the time allowed; the endpoint has no log group."""

_UNKNOWN: Final = {
    "no_start_line": (
        "The agent's log has no start line, so its cold-start latency is not known. "
        "Let it print first of all: Agent invoked - Start time: <ISO time>"
    ),
    "not_found_yet": "No log line of this session has arrived yet. Logs can be minutes late: ask again in a while.",
    "no_logs": "The endpoint has no log group yet, so the agent's start is not known.",
}

Progress: TypeAlias = Callable[[int, int, int], None]
"""Told after each look: how many looks, of how many, and how many log lines of the session there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart:
    """When an agent began one invocation, or why that is not known.

    `cold_start_latency_ms` is the raw difference of two clocks. `low_ms` and `high_ms` enclose the true value: they
    take off what `skew` allows. With `clocks_disagree` the raw value is no latency, and may be negative: use the range.
    """

    state: str
    start_time: datetime | None = None
    cold_start_latency_ms: float | None = None
    skew: SkewBound | None = None
    log_events_found: int = 0

    def __post_init__(self) -> None:
        if self.state not in START_STATES:
            raise ValueError(f"a search ends {', '.join(START_STATES)}, not {self.state!r}")
        if (self.state == "found") != (self.start_time is not None):
            raise ValueError("a start is found exactly when it has a time")

    @property
    def clocks_disagree(self) -> bool:
        """Whether the agent's clock certainly differs from the client's."""
        return self.skew is not None and self.skew.clocks_disagree

    @property
    def low_ms(self) -> float | None:
        """The least that the latency can have been."""
        bounds = self._range()
        return None if bounds is None else bounds[0]

    @property
    def high_ms(self) -> float | None:
        """The most that the latency can have been."""
        bounds = self._range()
        return None if bounds is None else bounds[1]

    def sentence(self) -> str:
        """The outcome in one or two sentences."""
        if self.state != "found":
            return _UNKNOWN[self.state]
        if self.clocks_disagree and self.low_ms is not None and self.high_ms is not None:
            return (
                "The agent's clock and this one disagree: the agent started between "
                f"{self.low_ms:.0f} and {self.high_ms:.0f} ms after the request was sent."
            )
        return f"The agent started {self.cold_start_latency_ms:.1f} ms after the request was sent, by its own clock."

    def _repr_html_(self) -> str:
        return f'<p class="mathjax_ignore">{html.escape(self.sentence())}</p>'

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
    progress: Progress | None = None,
) -> AgentStart:
    """The start of a stored invocation. One that was found before is answered from the store, not from the logs.

    Otherwise the session's log is looked at once and then up to `attempts` times more, `interval_s` apart (12 × 5 s are
    the specification's figures). The outcome is stored. Raises `LookupError` for an id that the store does not have,
    and what reading the logs raises (`AccessDeniedError` …).
    """
    search = StartSearch(store, reader, source, invocation_id)
    looks = attempts + 1
    for look in range(1, looks + 1):
        settled = search.look()
        if progress is not None:
            progress(look, looks, search.log_events_found)
        if settled or look == looks:
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
    progress: Progress | None = None,
) -> AgentStart:
    """`find_agent_start` for a running event loop, which it does not block."""
    search = await asyncio.to_thread(StartSearch, store, reader, source, invocation_id)
    looks = attempts + 1
    for look in range(1, looks + 1):
        settled = await asyncio.to_thread(search.look)
        if progress is not None:
            progress(look, looks, search.log_events_found)
        if settled or look == looks:
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
