"""Server-sent events: the same events however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents.sse import SseEvent, SseParser
from loomlib.errors import MalformedResponseError


def parsed(*pieces: bytes) -> list[SseEvent]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    events.extend(parser.finish())
    return events


def data_of(*pieces: bytes) -> list[str]:
    return [event.data for event in parsed(*pieces)]


line_ends = st.sampled_from(["\n", "\r\n", "\r"])
field_text = st.text(
    st.sampled_from([*'abc :{}"\\/\t', "\x0b", "\x0c", "\x85", "\u2028", "\ufeff", "é", "漢", "🧵"]), max_size=20
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    text, expected = "", []
    for _ in range(draw(st.integers(0, 5))):
        lines = draw(st.lists(field_text, min_size=1, max_size=4))
        for line in lines:
            if draw(st.booleans()):
                text += ": " + draw(field_text) + draw(line_ends)
            text += f"data: {line}" + draw(line_ends)
        if draw(st.booleans()):
            text += "event: chunk" + draw(line_ends)
        text += draw(line_ends) if not text.endswith("\r") else draw(st.sampled_from(["\r\n", "\r"]))
        expected.append("\n".join(lines))
    return text.encode(), expected


@given(streams(), st.lists(st.integers(0, 400), max_size=12))
def test_any_split_of_a_stream_gives_the_same_events(stream: tuple[bytes, list[str]], cuts: list[int]) -> None:
    body, expected = stream
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    assert data_of(*pieces) == expected
    assert parsed(*pieces) == parsed(body)
    assert parsed(*(bytes([byte]) for byte in body)) == parsed(body)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_arbitrary_bytes_are_events_or_a_malformed_response_whatever_the_split(body: bytes, cuts: list[int]) -> None:
    def outcome(*pieces: bytes) -> list[SseEvent] | str:
        try:
            return parsed(*pieces)
        except MalformedResponseError:
            return "malformed"

    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    assert outcome(*pieces) == outcome(body)


def test_an_event_comes_out_as_soon_as_its_blank_line_is_there() -> None:
    parser = SseParser()
    assert not parser.feed(b"data: a\n")
    assert [event.data for event in parser.feed(b"\n")] == ["a"]


def test_a_blank_line_ending_in_a_bare_cr_does_not_wait_for_the_next_byte() -> None:
    parser = SseParser()
    assert [event.data for event in parser.feed(b"data: a\r\r")] == ["a"]
    assert [event.data for event in parser.feed(b"\ndata: b\r\r")] == ["b"]


def test_names_ids_comments_and_retry_are_read() -> None:
    (event,) = parsed(b"\xef\xbb\xbf: hello\nretry: 10\nid: 7\nevent: error\ndata:x\ndata\ndata:  y\n\n")
    assert event == SseEvent(data="x\n\n y", event="error", id="7")


def test_an_event_without_its_closing_blank_line_is_kept() -> None:
    assert data_of(b"data: a\n\ndata: b") == ["a", "b"]


def test_only_the_line_ends_of_the_standard_end_a_line() -> None:
    assert data_of("data: a\u2028b\x0bc\x85d\n\n".encode()) == ["a\u2028b\x0bc\x85d"]


@pytest.mark.parametrize("body", [b"<html>no</html>\n", b"data: \xff\n\n", b'{"result": 1}'])
def test_what_is_no_event_stream_is_called_malformed(body: bytes) -> None:
    with pytest.raises(MalformedResponseError):
        parsed(body)


def test_an_empty_stream_is_an_empty_answer() -> None:
    assert parsed(b"") == []
