"""The text inside agents' answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents.answers import Piece, reader_for
from loomlib.errors import MalformedResponseError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def read(body: bytes, content_type: str) -> list[Piece]:
    reader = reader_for(content_type)
    return [*reader.feed(body), *reader.finish()]


def stream_text(*events: object) -> str:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    return "".join(piece.text for piece in read(body, "text/event-stream; charset=utf-8"))


def json_text(value: object) -> str:
    return "".join(piece.text for piece in read(json.dumps(value).encode(), "application/json"))


@given(st.lists(st.text()))
def test_streamed_strings_are_the_text(words: list[str]) -> None:
    assert stream_text(*words) == "".join(words)


@given(json_values)
def test_any_json_is_a_text_or_an_agents_error(value: object) -> None:
    for content_type, body in (
        ("application/json", json.dumps(value).encode()),
        ("text/event-stream", f"data: {json.dumps(value)}\n\n".encode()),
    ):
        (piece,) = read(body, content_type)
        assert piece.error is None or piece.text == ""


@pytest.mark.parametrize(
    "value",
    [
        "four",
        {"result": "four"},
        {"response": "four", "usage": 3},
        {"output": {"text": "four"}},
        {"completion": "four"},
        {"result": {"role": "assistant", "content": [{"text": "fo"}, {"toolUse": {}}, {"text": "ur"}]}},
        {"role": "assistant", "content": [{"text": "four"}]},
        {"message": {"role": "assistant", "content": "four"}},
    ],
)
def test_a_json_answers_text_is_found_where_agents_put_it(value: object) -> None:
    assert json_text(value) == "four"


def test_a_json_answer_of_another_form_is_shown_as_json() -> None:
    assert json_text({"sum": 4, "é": 1}) == '{"sum": 4, "é": 1}'
    assert json_text(4) == "4"


@pytest.mark.parametrize(
    "event",
    [
        {"data": "hi"},
        {"text": "hi"},
        {"delta": "hi"},
        {"delta": {"text": "hi"}},
        {"event": {"contentBlockDelta": {"delta": {"text": "hi"}, "contentBlockIndex": 0}}},
        {"result": "hi"},
    ],
)
def test_a_streamed_objects_text_is_found(event: object) -> None:
    assert stream_text(event) == "hi"


def test_strands_events_passed_on_whole_give_each_text_once() -> None:
    assert (
        stream_text(
            {"init_event_loop": True},
            {"event": {"messageStart": {"role": "assistant"}}},
            {"event": {"contentBlockDelta": {"delta": {"text": "ha"}}}},
            {"data": "ha", "delta": {"text": "ha"}},
            {"event": {"contentBlockDelta": {"delta": {"text": "ha"}}}},
            {"data": "ha", "delta": {"text": "ha"}},
            {"message": {"role": "assistant", "content": [{"text": "haha"}]}},
            {"result": "haha"},
        )
        == "haha"
    )


def test_what_the_user_said_is_no_answer() -> None:
    assert stream_text({"message": {"role": "user", "content": [{"text": "2+2?"}]}}, "4") == "4"


@pytest.mark.parametrize("kind", [["note"], {"name": "note"}, 1, None])
def test_an_event_whose_type_is_no_text_is_read_like_one_without_a_type(kind: object) -> None:
    assert stream_text({"text": "four"}, {"type": kind, "text": " and five"}) == "four and five"


def test_events_without_text_are_kept_as_pieces() -> None:
    pieces = read(b'data: {"current_tool_use": {"name": "add"}}\n\n', "text/event-stream")
    assert pieces == [Piece(text="", data=b'{"current_tool_use": {"name": "add"}}')]


def test_data_that_is_no_json_is_text_and_the_end_mark_is_none() -> None:
    pieces = read(b"data: plain words\n\ndata: [DONE]\n\n", "text/event-stream")
    assert [piece.text for piece in pieces] == ["plain words", ""]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ('data: {"error": "boom", "error_type": "KeyError", "message": "An error"}', "KeyError: boom"),
        ('data: {"error": {"message": "boom"}}', "boom"),
        ("event: error\ndata: boom", "boom"),
        ('event: error\ndata: {"code": 1}', '{"code": 1}'),
    ],
)
def test_an_error_in_a_stream_is_reported(data: str, error: str) -> None:
    (piece,) = read(f"{data}\n\n".encode(), "text/event-stream")
    assert piece.error == error


def test_a_json_answer_that_only_holds_an_error_is_one() -> None:
    (piece,) = read(b'{"error": "boom"}', "application/json")
    assert (piece.text, piece.error) == ("", "boom")


def test_an_error_beside_an_answer_is_part_of_the_answer_except_in_bedrock_agentcore_apps_form() -> None:
    assert json_text({"error": "no cache", "result": "four"}) == "four"
    failure = {"error": "database is down", "error_type": "OSError", "message": "An error occurred"}
    (piece,) = read(json.dumps(failure).encode(), "application/json")
    assert (piece.text, piece.error) == ("", "OSError: database is down")


def test_other_content_types_are_text_even_when_a_character_is_split() -> None:
    reader = reader_for("text/plain")
    euro = "€".encode()
    assert "".join(piece.text for piece in (*reader.feed(euro[:1]), *reader.feed(euro[1:]), *reader.finish())) == "€"
    assert read(b"\xff", "text/plain")[0].text == "\ufffd"


def test_broken_json_is_malformed() -> None:
    with pytest.raises(MalformedResponseError, match="not JSON"):
        read(b'{"result": ', "application/json")
