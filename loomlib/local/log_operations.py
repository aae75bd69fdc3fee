"""The operations of CloudWatch Logs that are answered here; moto answers the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .log_events import LogEvents
from .log_filter import LogFilter
from .log_streams import LogStreams
from .queries import Insights

REQUEST_LIMIT_BYTES = 1_000_000
_PREFIX = b"Logs_20140328."


class LogOperations:
    """Reading and querying log events."""

    def __init__(
        self, log_filter: LogFilter, log_events: LogEvents, log_streams: LogStreams, insights: Insights
    ) -> None:
        self._operations: dict[bytes, Callable[[bytes], Awaitable[dict[str, Any] | None]]] = {
            b"FilterLogEvents": log_filter.filter_log_events,
            b"GetLogEvents": log_events.get_log_events,
            b"DescribeLogStreams": log_streams.describe_log_streams,
            b"StartQuery": insights.start_query,
            b"GetQueryResults": insights.get_query_results,
            b"StopQuery": insights.stop_query,
            b"DescribeQueries": insights.describe_queries,
        }

    def answers(self, target: bytes) -> bool:
        """Whether a header `X-Amz-Target` names one of these."""
        return target.removeprefix(_PREFIX) in self._operations

    async def answer(self, target: bytes, body: bytes) -> dict[str, Any] | None:
        """The answer to a request's JSON body; None when what it asks about is moto's."""
        return await self._operations[target.removeprefix(_PREFIX)](body)
