"""What the load engine makes of JSON-RPC answers and event streams with the status 200, with bytes split anywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents.answers import JsonReader
from loomlib.aws.load_client import Ended
from loomlib.aws.load_client.evidence import FailureEvidence
from loomlib.aws.load_client.rpc_evidence import RpcEvidence
from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.engine.results import load_call

JSON, EVENTS = {"content-type": "application/json"}, {"content-type": "text/event-stream; charset=utf-8"}

DOWN = b'data: {"error": "the model is down", "error_type": "X"}\n\n'
WORDS = b"".join(b'data: {"data": "%04d words of the answer"}\n\n' % number for number in range(80))
NO_ERROR = b'data: {"data": "the word \\"error\\" is fine", "x": {"error": "of a tool"}, "error": null}\n\n'


def judged(body: bytes, headers: dict[str, str], *, cut: int = 0) -> tuple[dict[str, Any], bool]:
    evidence = RpcEvidence(headers)
    for part in (body[:cut], body[cut:]):
        if part:
            evidence.feed(part)
    text, is_malformed = evidence.outcome()
    return (json.loads(text) if text else {}), is_malformed


def answer(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode()


@pytest.mark.parametrize(
    ("members", "code", "message"),
    [
        ({"error": {"code": -32602, "message": "no tool", "data": {"reason": "x"}}}, -32602, "no tool: x"),
        ({"result": {"isError": True, "content": [{"type": "text", "text": "division by zero"}]}}, None, "division by"),
        ({"result": {"status": {"state": "failed", "message": {"parts": [{"text": "full"}]}}}}, None, "failed: full"),
        ({"result": {"status": {"state": "rejected"}}}, None, "the task was rejected"),
    ],
)
@pytest.mark.parametrize("headers", [JSON, EVENTS])
def test_an_error_inside_an_answer_is_found(
    members: dict[str, object], code: int | None, message: str, headers: dict[str, str]
) -> None:
    body = answer(**members)
    if headers is EVENTS:
        body = (
            b"event: message\r\ndata: "
            + answer(method="notifications/progress")
            + b"\r\n\r\ndata: "
            + body
            + b"\r\n\r\n"
        )
    evidence, is_malformed = judged(body, headers)
    assert (evidence["jsonrpc"], is_malformed) == (code, False)
    assert message in evidence["error"]


@given(st.integers(0, 200))
def test_an_answer_is_no_failure_however_its_bytes_are_split(cut: int) -> None:
    body = answer(result={"content": [{"type": "text", "text": '"error" isError true'}]})
    assert judged(body, JSON, cut=cut) == ({}, False)
    assert judged(b": ping\n\ndata: " + body + b"\n\n", EVENTS, cut=cut) == ({}, False)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"jsonrpc": "2.0", "method": "ping"}', b"data: x\n\n"])
@pytest.mark.parametrize("headers", [JSON, EVENTS])
def test_a_body_without_an_answer_is_malformed(body: bytes, headers: dict[str, str]) -> None:
    assert judged(body, headers) == ({}, True)


def test_the_answer_at_the_end_of_a_long_stream_is_judged() -> None:
    progress = b"data: " + answer(method="notifications/progress", params={"message": "x" * 1000}) + b"\n\n"
    evidence, _ = judged(
        progress * 900 + b"data: " + answer(error={"code": -32603, "message": "late"}) + b"\n\n", EVENTS
    )
    assert evidence["error"] == "late"


def ended(evidence: str, *, status: int = 200, end: str = "complete", kind: str = EVENTS["content-type"]) -> LoadCall:
    return load_call(
        Ended(index=0, session_id="s", intended_ns=0, end=end, status=status, content_type=kind, evidence=evidence)
    )


def streamed(body: bytes, size: int) -> str:
    collected = FailureEvidence(200, EVENTS)
    for at in range(0, len(body), size):
        collected.feed(body[at : at + size])
    return collected.outcome()[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (DOWN, "X: the model is down"),
        (DOWN.rstrip(), "X: the model is down"),
        (b"\xef\xbb\xbf" + DOWN, "X: the model is down"),
        (WORDS + DOWN, "X: the model is down"),
        (NO_ERROR * 50 + DOWN + WORDS, "X: the model is down"),
        (b'data: {"type": "TOOL_CALL_RESULT", "error": "x"}\n\n' + DOWN, "X: the model is down"),
        (b'data: {"x": "' + b"y" * 70_000 + b'"}\n\n' + DOWN, "X: the model is down"),
        (WORDS + b'data: {"type": "RUN_ERROR", "message": "no credit"}\n\n', "no credit"),
        (WORDS + b"event: error\ndata: no\ndata: disk\n\n" + WORDS, "no\ndisk"),
        (b'data: {"error":\ndata: "two lines"}\n\n', "two lines"),
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_error_in_an_event_stream_fails_the_call_however_its_bytes_are_split(
    body: bytes, message: str, line_end: bytes
) -> None:
    body = body.replace(b"\n", line_end)
    evidence = {streamed(body, size) for size in (1, 3, 7, 50, 5_000, len(body))}
    assert len(evidence) == 1
    call = ended(evidence.pop())
    assert (call.failure, call.error_message) == ("agent_error", f"The agent failed while responding: {message}")


@pytest.mark.parametrize("size", [1, 50, 5_000])
def test_an_event_stream_that_only_mentions_errors_stores_no_evidence(size: int) -> None:
    assert streamed(WORDS + NO_ERROR * 50 + b"event: message\ndata: event: error\n\n", size) == ""


def test_the_evidence_of_a_long_stream_of_errors_is_bounded() -> None:
    assert len(streamed(b"event: error\ndata: " + b"x" * 500_000 + b"\n\n" + DOWN * 5_000, 5_000)) < 200_000


def test_an_error_response_that_is_nested_too_deeply_has_the_class_of_its_status() -> None:
    assert ended("[" * 2_000, status=500, end="http_error").failure == "service_error"


def test_an_error_in_a_json_body_may_be_of_any_type() -> None:
    collected = FailureEvidence(200, JSON)
    collected.feed(b'{"error": {"code": 7}, "error_type": ["x"]}')
    assert collected.outcome() == (json.dumps({"error": {"code": 7}, "error_type": ["x"]}), False)


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ({"error": "no disk"}, "agent_error"),
        ({"error": "no disk", "error_type": "OSError", "message": "no disk"}, "agent_error"),
        ({"error": "one of two sources failed", "result": "4"}, None),
        ({"error": "", "result": "4"}, None),
        ({"error": {"message": "x" * 5_000}}, "agent_error"),
    ],
)
def test_a_load_test_counts_the_failures_of_json_answers_that_an_invocation_counts(
    body: dict[str, Any], failure: str | None
) -> None:
    content, reader = json.dumps(body).encode(), JsonReader()
    reader.feed(content)
    (piece,) = reader.finish()
    collected = FailureEvidence(200, JSON)
    collected.feed(content)
    call = ended(collected.outcome()[0], kind=JSON["content-type"])
    assert call.failure == failure
    assert (piece.error is not None) == (failure is not None)
