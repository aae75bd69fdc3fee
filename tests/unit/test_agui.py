"""AG-UI, read: what a stream adds up to, whatever it holds, held against the protocol's own package."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
from ag_ui.core import EventType
from ag_ui.core import events as agui_events
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents import note_of
from loomlib.agents.agui import (
    EVENT_TYPES,
    AguiFold,
    PatchFailed,
    answer_to,
    apply_patch,
    read_event,
    run_input,
)
from loomlib.agents.answers import reader_for

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc/~", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=12,
)


def folded(*events: dict[str, Any]) -> AguiFold:
    fold = AguiFold()
    for event in events:
        assert fold.feed(json.dumps(event)) is not None
    return fold


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_the_types_and_their_required_fields_are_the_packages() -> None:
    assert set(EVENT_TYPES) == {each.value for each in EventType}
    for name, fields in EVENT_TYPES.items():
        model = getattr(agui_events, f"{''.join(part.title() for part in name.split('_'))}Event")
        required = {each.alias for each in model.model_fields.values() if each.is_required()}
        assert set(fields) == required, name


def test_text_tools_and_state_are_put_together() -> None:
    run = folded(
        STARTED,
        {"type": "STATE_SNAPSHOT", "snapshot": {"cart": []}},
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "add"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": '{"n": '},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": "2}"},
        {"type": "TOOL_CALL_END", "toolCallId": "1"},
        {"type": "TOOL_CALL_RESULT", "messageId": "m0", "toolCallId": "1", "content": "done"},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/cart/-", "value": "lamp"}]},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi "},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "there"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": "hm"},
        {"type": "CUSTOM", "name": "mood", "value": None},
        FINISHED,
    ).run()
    assert (run.status, run.text, run.state, run.problems) == ("finished", "Hi there", {"cart": ["lamp"]}, ())
    assert (run.tools[0].arguments, run.tools[0].result, run.tools[0].state) == ({"n": 2}, "done", "done")
    assert [(each.kind, each.text) for each in run.messages] == [("text", "Hi there"), ("reasoning", "hm")]
    assert run.custom == (("mood", None),)
    json.dumps(run.to_dict())


def test_chunks_open_what_they_belong_to() -> None:
    run = folded(
        STARTED,
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "1", "toolCallName": "add", "delta": "{"},
        {"type": "TOOL_CALL_CHUNK", "delta": "}"},
        FINISHED,
    ).run()
    assert (run.text, run.tools[0].arguments_text, run.problems) == ("ab", "{}", ())


def test_a_question_to_a_person_is_listed_until_the_next_run() -> None:
    asks = {"id": "i", "reason": "confirmation", "message": "May it?", "responseSchema": {"type": "object"}}
    fold = folded(STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [asks, {"id": 5}]}})
    run = fold.run()
    assert (run.status, [each.id for each in run.confirmations]) == ("interrupted", ["i"])
    assert run.problems == ("event 2: an interrupt without id and reason",)
    fold.feed(STARTED)
    assert fold.run().confirmations == ()
    assert answer_to("i", approved=True) == {
        "interruptId": "i",
        "status": "resolved",
        "payload": {"approved": True},
    }
    assert answer_to("i")["status"] == "cancelled"
    assert run_input("x", resume=[answer_to("i")])["messages"][-1]["content"] == "x"


def test_unknown_types_are_kept_and_malformed_events_are_reported() -> None:
    fold = folded(
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "early"},
        STARTED,
        {"type": "THINKING_START"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": 5, "delta": "x"},
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nothing"}]},
        {"type": "TOOL_CALL_END", "toolCallId": "?"},
        {"type": "RUN_ERROR", "message": "broke"},
        {"type": "STEP_STARTED", "stepName": "late"},
    )
    run = fold.run()
    assert (run.status, run.error, run.unknown) == ("failed", "broke", ("THINKING_START",))
    assert [each.partition(": ")[2] for each in run.problems] == [
        "TEXT_MESSAGE_CONTENT before RUN_STARTED",
        "TEXT_MESSAGE_CONTENT of a message that was not started",
        "TEXT_MESSAGE_CONTENT: messageId is a int",
        "STATE_DELTA does not apply: operation 0: there is no 'nothing'",
        "TOOL_CALL_END of a call that was not started",
        "STEP_STARTED after the run has ended",
    ]


@pytest.mark.parametrize(
    "data", [b"", b"text", b"[1]", b'"x"', b'{"type": 5}', b'{"type": "tool"}', b"\xff", b"{" * 9999]
)
def test_what_is_no_event_is_none(data: bytes) -> None:
    assert read_event(data) is None


@given(st.lists(st.tuples(st.sampled_from(sorted(EVENT_TYPES)), st.dictionaries(
    st.sampled_from(sorted({name for fields in EVENT_TYPES.values() for name in fields} | {"outcome", "role"})), JSON,
)), max_size=12))  # fmt: skip
def test_nothing_that_a_stream_holds_makes_it_raise(events: list[tuple[str, dict[str, Any]]]) -> None:
    fold = AguiFold()
    for kind, values in events:
        fold.feed(json.dumps({**values, "type": kind}))
    json.dumps(fold.run().to_dict())


@given(JSON, JSON)
def test_a_patch_made_by_another_library_applies(before: Any, after: Any) -> None:
    kept = copy.deepcopy(before)
    patch = jsonpatch.make_patch(before, after).patch
    assert apply_patch(before, patch) == after
    assert before == kept


@pytest.mark.parametrize(
    ("value", "patch"),
    [
        ({}, [{"op": "replace", "path": "/a", "value": 1}]),
        ([1], [{"op": "add", "path": "/2", "value": 1}]),
        ([1], [{"op": "remove", "path": "/01"}]),
        ([1], [{"op": "remove", "path": "/-1"}]),
        ([1], [{"op": "remove", "path": "/-"}]),
        ({"a": {}}, [{"op": "move", "from": "/a", "path": "/a/b"}]),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
        ({}, [{"op": "add", "path": "a", "value": 1}]),
        ({}, [{"op": "add", "path": "/a"}]),
        ({}, [{"op": "paint", "path": "/a"}]),
        ({}, [5]),
        (5, [{"op": "add", "path": "/a", "value": 1}]),
    ],
)
def test_a_patch_that_does_not_apply_says_so(value: Any, patch: list[Any]) -> None:
    with pytest.raises(PatchFailed):
        apply_patch(value, patch)


def test_copies_of_copies_end_before_they_fill_the_machine() -> None:
    fold = AguiFold({"a": ["x"] * 1_000})
    fold.feed({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    for delta in range(3):
        copies = [{"op": "copy", "from": "", "path": f"/{delta}-{place}"} for place in range(60)]
        fold.feed({"type": "STATE_DELTA", "delta": copies})
    run = fold.run()
    assert run.state == {"a": ["x"] * 1_000}
    assert [each.partition(": ")[2] for each in run.problems] == [
        "STATE_DELTA does not apply: operation 8: the copy makes the value too large"
    ] * 3
    assert apply_patch({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}]) == {"a": [1], "b": [1]}


def test_an_event_that_is_nested_too_deeply_is_plain_text() -> None:
    assert note_of(b'{"a":' * 100_000) is None


def test_only_text_messages_are_the_answers_text() -> None:
    events: list[dict[str, Any]] = [
        STARTED,
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": '{"n": 2}'},
        {"type": "TOOL_CALL_RESULT", "messageId": "m0", "toolCallId": "1", "content": "done", "role": "tool"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": "hm"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"},
        {**FINISHED, "result": "Hi"},
    ]
    reader = reader_for("text/event-stream")
    pieces = [
        *reader.feed("".join(f"data: {json.dumps(each)}\n\n" for each in events).encode()),
        *reader.finish(),
    ]
    assert "".join(each.text for each in pieces) == "Hi"
    assert all(each.is_kept for each in pieces)
    note = note_of(pieces[1].data)
    assert note is not None
    assert (note.kind, note.values["type"]) == ("agui", "TOOL_CALL_ARGS")


def test_an_error_event_is_the_agents_error() -> None:
    (piece,) = reader_for("text/event-stream").feed(b'data: {"type": "RUN_ERROR", "message": "no model"}\n\n')
    assert (piece.error, piece.text) == ("no model", "")
