from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError, HTTPClientError, ResponseStreamingError
from signed_requests import signed_headers
from urllib3.exceptions import ProtocolError
from waiting import wait_until

from loomlib import local

STREAMING_AGENT = """
import asyncio, gc, os
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload, context):
    gc.collect()  # the SDK leaves a stream that nobody listens to any more to the collector
    try:
        for number in range(payload["count"]):
            yield {"number": number}
            await asyncio.sleep(payload.get("pause_s", 0))
            while "folder" in payload and not os.path.exists(os.path.join(payload["folder"], str(number))):
                await asyncio.sleep(0.01)
    finally:
        print("the stream has ended", flush=True)

if __name__ == "__main__":
    app.run()
"""


def error_of(caught: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_an_answer_carries_session_trace_and_content_type(aws: Any, echo: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    answer, body = aws.invoke(
        echo["agentRuntimeArn"],
        runtimeSessionId=session_id,
        traceParent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        baggage="a=b",
        runtimeUserId="someone",
    )
    assert answer["statusCode"] == 200
    assert answer["runtimeSessionId"] == session_id
    assert answer["contentType"] == "application/json"
    assert answer["traceParent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert answer["traceId"].startswith("Root=1-0af76519-16cd43dd8448eb211c80319c")
    assert answer["baggage"] == "a=b"
    content = json.loads(body)
    assert content["echo"] == {"prompt": "hi"}
    assert content["session"] == session_id
    assert "authorization" not in {name.lower() for name in content["headers"]}


def test_a_session_id_is_made_up_when_none_is_given(aws: Any, echo: dict[str, Any]) -> None:
    path = f"/runtimes/{quote(echo['agentRuntimeArn'], safe='')}/invocations"
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    headers = signed_headers(aws.state, "POST", path, b"{}", headers={"Content-Type": "application/json"})
    connection.request("POST", path, b"{}", headers)
    answer = connection.getresponse()
    session_id = answer.getheader("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", "")
    assert (answer.status, len(session_id)) == (200, 36)
    assert json.loads(answer.read())["session"] == session_id
    assert answer.getheader("traceparent", "").startswith("00-")
    connection.close()


@pytest.mark.parametrize("session_id", ["x" * 32, "x" * 257, "with space" * 5, "slash/" * 8])
def test_a_session_id_out_of_bounds_is_refused(aws: Any, echo: dict[str, Any], session_id: str) -> None:
    client = aws.client("bedrock-agentcore", parameter_validation=False)
    with pytest.raises(ClientError, match="runtimeSessionId must") as caught:
        client.invoke_agent_runtime(agentRuntimeArn=echo["agentRuntimeArn"], runtimeSessionId=session_id, payload=b"{}")
    assert error_of(caught) == ("ValidationException", 400)


def test_sessions_of_33_and_256_characters_are_fine(aws: Any, echo: dict[str, Any]) -> None:
    for length in (33, 256):
        assert aws.invoke(echo["agentRuntimeArn"], runtimeSessionId="i" * length)[0]["statusCode"] == 200


def test_a_stream_arrives_chunk_by_chunk(start_service: Callable[..., Any], tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.mkdir()
    aws = start_service(sandbox_read=(str(read),))
    arn = aws.deploy("streaming", STREAMING_AGENT)["agentRuntimeArn"]
    payload = json.dumps({"count": 3, "folder": str(read)}).encode()
    answer = aws.data.invoke_agent_runtime(agentRuntimeArn=arn, payload=payload)
    assert answer["contentType"].startswith("text/event-stream")
    lines = []
    for line in answer["response"].iter_lines(chunk_size=1):
        if line:
            (read / str(len(lines))).touch()  # the agent goes on when its last line was read
            lines.append(line)
    assert lines == [b'data: {"number": %d}' % number for number in range(3)]


def test_a_client_that_hangs_up_ends_the_agent_s_stream(aws: Any) -> None:
    runtime = aws.deploy("hang_up", STREAMING_AGENT)
    answer = aws.data.invoke_agent_runtime(
        agentRuntimeArn=runtime["agentRuntimeArn"],
        payload=b'{"count": 1000, "pause_s": 0.05}',
        runtimeSessionId="h" * 40,
    )
    answer["response"].read(10)
    answer["response"].close()
    logs = aws.client("logs")
    group = f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"
    (session,) = [item for item in local.status(aws.state.home).sessions if item.session_id == "h" * 40]
    ended = {"logGroupName": group, "filterPattern": '"the stream has ended"'}
    attempts = itertools.count(1)

    def is_over() -> bool:
        """Whether each of the later streams ended, and the one that was left."""
        count = next(attempts)
        assert aws.invoke(runtime["agentRuntimeArn"], b'{"count": 1}', runtimeSessionId="h" * 40)[1]
        return len(logs.filter_log_events(**ended)["events"]) == count + 1

    wait_until(is_over, what="the end of a stream that nobody reads", pause_s=0.3)
    (same,) = [item for item in local.status(aws.state.home).sessions if item.session_id == "h" * 40]
    assert same.pid == session.pid


def test_an_agent_killed_in_mid_stream_is_a_cut_stream_and_not_an_end(aws: Any) -> None:
    arn = aws.deploy("killed", STREAMING_AGENT)["agentRuntimeArn"]
    answer = aws.data.invoke_agent_runtime(
        agentRuntimeArn=arn, payload=b'{"count": 1000, "pause_s": 1}', runtimeSessionId="k" * 40
    )
    answer["response"].read(10)
    (session,) = [item for item in local.status(aws.state.home).sessions if item.session_id == "k" * 40]
    os.kill(session.pid, signal.SIGKILL)
    with pytest.raises((HTTPClientError, ResponseStreamingError, ProtocolError)):
        answer["response"].read()
    _, body = aws.invoke(arn, b'{"count": 1}', runtimeSessionId="k" * 40)
    assert body == b'data: {"number": 0}\n\n'


def test_an_agent_that_raises_is_a_client_error_with_its_words_and_its_log(aws: Any, echo: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as caught:
        aws.invoke(echo["agentRuntimeArn"], b'{"fail": "no more paper"}')
    assert error_of(caught) == ("RuntimeClientError", 424)
    message = caught.value.response["Error"]["Message"]
    assert "500" in message
    assert "no more paper" in message


def test_an_agent_that_dies_at_start_is_a_client_error_with_its_log(aws: Any) -> None:
    code = "print('no luck today', flush=True)\nraise SystemExit(3)"
    arn = aws.deploy("stillborn", code, platformVersion="V1")["agentRuntimeArn"]
    with pytest.raises(ClientError, match="no luck today") as caught:
        aws.invoke(arn)
    assert error_of(caught) == ("RuntimeClientError", 424)


def test_unknown_runtimes_endpoints_and_accounts_are_not_found(aws: Any, echo: dict[str, Any]) -> None:
    arn = echo["agentRuntimeArn"]
    for target in (
        {"agentRuntimeArn": arn[:-1] + ("a" if arn[-1] != "a" else "b")},
        {"agentRuntimeArn": arn.replace("123456789012", "210987654321")},
        {"agentRuntimeArn": arn, "qualifier": "prod"},
        {"agentRuntimeArn": arn, "accountId": "210987654321"},
    ):
        with pytest.raises(ClientError) as caught:
            aws.data.invoke_agent_runtime(payload=b"{}", **target)
        assert error_of(caught) == ("ResourceNotFoundException", 404)


def test_a_runtime_may_be_named_by_its_id_and_account(aws: Any, echo: dict[str, Any]) -> None:
    answer, _ = aws.invoke(echo["agentRuntimeId"], accountId="123456789012", qualifier="DEFAULT")
    assert answer["statusCode"] == 200


def test_a_runtime_that_was_not_made_gives_the_reason(aws: Any) -> None:
    created = aws.create("unmade", aws.upload({"other.py": "pass"}))
    runtime = aws.settled(created["agentRuntimeId"])
    assert (runtime["status"], runtime["failureReason"]) == (
        "CREATE_FAILED",
        "The entry point agent.py is not in the package",
    )
    with pytest.raises(ClientError, match=r"CREATE_FAILED: The entry point agent\.py is not in the package"):
        aws.invoke(created["agentRuntimeArn"])


def test_a_payload_over_100_mb_is_refused_and_one_of_20_mb_is_not(aws: Any, echo: dict[str, Any]) -> None:
    client = aws.client("bedrock-agentcore", parameter_validation=False)
    with pytest.raises(ClientError, match="larger than the maximum") as caught:
        client.invoke_agent_runtime(agentRuntimeArn=echo["agentRuntimeArn"], payload=b"x" * 100_000_001)
    assert error_of(caught) == ("ValidationException", 400)
    payload = json.dumps({"text": "x" * 20_000_000}).encode()
    assert len(aws.invoke(echo["agentRuntimeArn"], payload)[1]) > 20_000_000


def test_an_endless_payload_is_refused_once_it_passes_100_mb(aws: Any, echo: dict[str, Any]) -> None:
    path = f"/runtimes/{quote(echo['agentRuntimeArn'], safe='')}/invocations"
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    pieces = (b"x" * 1_000_000 for _ in range(102))
    connection.request("POST", path, pieces, signed_headers(aws.state, "POST", path), encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 400
    assert json.loads(answer.read())["__type"] == "ValidationException"
    connection.close()


def test_only_allowed_headers_reach_the_agent(aws: Any) -> None:
    colour = "X-Amzn-Bedrock-AgentCore-Runtime-Custom-Colour"
    allowed = {"requestHeaderConfiguration": {"requestHeaderAllowlist": ["X-Team", colour]}}
    arn = aws.deploy("headers", **allowed)["agentRuntimeArn"]
    path = f"/runtimes/{quote(arn, safe='')}/invocations"
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    headers = {
        "X-Team": "loom",
        "X-Secret": "not for agents",
        colour: "blue",
        "X-Amzn-Bedrock-AgentCore-Runtime-Custom-Shape": "round",
    }
    connection.request("POST", path, b"{}", signed_headers(aws.state, "POST", path, b"{}", headers=headers))
    received_headers = {
        name.lower(): value for name, value in json.loads(connection.getresponse().read())["headers"].items()
    }
    connection.close()
    assert received_headers["x-team"] == "loom"
    assert received_headers["x-amzn-bedrock-agentcore-runtime-custom-colour"] == "blue"
    assert "x-secret" not in received_headers
    assert "x-amzn-bedrock-agentcore-runtime-custom-shape" not in received_headers
    assert "authorization" not in received_headers


def test_a_stopped_session_is_gone_and_its_next_call_opens_a_new_one(aws: Any, echo: dict[str, Any]) -> None:
    arn, session_id = echo["agentRuntimeArn"], "stop" * 10
    aws.invoke(arn, runtimeSessionId=session_id)
    (before,) = [item for item in local.status(aws.state.home).sessions if item.session_id == session_id]
    for _ in range(2):  # as boto3 repeats it when an answer is lost
        stopped = aws.data.stop_runtime_session(
            agentRuntimeArn=arn, runtimeSessionId=session_id, clientToken="token" * 8
        )
        assert (stopped["statusCode"], stopped["runtimeSessionId"]) == (200, session_id)
    assert session_id not in {item.session_id for item in local.status(aws.state.home).sessions}
    with pytest.raises(ClientError) as caught:
        aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session_id)
    assert error_of(caught) == ("ResourceNotFoundException", 404)
    aws.invoke(arn, runtimeSessionId=session_id)
    (after,) = [item for item in local.status(aws.state.home).sessions if item.session_id == session_id]
    assert after.pid != before.pid


def test_a_session_stays_with_its_version_while_new_sessions_get_the_new_one(aws: Any) -> None:
    agent = "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n"
    agent += "@app.entrypoint\ndef answer(payload):\n    return {version}\napp.run()\n"
    runtime = aws.deploy("old_and_new", agent.format(version=1))
    arn = runtime["agentRuntimeArn"]
    assert aws.invoke(arn, runtimeSessionId="a" * 40)[1] == b"1"
    aws.control.update_agent_runtime(
        agentRuntimeId=runtime["agentRuntimeId"],
        agentRuntimeArtifact=aws.upload({"agent.py": agent.format(version=2)}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    assert aws.settled(runtime["agentRuntimeId"])["status"] == "READY"
    assert aws.invoke(arn, runtimeSessionId="a" * 40)[1] == b"1"
    assert aws.invoke(arn, runtimeSessionId="b" * 40)[1] == b"2"


def test_agents_call_models_of_the_service(aws: Any) -> None:
    agent = """
import boto3
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()
@app.entrypoint
def answer(payload):
    message = {"role": "user", "content": [{"text": payload["prompt"]}]}
    reply = boto3.client("bedrock-runtime").converse(modelId="anthropic.claude", messages=[message])
    return reply["output"]["message"]["content"][0]["text"]
app.run()
"""
    _, body = aws.invoke(aws.deploy("converses", agent)["agentRuntimeArn"], b'{"prompt": "hello"}')
    assert json.loads(body)


def test_a_converse_stream_comes_as_event_stream_frames(aws: Any) -> None:
    message = {"role": "user", "content": [{"text": "hello"}]}
    runtime = aws.client("bedrock-runtime")
    events = list(runtime.converse_stream(modelId="us.anthropic.claude:0/x", messages=[message])["stream"])
    assert "messageStart" in events[0]
    assert "metadata" in events[-1]
    with pytest.raises(ClientError) as caught:
        runtime.converse(modelId="anthropic.claude", messages=[{"role": "assistant", "content": [{"text": "x"}]}])
    assert error_of(caught) == ("ValidationException", 400)


@pytest.mark.parametrize("quotas", ["sessions_per_minute=1", "invocations_per_s=1", "active_sessions=1"])
def test_quotas_are_enforced_when_asked_for(start_service: Callable[..., Any], quotas: str) -> None:
    aws = start_service(quotas=quotas)
    arn = aws.deploy("limited")["agentRuntimeArn"]
    session_ids = [f"{'q' * 40}{0 if 'invocations' in quotas else number}" for number in range(200)]
    with pytest.raises(ClientError) as caught:
        [aws.invoke(arn, runtimeSessionId=session_id) for session_id in session_ids]
    expected = ("ServiceQuotaExceededException", 402) if "active" in quotas else ("ThrottlingException", 429)
    assert error_of(caught) == expected
