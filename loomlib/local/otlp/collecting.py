"""The collecting process: takes export requests from the service, decodes and stores them, and reports the outcome.

It is a process of its own because decoding in a thread of the service would block the interpreter while agents are
invoked. It ends when the service does, at the end of its standard input.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from .answers import JSON, Answer
from .bodies import unpacked
from .frames import frame, read_frame
from .json_form import decode_json
from .json_values import MalformedTelemetryError
from .records import Origin, Record, Recorder
from .store import StreamKey, TelemetryWriter

_log = logging.getLogger(__name__)
_NICE = 5  # invocations of agents have priority
_COLLECTED_EVERY = 200  # frames; decoded documents hold no reference cycles, so collecting them in between is wasted
_REASONS_SHOWN = 3
_MEMORY_BYTES = 4 << 30  # a body of 128 MB decodes to Python objects of up to twenty times its size


def collect(home: Path) -> None:
    """Serve frames from standard input until it ends."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    with contextlib.suppress(OSError, ValueError):  # the machine's own limit may be lower
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    gc.disable()
    writer, recorder = TelemetryWriter(home), Recorder()
    frames = 0
    try:
        while (received := read_frame(sys.stdin.buffer)) is not None:
            head, body = received
            reply: dict[str, Any] = {"id": head["id"]}
            if "forget" in head:
                writer.forget([(group, stream) for group, stream in head["forget"]])
            else:
                answer, places = _take(head, body, recorder, writer)
                reply |= {"status": answer.status, "refused": answer.refused, "message": answer.message}
                reply["places"] = [[*place, *times] for place, times in places.items()]
            sys.stdout.buffer.write(frame(reply)[0])
            sys.stdout.buffer.flush()
            frames += 1
            if frames % _COLLECTED_EVERY == 0:
                gc.collect()
    finally:
        writer.close()


def _store(
    records: list[Record], visible_ms: int, writer: TelemetryWriter, refused: list[str]
) -> dict[StreamKey, tuple[int, int]]:
    """Store a batch of records, or, if one of them cannot be stored, each record separately."""
    try:
        return writer.write(records, visible_ms)
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - sent again, such a request would fail again
        if len(records) == 1:
            refused.append(f"{type(error).__name__}: {error}")
            return {}
    places: dict[StreamKey, tuple[int, int]] = {}
    for record in records:
        for place, (first, last) in _store([record], visible_ms, writer, refused).items():
            begin, end = places.get(place, (first, last))
            places[place] = (min(begin, first), max(end, last))
    return places


def _take(
    head: dict[str, Any], body: bytes, recorder: Recorder, writer: TelemetryWriter
) -> tuple[Answer, dict[StreamKey, tuple[int, int]]]:
    try:
        document = unpacked(body, head["encoding"])
        if head["content_type"] == JSON:
            decoded = decode_json(document, head["signal"])
        else:
            from .protobuf_form import decode_protobuf  # the import takes 30 ms, which JSON requests do not need

            decoded = decode_protobuf(document, head["signal"])
        records, refused = recorder.record(decoded, head["signal"], Origin(**head["origin"]))
    except (MalformedTelemetryError, RecursionError) as error:
        return Answer(400, message=f"Not stored: {error}"), {}
    except Exception as error:  # noqa: BLE001 - sent again, such a request would end the process again
        _log.exception("A request could not be decoded")
        return Answer(400, message=f"Not stored: {error!r}"), {}
    try:
        places = _store(records, int(time.time() * 1000 + head["delay_s"] * 1000), writer, refused)
    except sqlite3.Error as error:
        return Answer(503, message=f"The telemetry could not be stored: {error}"), {}
    reasons = "; ".join(list(dict.fromkeys(refused))[:_REASONS_SHOWN])
    return Answer(200, len(refused), reasons), places
