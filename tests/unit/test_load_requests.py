"""Requests of the load engine beside botocore's, and its reader of responses with bytes split anywhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from loomlib.aws.load_client import RequestForm, Secrets, call_trace_id
from loomlib.aws.load_client.requests import SignedRequests, request_maker
from loomlib.aws.load_client.response import FramingError, ResponseReader
from loomlib.aws.load_client.trace_ids import call_traceparent

ARN = "arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2Fname-AbC123dEf4"
URL = f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{ARN}/invocations?qualifier=DEFAULT"
SESSION_HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


@pytest.mark.parametrize("token", ["", "a-session-token/with+signs=="])
@pytest.mark.parametrize("body", [b"", b'{"prompt": "x"}', bytes(range(256)) * 300])
def test_a_signature_is_that_of_botocore(token: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", "X-Amzn-A": "b  c"}
    form = RequestForm(
        url=URL,
        headers={**headers, "Accept-Encoding": "identity"},
        session_header=SESSION_HEADER,
        region="us-east-1",
        service="bedrock-agentcore",
        timeout_s=1,
    )
    maker = SignedRequests(form, Secrets(access_key="AKID", secret_key="hidden/key", session_token=token))
    head, _, sent_body = maker.make("a-session", body).partition(b"\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert sent_body == body
    auth = SigV4Auth(Credentials("AKID", "hidden/key", token or None), "bedrock-agentcore", "us-east-1")
    request: Any = AWSRequest(method="POST", url=URL, data=body, headers={**headers, SESSION_HEADER: "a-session"})
    request.context["timestamp"] = lines["X-Amz-Date"]
    request.headers["X-Amz-Date"] = lines["X-Amz-Date"]
    if token:
        request.headers["X-Amz-Security-Token"] = token
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert lines["Authorization"].endswith(f"Signature={signature}")
    assert lines["Host"] == "bedrock-agentcore.us-east-1.amazonaws.com"
    assert lines["Content-Length"] == str(len(body))


@pytest.mark.parametrize("region", ["us-east-1", None])
def test_a_trace_context_is_sent_and_not_signed(region: str | None) -> None:
    form = RequestForm(
        url=URL, headers={}, session_header=SESSION_HEADER, region=region, service="bedrock-agentcore", timeout_s=1
    )
    maker = request_maker(form, Secrets(access_key="AKID", secret_key="hidden/key"))
    context = call_traceparent(0x67000000, "a-session", 7)
    trace_id = call_trace_id(0x67000000, "a-session", 7)
    assert re.fullmatch(rf"00-{trace_id}-[0-9a-f]{{16}}-01", context)
    assert trace_id.startswith("67000000")
    assert trace_id != call_trace_id(0x67000000, "a-session", 8)
    head, _, body = maker.make("a-session", b"{}", context).partition(b"\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert (lines["traceparent"], lines[SESSION_HEADER], body) == (context, "a-session", b"{}")
    assert "traceparent" not in lines.get("Authorization", "")


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
)
COUNTED = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nabc0123456789"


@given(cuts=st.lists(st.integers(0, 120)), response=st.sampled_from([CHUNKED, COUNTED]))
def test_a_response_has_the_same_body_wherever_its_bytes_are_split(cuts: list[int], response: bytes) -> None:
    reader, body = ResponseReader(), b""
    ends = [*sorted(min(cut, len(response)) for cut in cuts), len(response)]
    for begin, end in zip([0, *ends], ends, strict=False):
        if begin < end:
            assert not reader.complete
            body += reader.feed(response[begin:end])
    assert (reader.status, body, reader.complete, reader.reusable) == (200, b"abc0123456789", True, True)


def test_a_body_without_a_length_ends_with_its_connection_and_a_counted_one_does_not() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\nall of it") == b"all of it"
    assert not reader.complete
    assert reader.close()
    cut = ResponseReader()
    cut.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
    assert not cut.close()


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"x" * 70_000,
    ],
)
def test_bytes_that_are_no_response_are_refused(response: bytes) -> None:
    with pytest.raises(FramingError):
        ResponseReader().feed(response)
