"""Log lines and start lines: whatever an agent writes is read, and nothing else is taken for a start."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.aws.logs import StoredEvent
from loomlib.telemetry import LogEvent, StartLine, choose_start, parse_line, parse_start, parse_start_time, start_lines
from loomlib.telemetry.log_events import log_event, moment

T0 = datetime(2026, 2, 18, 10, 0, 1, 123456, tzinfo=UTC)
moments = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def line(message: str, at: datetime = T0, stream: str = "s") -> LogEvent:
    return log_event(StoredEvent(event_id="", stream=stream, timestamp_ms=int(at.timestamp() * 1000), message=message))


def start(at: datetime, request_id: str | None = None) -> StartLine:
    text = f"Agent invoked - Start time: {at.isoformat()}"
    message = text if request_id is None else json.dumps({"message": text, "requestId": request_id})
    (start_line,) = start_lines([line(message, at)])
    return start_line


@given(moments)
def test_a_naive_start_is_utc(at: datetime) -> None:
    assert parse_start(f"Agent invoked - Start time: {at.isoformat()}, Session: x") == at.replace(tzinfo=UTC)


@given(moments, zones, st.sampled_from(["", "prefix "]), st.sampled_from(["", ", more", " more", ".", ")"]))
def test_a_start_with_an_offset_is_read_anywhere_in_a_line(
    at: datetime, zone: timezone, before: str, after: str
) -> None:
    aware = at.replace(tzinfo=zone)
    assert parse_start(f"{before}Agent invoked - Start time: {aware.isoformat()}{after}") == aware


@given(moments, st.text())
def test_a_start_is_found_inside_the_sdks_json_lines(at: datetime, other: str) -> None:
    message = f"Agent invoked - Start time: {at.isoformat()}, {other}"
    raw = json.dumps({"timestamp": "x", "level": "INFO", "message": message, "requestId": "r", "sessionId": "s"})
    event = line(raw)
    assert (event.level, event.request_id, event.session_id, event.message) == ("INFO", "r", "s", message)
    assert parse_start_time([event]) == at.replace(tzinfo=UTC)


@given(st.text())
def test_any_line_is_read_and_a_plain_one_stays_as_it_is(raw: str) -> None:
    parsed = parse_line(raw)
    if not raw.lstrip().startswith("{"):
        assert parsed.message == raw.rstrip("\r\n")
    parse_start(raw)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.dictionaries(st.text(), x) | st.lists(x)))
def test_any_json_line_is_read(value: object) -> None:
    raw = json.dumps(value)
    assert parse_line(raw).message in (raw, value.get("message") if isinstance(value, dict) else raw)


@pytest.mark.parametrize(
    "text",
    [
        "Agent invoked - Start time: soon",
        "Agent invoked - Start time: 2026-13-45T10:00:01",
        "Agent invoked - Start time: 2026-02-18T25:61:61",
        "Agent invoked - Start time: 2026-02-18",
        "Start time: 2026-02-18T10:00:01",
        "",
    ],
)
def test_what_is_no_start_is_none(text: str) -> None:
    assert parse_start(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-18T10:00:01.123456, …",
        "2026-02-18 10:00:01.123456",
        "2026-02-18T10:00:01.123456Z",
        "2026-02-18T10:00:01.123456+00:00",
        "2026-02-18T11:00:01.123456+0100",
        "2026-02-18T12:00:01.123456789+02:00",
        "2026-02-18T10:00:01,123456",
    ],
)
def test_the_usual_spellings_of_a_start_are_one_time(text: str) -> None:
    assert parse_start(f"Agent invoked - Start time: {text}") == T0


def test_lines_of_another_session_are_left_out() -> None:
    other = line(json.dumps({"message": "Agent invoked - Start time: 2026-02-18T10:00:01", "sessionId": "other"}))
    plain = line("Agent invoked - Start time: 2026-02-18T10:00:02")
    assert [one.event for one in start_lines([other, plain], "mine")] == [plain]


@given(st.integers(0, 2**42))
def test_a_timestamp_keeps_every_millisecond(unix_ms: int) -> None:
    assert moment(unix_ms).timestamp() * 1000 == pytest.approx(unix_ms, abs=0.01)


def test_of_several_starts_the_request_id_decides_first() -> None:
    lines = [start(T0, "a"), start(T0 + timedelta(seconds=1), "b")]
    assert choose_start(lines, sent=T0.timestamp(), done=None, request_id="b") == lines[1]


def test_of_several_starts_the_order_decides_next_and_a_line_that_is_not_there_yet_is_waited_for() -> None:
    lines = [start(T0 + timedelta(seconds=second)) for second in range(3)]
    sent_s = (T0 + timedelta(seconds=1.9)).timestamp()
    assert choose_start(lines, sent=sent_s, done=sent_s + 1, place=2) == lines[2]
    assert choose_start(lines[:2], sent=sent_s, done=sent_s + 1, place=2) is None


def test_of_several_starts_without_an_order_the_nearest_to_the_call_is_taken_and_a_far_one_never() -> None:
    lines = [start(T0 + timedelta(seconds=10 * number)) for number in range(4)]
    sent_s = (T0 + timedelta(seconds=19.5)).timestamp()
    assert choose_start(lines, sent=sent_s, done=sent_s + 1) == lines[2]
    assert choose_start(lines, sent=sent_s + 3600, done=None) is None
