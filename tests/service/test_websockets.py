from __future__ import annotations

import json
import uuid
import warnings
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from signed_requests import signed_headers
from waiting import PATIENCE_S, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection as Connection
from websockets.sync.client import connect as connect_now

from loomlib import local

SOCKET_AGENT = """
import asyncio, os
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()
sent = [0]

@app.entrypoint
def answer(payload, context):
    return {"pid": os.getpid()}

@app.websocket
async def talk(websocket, context):
    if "refuse" in websocket.query_params:
        await websocket.close(code=1008)
        return
    offered = websocket.scope["subprotocols"]
    await websocket.accept(subprotocol=offered[-1] if offered else None)
    print("a socket is open", flush=True)
    try:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                print("client closed", message.get("code"), message.get("reason"), flush=True)
                return
            text = message.get("text")
            if text is None:
                await websocket.send_bytes(message["bytes"][::-1])
            elif text == "who":
                headers = {name: value for name, value in websocket.headers.items() if name.startswith("x-amzn")}
                await websocket.send_json({"pid": os.getpid(), "session": context.session_id, "headers": headers,
                                           "query": dict(websocket.query_params)})
            elif text == "close":
                await websocket.close(code=4321, reason="as asked")
                return
            elif text == "crash":
                os._exit(3)
            elif text.startswith("send "):
                await websocket.send_text("x" * int(text[5:]))
            elif text.startswith("flood "):
                for sent[0] in range(int(text[6:])):
                    await websocket.send_text(f"{sent[0]}:" + "y" * 20_000)
            elif text == "sent":
                await websocket.send_text(str(sent[0]))
            else:
                await websocket.send_text(text.upper())
    except Exception as error:
        print("socket failed:", error, flush=True)
        raise

if __name__ == "__main__":
    app.run()
"""


CALLING_AGENT = """
import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore._utils import endpoints
from bedrock_agentcore.runtime.agent_core_runtime_client import AgentCoreRuntimeClient
from websockets.sync.client import connect
from websockets.exceptions import InvalidStatus

endpoints.DP_ENDPOINT_OVERRIDE = None
app = BedrockAgentCoreApp()

@app.entrypoint
def call(payload):
    region = payload["arn"].split(":")[3]
    client = AgentCoreRuntimeClient(session=boto3.Session(region_name=region))
    url, headers = client.generate_ws_connection(payload["arn"])
    url = url.replace(f"wss://bedrock-agentcore.{region}.amazonaws.com", f"ws://127.0.0.1:{payload['port']}")
    try:
        with connect(url, additional_headers=headers, open_timeout=120) as socket:
            socket.send("hello")
            return socket.recv()
    except InvalidStatus as refused:
        return [refused.response.status_code, refused.response.body.decode()]

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def talker(aws: Any) -> dict[str, Any]:
    allowed = {"requestHeaderAllowlist": ["X-Amzn-Bedrock-AgentCore-Runtime-Custom-Team"]}
    return aws.deploy("socket_agent", SOCKET_AGENT, requestHeaderConfiguration=allowed)


@pytest.fixture
def sdk(aws: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """AgentCore's SDK, with boto3's endpoint variable as `loom up --export` sets it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK declares its models in pydantic's older form
        from bedrock_agentcore.runtime.agent_core_runtime_client import AgentCoreRuntimeClient
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.state.url)
    monkeypatch.setattr("bedrock_agentcore._utils.endpoints.DP_ENDPOINT_OVERRIDE", None)  # it refuses 127.0.0.1
    session = boto3.Session(
        aws_access_key_id=aws.state.access_key,
        aws_secret_access_key=aws.state.secret_key,
        region_name=aws.state.region,
    )
    return AgentCoreRuntimeClient(session=session)


def here(url: str, state: local.ServiceState) -> str:
    return url.replace(f"wss://bedrock-agentcore.{state.region}.amazonaws.com", f"ws://127.0.0.1:{state.port}")


def opened(aws: Any, arn: str, session_id: str = "", query: str = "", *, unquoted: str = "", **more: Any) -> Connection:
    """A WebSocket whose opening request is signed in its header fields."""
    path = f"/runtimes/{quote(arn, safe=unquoted)}/ws{query}"
    fields = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session_id or str(uuid.uuid4())}
    headers = signed_headers(aws.state, "GET", path, b"", service="bedrock-agentcore", headers=fields)
    headers.pop("Host", None)
    address = f"ws://127.0.0.1:{aws.state.port}{path}"
    return connect_now(address, additional_headers=headers, open_timeout=PATIENCE_S, **more)


def asked(socket: Connection, text: str) -> Any:
    socket.send(text)
    return socket.recv(timeout=PATIENCE_S)


def test_the_sdks_header_fields_open_a_socket_unchanged(aws: Any, talker: dict[str, Any], sdk: Any) -> None:
    session_id = str(uuid.uuid4())
    url, headers = sdk.generate_ws_connection(talker["agentRuntimeArn"], session_id=session_id)
    with connect_now(here(url, aws.state), additional_headers=headers, open_timeout=PATIENCE_S) as socket:
        session_info = json.loads(asked(socket, "who"))
        assert session_info["session"] == session_id
        assert asked(socket, "hello") == "HELLO"
        assert socket.response.headers["X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"] == session_id
    _, body = aws.invoke(talker["agentRuntimeArn"], runtimeSessionId=session_id)
    assert json.loads(body)["pid"] == session_info["pid"]


def test_the_sdks_presigned_address_opens_a_socket(aws: Any, talker: dict[str, Any], sdk: Any) -> None:
    custom = {"X-Amzn-Bedrock-AgentCore-Runtime-Custom-Team": "blue", "mode": "voice"}
    session_id = str(uuid.uuid4())
    url = sdk.generate_presigned_url(
        talker["agentRuntimeArn"], session_id=session_id, endpoint_name="DEFAULT", custom_headers=custom
    )
    with connect_now(here(url, aws.state), open_timeout=PATIENCE_S) as socket:
        session_info = json.loads(asked(socket, "who"))
    assert session_info["session"] == session_id
    assert session_info["headers"]["x-amzn-bedrock-agentcore-runtime-custom-team"] == "blue"
    assert session_info["query"] == {"mode": "voice"}  # neither the signature nor what the platform reads


@pytest.mark.parametrize("unquoted", [":/", "/"])
def test_the_arn_in_an_address_may_be_as_it_is(aws: Any, talker: dict[str, Any], unquoted: str) -> None:
    with opened(aws, talker["agentRuntimeArn"], unquoted=unquoted, query="?qualifier=DEFAULT") as socket:
        assert asked(socket, "hello") == "HELLO"


def test_text_bytes_and_subprotocols_pass(aws: Any, talker: dict[str, Any]) -> None:
    with opened(aws, talker["agentRuntimeArn"], subprotocols=["one", "two"]) as socket:
        assert socket.subprotocol == "two"
        assert asked(socket, "é") == "É"
        socket.send(b"\x00\x01\xff")
        assert socket.recv(timeout=PATIENCE_S) == b"\xff\x01\x00"
        socket.send(["in ", "pieces"])
        assert socket.recv(timeout=PATIENCE_S) == "IN PIECES"
        assert socket.ping().wait(PATIENCE_S)


def test_a_restored_session_has_websockets_as_a_booted_one(aws: Any) -> None:
    runtime = aws.deploy("restored_talker", SOCKET_AGENT, platformVersion="V2")
    with opened(aws, runtime["agentRuntimeArn"]) as socket:
        assert asked(socket, "hello") == "HELLO"
        with pytest.raises(ConnectionClosed) as closed:
            asked(socket, "crash")
    assert closed.value.rcvd is not None
    assert "ended with exit code 3" in closed.value.rcvd.reason


def test_both_sides_close_with_their_code(aws: Any, talker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    with opened(aws, talker["agentRuntimeArn"], session_id) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            asked(socket, "close")
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4321, "as asked")
    with opened(aws, talker["agentRuntimeArn"], session_id) as socket:
        socket.close(4100, "enough")
    wait_until(lambda: "client closed 4100 enough" in output_of(aws, talker, session_id), what="the agent's log line")


def test_an_ended_session_closes_its_sockets(aws: Any, talker: dict[str, Any]) -> None:
    arn, session_id = talker["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session_id) as socket:
        asked(socket, "hello")
        aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session_id)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE_S)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "The session was stopped")


def test_a_crashed_agent_closes_with_its_exit_code(aws: Any, talker: dict[str, Any]) -> None:
    with opened(aws, talker["agentRuntimeArn"]) as socket, pytest.raises(ConnectionClosed) as closed:
        asked(socket, "crash")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    assert "ended with exit code 3" in closed.value.rcvd.reason


def test_an_open_socket_keeps_a_session_from_being_idle(aws: Any) -> None:
    runtime = aws.deploy("patient", SOCKET_AGENT, environmentVariables={"LOOM_LOCAL_IDLE_TIMEOUT_S": "1"})
    arn, session_id = runtime["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session_id) as socket:
        first = json.loads(asked(socket, "who"))["pid"]
        other = str(uuid.uuid4())
        aws.invoke(arn, runtimeSessionId=other)
        wait_until(lambda: not is_active(aws, other), what="the end of an idle session that began later")
        assert json.loads(asked(socket, "who"))["pid"] == first
    wait_until(lambda: not is_active(aws, session_id), what="the end of the session whose socket closed")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"access_key": "AKIANOBODY"}, 403, "UnrecognizedClientException"),
        ({"secret_key": "wrong"}, 403, "InvalidSignatureException"),
        ({"headers": {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": "short"}}, 400, "ValidationException"),
        ({"path": "/runtimes/arn%3Aaws%3Anothing/ws"}, 404, "ResourceNotFoundException"),
        ({"query": "?qualifier=NONE"}, 404, "ResourceNotFoundException"),
        ({"query": "?refuse=1"}, 424, "RuntimeClientError"),
        ({"path": "/elsewhere"}, 501, "NotImplementedException"),
        ({"service": "s3"}, 501, "NotImplementedException"),
    ],
)
def test_a_refusal_is_an_error_of_aws(
    aws: Any, talker: dict[str, Any], change: dict[str, Any], status: int, code: str
) -> None:
    path = change.pop("path", f"/runtimes/{quote(talker['agentRuntimeArn'], safe='')}/ws") + change.pop("query", "")
    headers = signed_headers(aws.state, "GET", path, **change)
    with pytest.raises(InvalidStatus) as refused:
        connect_now(f"ws://127.0.0.1:{aws.state.port}{path}", additional_headers=headers, open_timeout=PATIENCE_S)
    response = refused.value.response
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (status, code)
    assert json.loads(response.body or b"")["message"]


def test_unsigned_requests_foreign_hosts_and_web_pages_are_refused(aws: Any, talker: dict[str, Any]) -> None:
    path = f"/runtimes/{quote(talker['agentRuntimeArn'], safe='')}/ws"
    address = f"ws://127.0.0.1:{aws.state.port}{path}"
    signed = signed_headers(aws.state, "GET", path)
    for headers in ({}, signed | {"Host": "attacker.example"}, signed | {"Origin": "https://attacker.example"}):
        with pytest.raises(InvalidStatus) as refused:
            connect_now(address, additional_headers=headers, open_timeout=PATIENCE_S)
        assert refused.value.response.status_code == 403


def test_an_agent_opens_only_sockets_that_its_role_may(aws: Any, talker: dict[str, Any]) -> None:
    caller = aws.deploy("socket_caller", CALLING_AGENT)
    permitted = aws.deploy("told_caller", CALLING_AGENT, environmentVariables={"OTHER": talker["agentRuntimeArn"]})
    payload = json.dumps({"arn": talker["agentRuntimeArn"], "port": aws.state.port}).encode()
    assert json.loads(aws.invoke(permitted["agentRuntimeArn"], payload)[1]) == "HELLO"
    refused = json.loads(aws.invoke(caller["agentRuntimeArn"], payload)[1])
    assert refused[0] == 403
    assert "is not authorized to perform: bedrock-agentcore:InvokeAgentRuntimeWithWebSocketStream" in refused[1]


def test_frames_above_the_limit_close_either_side(aws: Any, talker: dict[str, Any]) -> None:
    arn = talker["agentRuntimeArn"]
    with opened(aws, arn, max_size=None) as socket:
        assert len(asked(socket, "x" * 32_768)) == 32_768
        with pytest.raises(ConnectionClosed) as closed:
            asked(socket, "x" * 32_769)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    with opened(aws, arn, max_size=None) as socket, pytest.raises(ConnectionClosed) as closed:
        asked(socket, "send 40000")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    assert "40000 bytes exceeds limit of 32768" in closed.value.rcvd.reason


def test_a_slow_client_makes_the_agent_wait(aws: Any, talker: dict[str, Any]) -> None:
    """Without back pressure, 60 MB would be taken from the agent and held here."""
    arn, session_id = talker["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session_id, max_queue=1, ping_interval=None) as slow, opened(aws, arn, session_id) as other:
        slow.send("flood 3000")
        message_count = wait_until(lambda: settled_count(other), what="the agent to stop sending")
        assert message_count < 2_900
        for number in range(3_000):
            assert str(slow.recv(timeout=PATIENCE_S)).startswith(f"{number}:")


def settled_count(socket: Connection) -> int:
    """How many messages the agent has sent, once the number has not grown for a second; 0 before."""
    before = int(asked(socket, "sent"))
    with pytest.raises(TimeoutError):
        socket.recv(timeout=1)
    return before if int(asked(socket, "sent")) == before else 0


def output_of(aws: Any, runtime: dict[str, Any], session_id: str) -> str:
    group = f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"
    page = aws.client("logs").filter_log_events(logGroupName=group)
    return "\n".join(event["message"] for event in page["events"])


def is_active(aws: Any, session_id: str) -> bool:
    return any(session.session_id == session_id for session in local.status(aws.state.home).sessions)
