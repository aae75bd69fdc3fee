"""StartQuery, GetQueryResults, StopQuery and DescribeQueries of CloudWatch Logs."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sys
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..resources import Place
from ..wire import RefusedError
from .requests import group_not_found, invalid_parameter, limit_of
from .store import Logs

_log = logging.getLogger(__name__)
_RETAINED_QUERIES = 200
_RUNNING_QUERIES = 30  # AWS: concurrent queries of one account
_EVENTS_A_TURN = 500
_LARGEST_MS = 100_000_000_000  # larger values would be seconds beyond the year 5138, so they are milliseconds

_EventRow = tuple[str, str, int, int, str]


@dataclass(slots=True, kw_only=True)
class _Running:
    """A query that was started, and its results once it is complete."""

    text: str
    place: Place
    groups: Sequence[str]
    created_ms: int
    status: str = "Running"
    results: list[list[dict[str, str]]] = field(default_factory=list[list[dict[str, str]]])
    statistics: Mapping[str, float] = field(default_factory=dict[str, float])
    task: asyncio.Task[None] | None = None


class Insights:
    """Runs queries over agents' output, telemetry and clients' log events, each query in its own process.

    Args:
        home: The home folder.
        logs: The store of log groups.
        delay_s: How long a record of telemetry stays invisible.
    """

    def __init__(self, home: Path, logs: Logs, *, delay_s: float = 0.0) -> None:
        self._home, self._logs, self._delay_s = home, logs, delay_s
        self._queries: OrderedDict[str, _Running] = OrderedDict()

    async def close(self) -> None:
        """Stop the queries that are still running."""
        tasks = [query.task for query in self._queries.values() if query.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def start_query(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Start a query. Raise `RefusedError` when it is malformed or too many are running."""
        from ..insights import LARGEST_LIMIT, MalformedQueryError, Query  # takes 20 ms, only for queries

        text = str(parameters.get("queryString") or "")
        if parameters.get("queryLanguage", "CWLI") != "CWLI":
            raise invalid_parameter("The local AgentCore only runs queries in the language CWLI")
        try:
            Query(text)
        except MalformedQueryError as error:
            where = {"startCharOffset": error.start, "endCharOffset": error.end}
            raise RefusedError(
                "MalformedQueryException",
                400,
                f"{error.message} (at character {error.start})",
                queryCompileError={"location": where, "message": error.message},
            ) from error
        limit = limit_of(parameters, LARGEST_LIMIT)
        groups = _groups(parameters)
        begin_ms, end_ms = _milliseconds(parameters, "startTime"), _milliseconds(parameters, "endTime")
        if begin_ms > end_ms:
            raise invalid_parameter("startTime must not be after endTime")
        if sum(query.status == "Running" for query in self._queries.values()) >= _RUNNING_QUERIES:
            raise RefusedError("LimitExceededException", 400, f"{_RUNNING_QUERIES} queries are already running")
        events = await asyncio.to_thread(self._events, groups, place, begin_ms, end_ms)
        question = {
            "query": text,
            "limit": limit,
            "groups": [self._logs.keys.of(place, group) for group in groups],
            "begin_ms": begin_ms,
            "end_ms": end_ms,
            "home": str(self._home),
            "delay_s": self._delay_s,
            "account_id": place.account_id,
        }
        query_id = str(uuid.uuid4())
        query = _Running(text=text, place=place, groups=groups, created_ms=int(time.time() * 1000))
        self._queries[query_id] = query
        query.task = asyncio.get_running_loop().create_task(self._run(query, question, events))
        while len(self._queries) > _RETAINED_QUERIES:
            oldest = next((id for id, ended in self._queries.items() if ended.status != "Running"), None)
            if oldest is None:
                break
            del self._queries[oldest]
        return {"queryId": query_id}

    async def _run(self, query: _Running, question: Mapping[str, Any], events: list[_EventRow]) -> None:
        process: asyncio.subprocess.Process | None = None
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "loomlib.local.insights"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            feeding = asyncio.ensure_future(_feed(process.stdin, question, events))
            answer = await process.stdout.read()
            await feeding
            if await process.wait() != 0:
                raise RuntimeError(f"the query's process ended with {process.returncode}")
            result = json.loads(answer)
            query.results = [[{"field": name, "value": value} for name, value in row] for row in result["rows"]]
            query.statistics = result["statistics"]
            query.status = "Complete"
        except asyncio.CancelledError:
            query.status = "Cancelled"
        except Exception:  # noqa: BLE001 - whatever failed is the query's status, not the service's
            _log.exception("A query failed: %s", query.text)
            query.status = "Failed"
        finally:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()

    def _events(self, groups: Sequence[str], place: Place, begin_ms: float, end_ms: float) -> list[_EventRow]:
        self._logs.wait_restored()
        found_events: list[_EventRow] = []
        with self._logs.backend_lock:
            log_groups = self._logs.backend(place).groups
            for name in groups:
                if name not in log_groups:
                    raise group_not_found(f"The log group {name} does not exist.")
                for stream_name, stream in log_groups[name].streams.items():
                    events: list[Any] = stream.events
                    found_events += [
                        (name, stream_name, event.timestamp, event.ingestion_time, event.message)
                        for event in events
                        if begin_ms <= event.timestamp <= end_ms
                    ]
        return found_events

    async def get_query_results(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Return a query's status and its results, which are empty until it is complete."""
        query = self._query(parameters, place)
        return {
            "queryLanguage": "CWLI",
            "status": query.status,
            "results": query.results,
            "statistics": dict(query.statistics),
        }

    async def stop_query(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Stop a running query."""
        query = self._query(parameters, place)
        if query.status != "Running" or query.task is None:
            raise invalid_parameter("The query is not running")
        query.status = "Cancelled"
        query.task.cancel()
        return {"success": True}

    async def describe_queries(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """List the retained queries, the newest first."""
        group, status = parameters.get("logGroupName"), parameters.get("status")
        return {
            "queries": [
                {
                    "queryId": query_id,
                    "queryString": query.text,
                    "status": query.status,
                    "createTime": query.created_ms,
                    "logGroupName": query.groups[0],
                    "queryLanguage": "CWLI",
                }
                for query_id, query in reversed(self._queries.items())
                if query.place == place
                and (not group or group in query.groups)
                and (not status or status == query.status)
            ]
        }

    def _query(self, parameters: Mapping[str, Any], place: Place) -> _Running:
        query = self._queries.get(str(parameters.get("queryId")))
        if query is None or query.place != place:
            raise group_not_found("The specified query does not exist.")
        return query


async def _feed(stdin: asyncio.StreamWriter, question: Mapping[str, Any], events: list[_EventRow]) -> None:
    try:
        for part in _parts(question, events):
            stdin.write(part)
            await stdin.drain()
            await asyncio.sleep(0)  # lets agents' requests in between two parts
    except (BrokenPipeError, ConnectionResetError):
        return  # a query that has its result stops reading
    finally:
        stdin.close()


def _parts(question: Mapping[str, Any], events: list[_EventRow]) -> Iterator[bytes]:
    yield json.dumps(question).encode() + b"\n"
    for at in range(0, len(events), _EVENTS_A_TURN):
        yield json.dumps(events[at : at + _EVENTS_A_TURN]).encode() + b"\n"


def _groups(parameters: Mapping[str, Any]) -> list[str]:
    names: list[Any] = [parameters.get("logGroupName"), *(parameters.get("logGroupNames") or ())]
    identifiers: Sequence[Any] = parameters.get("logGroupIdentifiers") or ()
    names += [str(identifier).rpartition(":log-group:")[2].removesuffix(":*") for identifier in identifiers]
    groups = list(dict.fromkeys(str(name) for name in names if name))
    if not groups:
        raise invalid_parameter("Name a log group: logGroupName, logGroupNames or logGroupIdentifiers")
    return groups


def _milliseconds(parameters: Mapping[str, Any], name: str) -> float:
    """Return a time in ms; the API documents seconds, but many clients send ms, which AWS accepts as well."""
    value = parameters.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise invalid_parameter(f"{name} must be a time in unix seconds")
    if value >= _LARGEST_MS:
        return value
    return value * 1000 + (999 if name == "endTime" else 0)
