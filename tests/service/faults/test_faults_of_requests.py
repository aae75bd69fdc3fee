"""Requests that break a rule: refused before they are sent, and by the service when something else sends them."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from urllib.parse import quote

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from fault_lab import FaultLab
from signed_requests import signed_headers

import loomlib as loom
from loomlib import local
from loomlib.errors import RequestRejectedError

LIMIT = 100_000_000
MEGABYTE = 1_000_000


class Raw:
    """Requests written by hand, as no AWS client would."""

    def __init__(self, lab: FaultLab, agent: loom.Agent) -> None:
        state = local.find(lab.home)
        assert state is not None
        self._state = state
        self._path = f"/runtimes/{quote(agent.arn, safe='')}/invocations"

    def post(self, body: bytes | Iterator[bytes], **headers: str) -> tuple[int, str, str]:
        """Status, error type and message of the answer."""
        header_fields = {name.replace("_", "-"): value for name, value in headers.items()}
        signed = signed_headers(self._state, "POST", self._path, body if isinstance(body, bytes) else b"")
        connection = http.client.HTTPConnection("127.0.0.1", self._state.port, timeout=60)
        # Refused before the whole body was sent: the answer is there to be read all the same.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(
                "POST", self._path, body, signed | header_fields, encode_chunked="Transfer-Encoding" in header_fields
            )
        try:
            answer = connection.getresponse()
            content = json.loads(answer.read())
        finally:
            connection.close()
        return answer.status, answer.getheader("x-amzn-errortype", ""), content.get("message", "")


@pytest.fixture
def raw(lab: FaultLab, agent: loom.Agent) -> Raw:
    return Raw(lab, agent)


def plain_boto3(agent: loom.Agent, **config: object):
    env = agent.context.environment.environment()
    return boto3.client(
        "bedrock-agentcore",
        endpoint_url=env["AWS_ENDPOINT_URL"],
        region_name=env["AWS_REGION"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}, **config),  # type: ignore[arg-type]
    )


def test_a_payload_over_100_mb_is_refused_before_it_is_stored_or_sent(lab: FaultLab, agent: loom.Agent):
    calls, rows = len(lab.calls()), len(agent.history.table(limit=10_000))
    for give in ({"payload": b"x" * (LIMIT + 1)}, {"prompt": "x" * LIMIT}):
        with pytest.raises(RequestRejectedError, match=r"100\s000\s000.*Try: store the data in S3"):
            agent.invoke(**give)
    assert (len(lab.calls()), len(agent.history.table(limit=10_000))) == (calls, rows)


def test_a_payload_over_100_mb_from_elsewhere_is_refused_by_its_length_without_being_read(lab: FaultLab, raw: Raw):
    before = local.status(lab.home).rss_bytes

    def body() -> Iterator[bytes]:
        for _ in range(102):
            yield b"x" * MEGABYTE

    status, code, message = raw.post(body(), Content_Length=str(102 * MEGABYTE))
    assert (status, code) == (400, "ValidationException")
    assert "100,000,000" in message
    assert local.status(lab.home).rss_bytes - before < 20 * MEGABYTE


def test_a_payload_that_does_not_tell_its_length_is_refused_and_never_held_beyond_100_mb(lab: FaultLab, raw: Raw):
    before = local.status(lab.home).rss_bytes

    def body() -> Iterator[bytes]:
        for _ in range(300):
            yield b"x" * MEGABYTE

    status, code, message = raw.post(body(), Transfer_Encoding="chunked")
    assert (status, code) == (400, "ValidationException")
    assert "100,000,000" in message
    assert local.status(lab.home).rss_bytes - before < 150 * MEGABYTE


def test_boto3_gets_a_validation_error_for_a_payload_over_100_mb(agent: loom.Agent):
    client = plain_boto3(agent)
    with pytest.raises(ClientError) as caught:
        client.invoke_agent_runtime(agentRuntimeArn=agent.arn, payload=b"x" * (LIMIT + MEGABYTE))
    assert caught.value.response["Error"]["Code"] == "ValidationException"
    client.close()
    assert agent.invoke("the service goes on").ok


def test_a_session_id_of_32_characters_is_refused_everywhere(lab: FaultLab, agent: loom.Agent, raw: Raw):
    short, calls, rows = "s" * 32, len(lab.calls()), len(agent.history.table(limit=10_000))
    for ask in (agent.invoke, agent.stream):
        with pytest.raises(RequestRejectedError, match=r"32 characters.*33 to 256"):
            list(ask("?", session_id=short))
    assert len(agent.history.table(limit=10_000)) == rows
    status, code, message = raw.post(b"{}", X_Amzn_Bedrock_AgentCore_Runtime_Session_Id=short)
    assert (status, code) == (400, "ValidationException")
    assert "33 to 256" in message
    client = plain_boto3(agent)
    with pytest.raises(ParamValidationError):
        client.invoke_agent_runtime(agentRuntimeArn=agent.arn, payload=b"{}", runtimeSessionId=short)
    client.close()
    assert len(lab.calls()) == calls
    assert raw.post(b"{}", X_Amzn_Bedrock_AgentCore_Runtime_Session_Id=short + "s")[0] == 200
