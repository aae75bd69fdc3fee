"""One query's process: it reads log lines from standard input and telemetry from its database, and writes JSON.

It is a separate process, which can be killed, because a query may read a million events or match very slowly while
agents are invoked.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..otlp import TelemetryReader
from .query import Query
from .rows import Row

_NICE = 5


def run_query() -> None:
    """Read the query from the first line of standard input and log events from the others; write the result."""
    os.nice(_NICE)
    question = json.loads(sys.stdin.buffer.readline())
    query = Query(question["query"])
    result = query.run(_rows(question, query), limit=question["limit"])
    answer = {
        "rows": result.rows,
        "statistics": {
            "recordsMatched": float(result.matched),
            "recordsScanned": float(result.scanned),
            "bytesScanned": float(result.scanned_bytes),
            "logGroupsScanned": float(len(question["groups"])),
        },
    }
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()


def _rows(question: Mapping[str, Any], query: Query) -> Iterator[Row]:
    account_id: str = question["account_id"]
    number = 0
    for line in sys.stdin.buffer:
        for group, stream, timestamp_ms, ingested_ms, message in json.loads(line):
            number += 1
            yield Row.of_event(
                message=message,
                timestamp_ms=timestamp_ms,
                ingested_ms=ingested_ms,
                stream=stream,
                log=f"{account_id}:{group}",
                pointer=_pointer(group, stream, str(number)),
            )
    telemetry = TelemetryReader(Path(question["home"]), delay_s=question["delay_s"])
    for key in question["groups"]:
        group = key.rpartition(":")[2]  # other accounts' and regions' groups have these as a prefix
        events = telemetry.events(
            key, begin_ms=question["begin_ms"], end_ms=question["end_ms"], containing=query.required
        )
        for event in events:
            yield Row.of_event(
                message=event.message,
                timestamp_ms=event.timestamp_ms,
                ingested_ms=event.visible_ms,
                stream=event.stream,
                log=f"{account_id}:{group}",
                pointer=_pointer(group, event.stream, f"t{event.id}"),
            )


def _pointer(group: str, stream: str, number: str) -> str:
    return base64.b64encode(f"{group}/{stream}/{number}".encode()).decode()
