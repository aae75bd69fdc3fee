"""What goes wrong with telemetry, and the state that each fault ends in."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import secrets
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from exporting import GROUP, SESSION, Exporter, span, text, traces
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait_until

from loomlib.local.otlp.json_form import decode_json
from loomlib.local.otlp.json_values import MalformedTelemetryError
from loomlib.local.otlp.protobuf_form import decode_protobuf
from loomlib.local.otlp.reader import TelemetryReader
from loomlib.local.otlp.records import Origin, Record, Recorder
from loomlib.local.otlp.store import TelemetryWriter

EVENT_LIMIT_BYTES = 262_144 - 26


def collecting(aws: Any) -> psutil.Process:
    """The service's collecting process."""
    children = psutil.Process(aws.state.pid).children(recursive=True)
    (process,) = [process for process in children if "loomlib.local.otlp" in command_of(process)]
    return process


def command_of(process: psutil.Process) -> list[str]:
    """The arguments of a process; none of one that has ended since it was listed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def test_an_attribute_of_ten_megabytes_is_cut_in_the_event_and_whole_in_the_store(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    long = "ä" * 5_000_000
    exporter.send(traces(span(trace, attributes=[text("session.id", SESSION), text("long", long), text("a", "b")])))
    (event,) = exporter.events(pattern=f'"{trace}"')
    assert len(event["message"].encode()) <= EVENT_LIMIT_BYTES
    record = json.loads(event["message"])
    assert record["attributes"]["loom.cut_from_bytes"] > 10_000_000
    assert record["attributes"]["a"] == "b"
    assert record["attributes"]["long"].endswith("more characters, cut at the size of a log event]")
    status, body = exporter.get(f"/otlp/records/{trace}")
    assert status == 200
    assert json.loads(body)["attributes"]["long"] == long


def test_a_span_with_more_attributes_than_an_event_holds_keeps_its_names_and_times(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    many = [text(f"key-{number}", "x" * 20) for number in range(20_000)]
    exporter.send(traces(span(trace, attributes=[*many, text("session.id", SESSION)])))
    (event,) = exporter.events(pattern=f'"{trace}"')
    record = json.loads(event["message"])
    assert (record["traceId"], record["name"], record["durationNano"]) == (trace, "chat", 120_000_000)
    assert record["attributes"]["session.id"] == SESSION
    assert record["attributes"]["loom.cut_from_bytes"] > EVENT_LIMIT_BYTES


def test_binary_unusual_and_hostile_values_stay_what_they_are(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    hostile = "<script>alert(1)</script>\u0000\u2028\"'\\"
    body = json.dumps(
        traces(
            span(
                trace,
                name=hostile,
                attributes=[
                    {"key": "bytes", "value": {"bytesValue": "/wD+"}},
                    text(hostile, hostile),
                    text("half", "\ud83d"),
                    text("session.id", "not a session's form " * 100),
                ],
            )
        )
    ).encode()
    assert exporter.post("/otlp/v1/traces", body) == (200, b"{}")
    (record,) = exporter.records(pattern=f'"{trace}"')
    assert record["name"] == hostile
    assert record["attributes"][hostile] == hostile
    assert record["attributes"]["bytes"] == "/wD+"
    assert record["attributes"]["half"] == "?"


def test_times_that_cannot_be_are_refused_or_kept_as_they_are(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    backwards = span(trace, "1" * 16, startTimeUnixNano="2000000000", endTimeUnixNano="1000000000")
    unended = span(trace, "2" * 16, endTimeUnixNano="0")
    beyond = span(trace, "3" * 16, endTimeUnixNano=str(2**64 - 1))
    answer = exporter.send(traces(backwards, unended, beyond))
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    records = {record["spanId"]: record for record in exporter.records(pattern=f'"{trace}"', at_least=2)}
    assert records["1" * 16]["durationNano"] == -1_000_000_000
    assert set(records) == {"1" * 16, "2" * 16}


def test_a_batch_that_is_cut_off_is_not_stored(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    body = json.dumps(traces(span(trace))).encode()
    state = exporter.aws.state
    head = (
        f"POST /otlp/v1/traces HTTP/1.1\r\nHost: 127.0.0.1:{state.port}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {state.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", state.port)) as connection:
        connection.sendall(head.encode() + body[: len(body) // 2])
    after = secrets.token_hex(16)
    exporter.send(traces(span(after)))
    assert len(exporter.records(pattern=f'"{after}"')) == 1
    assert exporter.events(pattern=f'"{trace}"') == []


def test_half_a_trace_is_found_and_the_other_half_joins_it(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    exporter.send(traces(span(trace, "2" * 16, parentSpanId="1" * 16)))
    (half,) = exporter.records(pattern=f'"{trace}"')
    assert half["parentSpanId"] == "1" * 16
    exporter.send(traces(span(trace, "1" * 16)))
    assert len(exporter.records(pattern=f'"{trace}"', at_least=2)) == 2


def test_a_killed_collector_is_replaced_and_loses_nothing_that_was_confirmed(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    exporter = Exporter(aws)
    ids = [secrets.token_hex(16) for _ in range(60)]
    confirmed: list[str] = []
    killed = []
    for number, trace in enumerate(ids):
        if number in (20, 40):
            process = collecting(aws)
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)
        for _ in range(1200):
            status, answer = exporter.post("/otlp/v1/traces", traces(span(trace)))
            if status == 200:
                confirmed.append(trace)
                break
            assert status == 503, answer
            time.sleep(0.05)
    assert confirmed == ids
    assert len(killed) == 2
    assert {record["traceId"] for record in exporter.records(at_least=60)} == set(ids)


def test_more_than_can_be_kept_waiting_is_refused_for_later(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    exporter = Exporter(aws)
    exporter.send(traces(span(secrets.token_hex(16))))
    process = collecting(aws)
    body = gzip.compress(json.dumps(traces(span())).encode()) + secrets.token_bytes(20_000_000)
    process.suspend()
    try:
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(exporter.post, "/otlp/v1/traces", body, content_encoding="gzip") for _ in range(4)]
            wait_until(lambda: any(future.done() for future in futures), what="the first refusal")
            early = [future.result() for future in futures if future.done()]
            process.resume()
            answers = [future.result()[0] for future in futures]
    finally:
        process.resume()
    assert [status for status, _ in early] == [503]
    assert sorted(answers) == [200, 200, 200, 503]


def test_the_collecting_process_ends_with_its_service(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    Exporter(aws).send(traces(span(secrets.token_hex(16))))
    process = collecting(aws)
    os.kill(aws.state.pid, signal.SIGKILL)
    process.wait(timeout=60)


def test_an_unfinished_write_leaves_nothing_and_the_next_one_is_whole(tmp_path: Path) -> None:
    writer = TelemetryWriter(tmp_path)
    now_ms = int(time.time() * 1000)
    good = Record("g", "s", 1, "", "", (), "good", None)
    with pytest.raises((sqlite3.Error, OverflowError)):
        writer.write([good, Record("g", "new", 2**70, "", "", (), "bad", None)], now_ms)
    writer.write([good], now_ms)
    writer.close()
    assert TelemetryReader(tmp_path).places() == [("g", "s")]
    assert [event.message for event in TelemetryReader(tmp_path).events("g")] == ["good"]


def test_records_stay_visible_when_the_time_is_set_back(tmp_path: Path) -> None:
    writer = TelemetryWriter(tmp_path)
    now_ms = int(time.time() * 1000)
    writer.write([Record("g", "s", now_ms, "a" * 32, "", ("a" * 32,), "of a day ahead", None)], now_ms + 86_400_000)
    writer.write([Record("g", "s", now_ms, "", "", (), "delayed", None)], now_ms + 600_000)
    writer.close()
    delayed = TelemetryReader(tmp_path, delay_s=3_600)
    assert [event.message for event in delayed.events("g")] == ["of a day ahead"]
    assert [message for _, message in delayed.whole("a" * 32)] == ["of a day ahead"]
    assert set(delayed.stream_times("g")) == {"s"}
    assert [event.message for event in TelemetryReader(tmp_path).events("g")] == ["of a day ahead", "delayed"]


SET_CLOCK = """
import os, time
_time, _file = time.time, os.path.join(os.path.dirname(__file__), "set_by_s")
time.time = lambda: _time() + (int(open(_file).read()) if os.path.exists(_file) else 0)
"""
"""`sitecustomize` of a service: its time is set by as many seconds as a file says."""


def test_telemetry_survives_a_time_that_is_set_forwards_by_more_than_it_is_kept(
    start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(SET_CLOCK)
    monkeypatch.setenv("PYTHONPATH", str(clock))
    aws = start_service()
    exporter, ids = Exporter(aws), [secrets.token_hex(16) for _ in range(2)]
    exporter.send(traces(span(ids[0])))
    (clock / "set_by_s").write_text(str(20 * 86_400))
    os.kill(collecting(aws).pid, signal.SIGKILL)
    wait_until(lambda: exporter.post("/otlp/v1/traces", traces(span(ids[1])))[0] == 200)  # a new process prunes first
    assert {record["traceId"] for record in exporter.records(at_least=2)} == set(ids)


def test_only_the_newest_records_are_kept(tmp_path: Path) -> None:
    writer = TelemetryWriter(tmp_path, clock=time.time)
    now_ms = int(time.time() * 1000)
    for number in range(100):
        record = Record("g", "s", number, f"{number:032x}", "", (f"{number + 500:032x}",), "m", "whole")
        writer.write([record], now_ms - (5_000 if number < 50 else 0))
    reader = TelemetryReader(tmp_path)
    writer.prune(records=80)
    assert [event.timestamp_ms for event in reader.events("g")] == list(range(20, 100))
    writer.prune(age_ms=4_000)
    assert [event.timestamp_ms for event in reader.events("g")] == list(range(50, 100))
    writer.prune(size_bytes=0)
    assert [event.timestamp_ms for event in reader.events("g")] == list(range(55, 100))
    writer.prune(records=0)
    assert list(reader.events("g")) == []
    writer.write([Record("g", "s", 7, "", "", (), "after", None)], now_ms)
    assert [event.id for event in reader.events("g")] == [101]
    writer.close()


def test_events_are_read_backwards_and_forwards_by_get_log_events(exporter: Exporter) -> None:
    logs = exporter.aws.client("logs")
    group = "/aws/bedrock-agentcore/runtimes/backwards-1234567890-DEFAULT"
    now = time.time_ns()
    records = [{"timeUnixNano": str(now + n * 1_000_000), "body": {"stringValue": str(n)}} for n in range(25)]
    resource = {"attributes": [text("aws.log.group.names", group)]}
    exporter.send({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": records}]}]}, "logs")
    exporter.records(group, at_least=25)
    place = {"logGroupName": group, "logStreamName": "otel-rt-logs", "limit": 10}

    def read(**more: Any) -> tuple[list[str], dict[str, Any]]:
        page = logs.get_log_events(**place, **more)
        return [json.loads(event["message"])["body"] for event in page["events"]], page

    newest, page = read()
    assert newest == [str(n) for n in range(15, 25)]
    older, page = read(nextToken=page["nextBackwardToken"])
    assert older == [str(n) for n in range(5, 15)]
    again, _ = read(nextToken=page["nextForwardToken"])
    assert again == newest
    first, page = read(startFromHead=True)
    assert first == [str(n) for n in range(10)]
    end, page = read(startFromHead=True, startTime=now // 1_000_000 + 100)
    assert end == []


MEMBERS = [
    "resourceSpans",
    "scopeSpans",
    "spans",
    "resource",
    "attributes",
    "key",
    "value",
    "stringValue",
    "events",
    "traceId",
    "spanId",
    "arrayValue",
    "values",
    "kvlistValue",
    "intValue",
    "status",
    "code",
    "name",
    "links",
    "scopeLogs",
    "logRecords",
    "scopeMetrics",
    "metrics",
    "sum",
    "dataPoints",
    "histogram",
]
Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["resourceSpans", "resourceLogs", "resourceMetrics"]), Json, max_size=3))
@settings(max_examples=300)
def test_any_json_is_records_or_malformed(document: dict[str, Any]) -> None:
    for kind in ("traces", "logs", "metrics"):
        try:
            decoded = decode_json(json.dumps(document).encode(), kind)
        except MalformedTelemetryError:
            continue
        records, _ = Recorder().record(decoded, kind, Origin(group=GROUP))
        assert all(json.loads(record.message) for record in records)


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_bytes_are_records_or_malformed(body: bytes) -> None:
    for kind in ("traces", "logs", "metrics"):
        try:
            decoded = decode_protobuf(body, kind)
        except MalformedTelemetryError:
            continue
        Recorder().record(decoded, kind, Origin(group=GROUP))


def test_half_a_surrogate_pair_costs_neither_its_span_nor_the_others(exporter: Exporter) -> None:
    first, second, third = (secrets.token_hex(16) for _ in range(3))
    process = collecting_or_none(exporter)
    poison = span(first, name="\ud800", attributes=[text("session.id", "half-\udfff" + "x" * 33), text("\ud83d", "k")])
    body = json.dumps(traces(poison, span(second), scope="\ud800")).encode()
    assert exporter.post("/otlp/v1/traces", body) == (200, b"{}")
    raw = json.dumps(traces(span(third, attributes=[text("session.id", "RAW" + "y" * 33)]))).encode()
    assert exporter.post("/otlp/v1/traces", raw.replace(b"RAW", b"\xed\xa0\x80"))[0] == 200
    for trace in (first, second, third):
        assert len(exporter.records(pattern=f'"{trace}"')) == 1
    (record,) = exporter.records(pattern=f'"{first}"')
    assert record["attributes"]["session.id"] == "half-?" + "x" * 33
    assert process is None or process == collecting(exporter.aws)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"attributes": [{"key": "deep", "value": {}}]},
        {"attributes": [{"key": "n", "value": {"intValue": 10**400}}]},
        {"attributes": [{"key": "n", "value": {"intValue": "9" * 5_000}}]},
        {"attributes": [{"key": "n", "value": {"doubleValue": 10**400}}]},
        {"events": [{"name": "e", "timeUnixNano": "-1"}]},
        {"startTimeUnixNano": "9" * 30},
        {"kind": "10000000000000000000000000"},
        {"attributes": [{"key": 7, "value": {"stringValue": "x"}}]},
    ],
)
def test_a_spoiled_span_is_refused_and_its_neighbour_stored(exporter: Exporter, spoiled: dict[str, Any]) -> None:
    trace = secrets.token_hex(16)
    if spoiled.get("attributes", [{}])[0].get("key") == "deep":
        value: dict[str, Any] = {"stringValue": "x"}
        for _ in range(300):
            value = {"arrayValue": {"values": [value]}}
        spoiled = {"attributes": [{"key": "deep", "value": value}]}
    answer = exporter.send(traces(span(trace, "1" * 16) | spoiled, span(trace, "2" * 16)))
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert answer["partialSuccess"]["errorMessage"]
    assert [record["spanId"] for record in exporter.records(pattern=f'"{trace}"')] == ["2" * 16]


def test_numbers_that_json_lacks_are_stored_as_otlp_spells_them(exporter: Exporter) -> None:
    trace = secrets.token_hex(16)
    document = json.dumps(traces(span(trace, attributes=[{"key": "n", "value": {"doubleValue": 7.125}}])))
    for spelled in ("NaN", "1e999", '"-1e999"'):
        assert exporter.post("/otlp/v1/traces", document.replace("7.125", spelled).encode()) == (200, b"{}")
    values = {record["attributes"]["n"] for record in exporter.records(pattern=f'"{trace}"', at_least=3)}
    assert values == {"NaN", "Infinity", "-Infinity"}


def test_a_request_over_which_the_process_ends_twice_is_refused_for_good(start_service: Callable[..., Any]) -> None:
    exporter = Exporter(start_service())
    exporter.send(traces(span()))
    body = json.dumps(traces(*(span(attributes=[text("x", "y" * 100)]) for _ in range(40_000)))).encode()
    ended = 0
    while ended < 2:
        process = collecting(exporter.aws)
        idle_s = process.cpu_times().user
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(exporter.post, "/otlp/v1/traces", body)
            while process.cpu_times().user < idle_s + 0.05:  # until it decodes the request
                time.sleep(0.001)
            process.kill()
            status, _ = answer.result()
        assert status in (200, 503)  # on a busy machine the kill can come only after the answer, and then counts not
        ended += status == 503
        wait_until(lambda: exporter.post("/otlp/v1/traces", traces(span()))[0] == 200)
    status, content = exporter.post("/otlp/v1/traces", body)
    assert status == 400
    assert b"ended twice" in content
    exporter.send(traces(span()))


def collecting_or_none(exporter: Exporter) -> psutil.Process | None:
    try:
        return collecting(exporter.aws)
    except ValueError:
        return None
