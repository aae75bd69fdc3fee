"""What the load engine makes of JSON-RPC answers with the status 200, with bytes split anywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.aws.load_client.rpc_evidence import RpcEvidence

JSON, EVENTS = {"content-type": "application/json"}, {"content-type": "text/event-stream; charset=utf-8"}


def judged(body: bytes, headers: dict[str, str], *, cut: int = 0) -> tuple[dict[str, Any], bool]:
    evidence = RpcEvidence(headers)
    for part in (body[:cut], body[cut:]):
        if part:
            evidence.feed(part)
    text, is_malformed = evidence.found()
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
