"""The format of an agent's messages: bodies, answers, errors, and what a probe finds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents import AgentEntry, RuntimeArn
from loomlib.agents.answers import Piece, reader_for
from loomlib.agents.catalog_file import catalog_text, read_catalog_text
from loomlib.agents.format_probe import FormatTrial, FoundFormat, confirm_format, find_format, read_trial
from loomlib.agents.message_format import MessageFormat, read_message_format
from loomlib.agents.payloads import make_payload
from loomlib.errors import MalformedResponseError

TOOLKIT = MessageFormat(request={"message": "{prompt}"}, answer="result.response", error="result.error")


def read(body: bytes, content_type: str, form: MessageFormat) -> list[Piece]:
    reader = reader_for(content_type, form)
    return [*reader.feed(body), *reader.finish()]


def in_json(value: object, form: MessageFormat = TOOLKIT) -> Piece:
    (piece,) = read(json.dumps(value).encode(), "application/json", form)
    return piece


@given(st.text(), st.text(min_size=1))
def test_a_prompt_and_a_session_stand_in_the_body_as_they_are(prompt: str, session: str) -> None:
    form = MessageFormat(request={"input": [{"text": "Q: {prompt}", "n": 1}], "thread": "{session_id}", "k": None})
    assert form.body(prompt, session) == {"input": [{"text": f"Q: {prompt}", "n": 1}], "thread": session, "k": None}


def test_a_prompt_is_sent_in_the_form_and_stored_as_the_prompt() -> None:
    payload = make_payload("hi {session_id}", form=TOOLKIT, session_id="s")
    assert json.loads(payload.body) == {"message": "hi {session_id}"}
    assert payload.prompt == "hi {session_id}"
    assert payload.digest == make_payload("hi {session_id}").digest, "the same question, whatever its form"


def test_fields_of_a_payload_go_beside_the_prompt() -> None:
    payload = make_payload("hi", {"state": {"a": 1}}, form=TOOLKIT, session_id="s")
    assert json.loads(payload.body) == {"message": "hi", "state": {"a": 1}}


def test_the_answer_and_the_error_are_read_at_their_paths() -> None:
    assert in_json({"result": {"response": "four"}, "message": "ok"}) == Piece(
        text="four", data=json.dumps({"result": {"response": "four"}, "message": "ok"}).encode()
    )
    assert in_json({"result": {"error": "no budget"}}).error == "no budget"
    assert in_json({"result": {"response": {"n": 4}}}).text == '{"n": 4}'


def test_an_answer_without_its_path_is_malformed_and_not_empty() -> None:
    with pytest.raises(MalformedResponseError, match=r"no text at result\.response"):
        in_json({"result": {"reply": "four"}})


def test_the_events_of_a_stream_are_read_at_the_path() -> None:
    form = MessageFormat(request={"q": "{prompt}"}, answer="choices[0].delta.content", error="fault.reason")
    events = [{"choices": [{"delta": {"content": word}}]} for word in ("fo", "ur")]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, {"usage": 3}]).encode()
    assert "".join(piece.text for piece in read(body, "text/event-stream", form)) == "four"
    (piece,) = read(b'data: {"fault": {"reason": "throttled"}}\n\n', "text/event-stream", form)
    assert (piece.text, piece.error) == ("", "throttled")


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"request": {"message": "hi"}}, "needs the placeholder"),
        ({"answer": "result."}, "is not a JMESPath expression"),
        ({"error": "a[[0]"}, "is not a JMESPath expression"),
        ({"answer": "(" * 2_000}, r"^'\({200}' is not a JMESPath expression"),
    ],
)
def test_a_form_that_cannot_work_is_refused(members: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        MessageFormat(**members)


def test_a_form_survives_its_storage() -> None:
    assert read_message_format(TOOLKIT.members()) == TOOLKIT
    assert read_message_format({}) is None


def test_the_placeholders_of_a_form_survive_an_export_and_secrets_do_not() -> None:
    arn = RuntimeArn.parse("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4")
    request = {"session_token": "{session_id}", "password": [{"text": "{prompt}"}], "api_key": "k-1"}
    entry = AgentEntry(
        id=1,
        arn=arn,
        name="name",
        status="READY",
        registered_at=datetime(2026, 1, 1, tzinfo=UTC),
        message_format=MessageFormat(request=request),
    )
    (agent,) = read_catalog_text(catalog_text("aws", [entry], {}), where="file").agents
    assert agent.message_format is not None
    assert agent.message_format.request == {**request, "api_key": "[secret]"}


def trial(value: object, request: dict[str, Any] | None = None) -> FormatTrial:
    return read_trial(request or {"message": "{prompt}"}, "application/json", [json.dumps(value).encode()])


def found(answer: FormatTrial, control: FormatTrial) -> FoundFormat | str:
    return find_format(answer, control, "What is 2 + 2?")


def test_an_answer_that_only_a_prompt_brings_shows_the_form() -> None:
    result = found(trial({"result": {"response": "It is 4."}}), FormatTrial(request={}, failure="500"))
    assert isinstance(result, FoundFormat)
    assert (result.form.request, result.form.answer, result.text) == ({"message": "{prompt}"}, "", "It is 4.")


@pytest.mark.parametrize("name", ["réponse", "result٣", "回答", "a b"])
def test_an_answer_is_found_in_a_field_of_any_name(name: str) -> None:
    result = found(trial({name: "It is 4."}), FormatTrial(request={}, failure="500"))
    assert isinstance(result, FoundFormat)
    assert in_json({name: "It is 8."}, result.form).text == "It is 8."


def test_an_agent_that_ignores_the_field_shows_nothing() -> None:
    greeting = {"response": "Hello, how can I help?", "id": "0f8fad5b-d9cb-469f-a165-70867728950e"}
    again = {**greeting, "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}
    assert found(trial(again), trial(greeting)) == "it answers the same without a prompt"


def test_a_constant_text_at_a_usual_place_is_no_answer() -> None:
    result = found(
        trial({"message": "success", "payload": {"said": "It is 4."}}), trial({"message": "success", "payload": {}})
    )
    assert isinstance(result, FoundFormat)
    assert (result.form.answer, result.text) == ("payload.said", "It is 4.")


def test_a_text_that_every_prompt_brings_is_not_taken_for_the_answer() -> None:
    first, failed = trial({"message": "done", "output": {"final": "It is 4."}}), FormatTrial(request={}, failure="500")
    result = found(first, failed)
    assert isinstance(result, FoundFormat)
    other = trial({"message": "done", "output": {"final": "It is 8."}})
    confirmed = confirm_format(result, first, other, "What is 2 + 2?")
    assert (confirmed.form.answer, confirmed.text) == ("output.final", "It is 4.")
    assert confirm_format(result, first, FormatTrial(request={}, failure="throttled"), "?") == result


def test_an_error_inside_a_200_is_no_answer_and_gives_the_errors_path() -> None:
    refused = {"status": "error", "detail": "message is required"}
    assert found(trial(refused), trial(refused)) == "it returns an error: message is required"
    result = found(trial({"status": "ok", "reply": "It is 4."}), trial(refused))
    assert isinstance(result, FoundFormat)
    assert result.form.error == "status == 'error' && detail"
    assert in_json({"status": "error", "detail": "over budget"}, result.form).error == "over budget"
    assert in_json({"status": "ok", "reply": "It is 4."}, result.form).text == "It is 4."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
def test_whatever_an_agent_answers_a_form_that_is_found_reads_its_answer(value: object, control: object) -> None:
    result = found(trial(value), trial(control))
    if isinstance(result, FoundFormat):
        assert in_json(value, result.form).text == result.text
