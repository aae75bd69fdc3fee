"""CloudWatch Logs Insights: start a query, poll it, and stop it if it takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import RequestRejectedError, RequestTimeoutError, ServiceFailedError

from ..presentation.formats import time_limit, waited
from .connection import Clients
from .errors import translated

LARGEST_RESULT: Final = 10_000
"""Rows of one result at most (StartQuery's `limit`)."""

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The rows of a query, all values as text; `scanned` and `matched` count log events."""

    rows: tuple[Mapping[str, str], ...] = field(repr=False)
    scanned: int = 0
    matched: int = 0


def run_query(
    clients: Clients,
    groups: Sequence[str],
    query: str,
    *,
    start_s: int,
    end_s: int,
    region: str | None = None,
    limit: int = LARGEST_RESULT,
    wait_s: float = 60.0,
    progress: Callable[[str], None] | None = None,
) -> QueryResult:
    """Run an Insights query and return its rows.

    Args:
        clients: The AWS clients of a connection.
        groups: Names of log groups.
        query: The query, in CloudWatch Logs Insights syntax.
        start_s: Start of the time range in Unix seconds, inclusive.
        end_s: End of the time range in Unix seconds, inclusive.
        limit: The largest number of rows.
        region: The region, if it is not the connection's.
        wait_s: Seconds to wait for the result.
        progress: Called with a line of progress.

    Raises:
        ResourceNotFoundError: A group does not exist.
        RequestRejectedError: Insights rejected the query.
        RequestTimeoutError: The query did not finish within `wait_s`; it is stopped.
        ServiceFailedError: The query failed.
    """
    with translated("Starting a Logs Insights query", on=", ".join(groups)):
        start_answer: dict[str, Any] = clients.logs(region).start_query(
            logGroupNames=list(groups), startTime=start_s, endTime=end_s, queryString=query, limit=limit
        )
    query_id = str(start_answer["queryId"])
    began, pause_s = time.monotonic(), _FIRST_PAUSE_S
    while True:
        with translated("Reading a Logs Insights query", on=query_id):
            answer: dict[str, Any] = clients.logs(region).get_query_results(queryId=query_id)
        status = str(answer.get("status", "Unknown"))
        if status == "Complete":
            return _result(answer)
        waited_s = time.monotonic() - began
        if status not in ("Scheduled", "Running", "Unknown"):
            kind = (
                RequestTimeoutError
                if status == "Timeout"
                else ServiceFailedError
                if status == "Failed"
                else RequestRejectedError
            )
            raise kind(f"The Logs Insights query ended {status}", on=", ".join(groups), try_="a shorter time range")
        if waited_s >= wait_s:
            with translated("Stopping a Logs Insights query", on=query_id):
                clients.logs(region).stop_query(queryId=query_id)
            raise RequestTimeoutError(
                f"The Logs Insights query did not finish within {time_limit(wait_s)}",
                on=", ".join(groups),
                try_="a shorter range",
            )
        if progress is not None:
            progress(f"the query is {status.lower()} · {waited(waited_s, wait_s)}")
        time.sleep(min(pause_s, wait_s - waited_s))
        pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)


def _result(answer: Mapping[str, Any]) -> QueryResult:
    counts: Mapping[str, Any] = answer.get("statistics") or {}
    return QueryResult(
        rows=tuple(
            {str(field["field"]): str(field.get("value", "")) for field in row if field.get("field") != "@ptr"}
            for row in answer.get("results", ())
        ),
        scanned=int(counts.get("recordsScanned") or 0),
        matched=int(counts.get("recordsMatched") or 0),
    )
