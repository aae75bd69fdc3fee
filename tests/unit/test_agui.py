"""AG-UI, read: what a stream adds up to, whatever it holds, held against the protocol's own package."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
from ag_ui.core import EventType, RunAgentInput
from ag_ui.core import events as agui_events
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents import note_of
from loomlib.agents.agui import (
    EVENT_TYPES,
    AguiFold,
    JsonDocument,
    PatchError,
    answer_to,
    apply_patch,
    conversation_of,
    read_event,
    run_input,
    tool_answer,
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
    assert set(EVENT_TYPES) == {event_type.value for event_type in EventType}
    for name, fields in EVENT_TYPES.items():
        model = getattr(agui_events, f"{''.join(part.title() for part in name.split('_'))}Event")
        required = {field.alias for field in model.model_fields.values() if field.is_required()}
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
    assert [(message.kind, message.text) for message in run.messages] == [("text", "Hi there"), ("reasoning", "hm")]
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
    assert (run.status, [confirmation.id for confirmation in run.confirmations]) == ("interrupted", ["i"])
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


def test_a_run_after_a_failed_one_has_neither_its_error_nor_an_earlier_result() -> None:
    fold = folded(STARTED, {**FINISHED, "result": 5}, STARTED, {"type": "RUN_ERROR", "message": "boom", "code": "X"})
    run = fold.run()
    assert (run.status, run.error, run.error_code, run.result) == ("failed", "boom", "X", None)
    fold.feed(STARTED)
    fold.feed(FINISHED)
    run = fold.run()
    assert (run.status, run.error, run.error_code, run.problems) == ("finished", "", "", ())


@pytest.mark.parametrize("tool_calls", [None, 5, "x", {"id": "y"}])
def test_a_call_joins_a_message_of_a_snapshot_whose_calls_are_no_list(tool_calls: Any) -> None:
    holder = {"id": "a", "role": "assistant", "toolCalls": tool_calls}
    run = folded(
        STARTED,
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": ["x"], "role": "assistant"}, holder, {"id": {}, "role": []}]},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "add", "parentMessageId": "a"},
        FINISHED,
    ).run()
    assert [message["id"] for message in run.history] == [["x"], "a", {}]
    assert [call["id"] for call in run.history[1]["toolCalls"]] == ["c"]


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
    assert [problem.partition(": ")[2] for problem in run.problems] == [
        "TEXT_MESSAGE_CONTENT before RUN_STARTED",
        "TEXT_MESSAGE_CONTENT of a message that was not started",
        "TEXT_MESSAGE_CONTENT: messageId has the wrong type int",
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
    original = copy.deepcopy(before)
    patch = jsonpatch.make_patch(before, after).patch
    assert apply_patch(before, patch) == after
    assert before == original


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
def test_a_patch_that_does_not_apply_reports_it(value: Any, patch: list[Any]) -> None:
    with pytest.raises(PatchError):
        apply_patch(value, patch)


def test_copies_of_copies_end_before_they_fill_the_machine() -> None:
    fold = AguiFold({"a": ["x"] * 1_000})
    fold.feed({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    for delta in range(3):
        copies = [{"op": "copy", "from": "", "path": f"/{delta}-{place}"} for place in range(60)]
        fold.feed({"type": "STATE_DELTA", "delta": copies})
    run = fold.run()
    assert run.state == {"a": ["x"] * 1_000}
    assert [problem.partition(": ")[2] for problem in run.problems] == [
        "STATE_DELTA does not apply: operation 8: the copy makes the value too large"
    ] * 3
    assert apply_patch({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}]) == {"a": [1], "b": [1]}


def test_a_patch_that_fails_half_way_leaves_everything_as_it_was() -> None:
    before = {"a": [1, {"b": "x"}, 3], "c": {"d": "old"}, "e": "keep"}
    document = JsonDocument(before)
    changes = [
        {"op": "replace", "path": "/a/1/b", "value": "y"},
        {"op": "add", "path": "/a/0", "value": {"new": []}},
        {"op": "move", "from": "/a/2", "path": "/c/moved"},
        {"op": "copy", "from": "/c", "path": "/a/-"},
        {"op": "remove", "path": "/e"},
        {"op": "add", "path": "/c/d", "value": "other"},
        {"op": "replace", "path": "", "value": [1]},
        {"op": "add", "path": "", "value": {"f": 1}},
        {"op": "remove", "path": ""},
    ]
    for count in range(len(changes) + 1):
        with pytest.raises(PatchError, match=f"operation {count}: "):
            document.apply([*changes[:count], {"op": "remove", "path": "/nothing"}])
        assert document.snapshot() == before
    document.apply(changes)
    assert document.snapshot() is None


@given(JSON, st.lists(st.tuples(JSON, st.booleans()), max_size=5))
def test_a_document_is_what_patching_copies_one_by_one_gives(first: Any, steps: list[tuple[Any, bool]]) -> None:
    document, expected = JsonDocument(first), first
    for after, fails in steps:
        patch = jsonpatch.make_patch(expected, after).patch
        if fails:
            with pytest.raises(PatchError):
                document.apply([*patch, {"op": "remove", "path": "/no/such/place"}])
        else:
            document.apply(patch)
            expected = after
        assert document.snapshot() == expected


def test_a_state_is_copied_when_it_is_asked_for_and_never_before() -> None:
    class Watched(list[Any]):
        """Counts how often it is read through, which every copy and every measuring does."""

        reads = 0

        def __iter__(self) -> Any:
            Watched.reads += 1
            return super().__iter__()

    fold = folded(STARTED)
    fold._state._value = {"rows": Watched([0]), "n": 0}
    for count in range(50):
        changes = [
            {"op": "add", "path": "/rows/-", "value": count},
            {"op": "replace", "path": "/n", "value": count},
            {"op": "test", "path": "/n", "value": count},
        ]
        fold.feed({"type": "STATE_DELTA", "delta": changes})
    assert Watched.reads == 0
    state = fold.run().state
    assert (len(state["rows"]), state["n"], fold.run().state is state) == (51, 49, True)
    fold.feed({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/rows/-", "value": "later"}]})
    assert (len(state["rows"]), len(fold.run().state["rows"])) == (51, 52)


def test_what_an_event_brought_is_not_changed_by_later_patches() -> None:
    snapshot: dict[str, Any] = {"type": "STATE_SNAPSHOT", "snapshot": {"cart": []}}
    delta: dict[str, Any] = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/last", "value": []}]}
    fold = AguiFold()
    for event in (STARTED, snapshot, delta):
        fold.feed(event)
    for place in ("/cart/-", "/last/-"):
        fold.feed({"type": "STATE_DELTA", "delta": [{"op": "add", "path": place, "value": 1}]})
    assert fold.run().state == {"cart": [1], "last": [1]}
    assert (snapshot["snapshot"], delta["delta"][0]["value"]) == ({"cart": []}, [])


def test_a_state_that_patches_nest_ever_deeper_ends_before_nothing_can_write_it() -> None:
    fold = folded(STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {}})
    for depth in range(1_000):
        fold.feed({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a" * (depth + 1), "value": {}}]})
    for _ in range(300):
        deeper = [{"op": "copy", "from": "", "path": "/b"}, {"op": "move", "from": "/b", "path": "/a/a/a/b"}]
        fold.feed({"type": "STATE_DELTA", "delta": deeper})
    run = fold.run()
    assert "nested too deeply" in run.problems[0]
    json.dumps(run.to_dict())
    nested: Any = {}
    for _ in range(300):
        nested = [nested]
    fold.feed({"type": "STATE_SNAPSHOT", "snapshot": nested})
    assert fold.run().state == run.state


def test_a_conversation_that_comes_whole_is_the_answer_of_an_agent_that_streams_nothing() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"n": 2}'}}
    messages: list[dict[str, Any]] = [
        {"id": "u0", "role": "user", "content": "Hello"},
        {"id": "a0", "role": "assistant", "content": "Hello yourself"},
        {"id": "u1", "role": "user", "content": "Add two"},
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
        {"id": "r1", "role": "tool", "toolCallId": "c", "content": "added"},
        {"id": "a2", "role": "assistant", "content": [{"type": "text", "text": "Done"}]},
    ]
    events = [STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": [*messages, 5, {"id": 5}]}, FINISHED]
    run = folded(*events).run()
    assert (run.text, run.problems, run.is_full_history) == ("Done", (), True)
    assert (run.tools[0].name, run.tools[0].arguments, run.tools[0].result) == ("add", {"n": 2}, "added")
    assert list(run.history)[: len(messages)] == messages
    reader = reader_for("text/event-stream")
    pieces = list(reader.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()))
    assert "".join(piece.text for piece in pieces) == "Done"


def test_the_next_run_is_sent_what_was_said() -> None:
    run = folded(
        STARTED,
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Looking"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "find", "parentMessageId": "m"},
        {"type": "TOOL_CALL_END", "toolCallId": "1"},
        {"type": "TOOL_CALL_START", "toolCallId": "2", "toolCallName": "ask_person"},
        {"type": "TOOL_CALL_END", "toolCallId": "2"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "1", "content": "found"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "sealed"},
        FINISHED,
    ).run()

    def call(id: str, name: str) -> dict[str, Any]:
        return {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}

    first = {"id": "m", "role": "assistant", "content": "Looking", "encryptedValue": "sealed"}
    messages = conversation_of([("u", "Find it", run), ("v", "And?", None)])
    assert messages == [
        {"id": "u", "role": "user", "content": "Find it"},
        {**first, "toolCalls": [call("1", "find")]},
        {"id": "call-2", "role": "assistant", "toolCalls": [call("2", "ask_person")]},
        {"id": "r", "role": "tool", "toolCallId": "1", "content": "found"},
        {"id": "v", "role": "user", "content": "And?"},
    ]
    RunAgentInput.model_validate(run_input("Go on", messages=[*messages, tool_answer("2", "yes")]))


def test_a_broken_run_sends_no_call_on_that_nobody_answered() -> None:
    fold = folded(
        STARTED,
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "find"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": "{"},
        {"type": "STEP_STARTED", "stepName": "search"},
        {"type": "RUN_ERROR", "message": "broke", "code": "E1", "usage": [{"model": "m", "inputTokens": 5}]},
    )
    run = fold.run()
    assert (run.status, run.error, run.error_code, run.tools[0].state) == ("failed", "broke", "E1", "cut off")
    assert (run.history, run.running_steps, run.usage) == ((), (), ({"model": "m", "inputTokens": 5},))


def test_a_stream_that_ends_before_its_run_does_was_cut_off() -> None:
    fold = folded(STARTED, {"type": "STEP_STARTED", "stepName": "search"})
    assert (fold.run().status, fold.run().running_steps) == ("running", ("search",))
    fold.end()
    fold.end()
    assert (fold.run().status, fold.run().problems) == ("cut off", ("event 2: the stream ended before the run did",))


def test_events_without_the_ids_that_nothing_needs_are_taken_and_reported() -> None:
    run = folded(
        {"type": "RUN_STARTED"},
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "find"},
        {"type": "TOOL_CALL_RESULT", "toolCallId": "1", "content": "found"},
        {"type": "TOOL_CALL_RESULT", "messageId": "m", "content": "of nothing"},
        {"type": "RUN_ERROR"},
    ).run()
    assert (run.status, run.error, run.tools[0].result) == ("failed", "The agent did not report what failed", "found")
    assert [problem.partition(": ")[2] for problem in run.problems] == [
        "RUN_STARTED without threadId",
        "TOOL_CALL_RESULT without messageId",
        "TOOL_CALL_RESULT without toolCallId",
        "TOOL_CALL_RESULT of a call that was not started",
        "RUN_ERROR without message",
    ]


def test_steps_activities_and_subagents_are_followed() -> None:
    activity = {"messageId": "p", "activityType": "PLAN"}
    fold = folded(
        STARTED,
        {"type": "STEP_STARTED", "stepName": "one"},
        {"type": "STEP_FINISHED", "stepName": "one"},
        {"type": "STEP_FINISHED", "stepName": "two"},
        {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {"done": []}},
        {"type": "ACTIVITY_DELTA", **activity, "patch": [{"op": "add", "path": "/done/-", "value": 1}]},
        {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {}, "replace": False},
        {"type": "ACTIVITY_DELTA", "messageId": "?", "activityType": "PLAN", "patch": []},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "searcher"},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "t", "name": "writer"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no net"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "other"},
    )
    run = fold.run()
    assert (run.steps, run.activities[0].content) == (("one",), {"done": [1]})
    assert [(subagent.name, subagent.state, subagent.error) for subagent in run.subagents] == [
        ("searcher", "failed", "no net"),
        ("writer", "cut off", ""),
    ]
    assert [problem.partition(": ")[2] for problem in run.problems] == [
        "STEP_FINISHED of a step that was not started",
        "ACTIVITY_DELTA of an activity that has no snapshot",
        "RUN_FINISHED of a run other than the one that was started",
    ]


def test_two_messages_are_two_paragraphs_and_a_persons_own_are_not_the_answer() -> None:
    events: list[dict[str, Any]] = [
        STARTED,
        {"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "the question"},
        {"type": "TEXT_MESSAGE_START", "messageId": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Let me "},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "look."},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "It is"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": " here."},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "b", "role": "assistant", "content": "It is here."}]},
        FINISHED,
    ]
    reader = reader_for("text/event-stream")
    pieces = list(reader.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()))
    assert "".join(piece.text for piece in pieces) == folded(*events).run().text == "Let me look.\n\nIt is here."


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
        *reader.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()),
        *reader.finish(),
    ]
    assert "".join(piece.text for piece in pieces) == "Hi"
    assert all(piece.is_protocol_event for piece in pieces)
    note = note_of(pieces[1].data)
    assert note is not None
    assert (note.kind, note.values["type"]) == ("agui", "TOOL_CALL_ARGS")


def test_an_error_event_is_the_agents_error() -> None:
    (piece,) = reader_for("text/event-stream").feed(b'data: {"type": "RUN_ERROR", "message": "no model"}\n\n')
    assert (piece.error, piece.text) == ("no model", "")
