"""Runtimes that speak MCP, called by boto3 and by the mcp package's own client."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from botocore.exceptions import ClientError
from mcp import types
from protocol_agents import STATEFUL_MCP, STATELESS_MCP
from signed_requests import signed_headers

ACCEPT = "application/json, text/event-stream"
LEGACY = "2025-11-25"


@pytest.fixture(scope="session")
def travel(aws: Any) -> str:
    code = STATEFUL_MCP.replace("PORT", "8000").replace("PATH", "/mcp")
    return aws.deploy("travel", code, protocolConfiguration={"serverProtocol": "MCP"})["agentRuntimeArn"]


@pytest.fixture(scope="session")
def adder(aws: Any) -> str:
    allowed = {"requestHeaderConfiguration": {"requestHeaderAllowlist": ["X-Team"]}}
    runtime = aws.deploy("adder", STATELESS_MCP, protocolConfiguration={"serverProtocol": "MCP"}, **allowed)
    return runtime["agentRuntimeArn"]


def rpc(method: str, number: int = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(aws: Any, arn: str, body: bytes, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    answer, content = aws.invoke(arn, body, accept=ACCEPT, contentType="application/json", **more)
    return answer, json.loads(content)


INITIALIZE = rpc("initialize", protocolVersion=LEGACY, capabilities={}, clientInfo={"name": "test", "version": "1"})


async def answer_city(context: Any, params: Any) -> types.ElicitResult:
    assert params.message == "Where to?"
    return types.ElicitResult(action="accept", content={"city": "Oslo"})


async def write_tip(context: Any, params: Any) -> types.CreateMessageResult:
    text = f"wear wool in {params.messages[0].content.text}"
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text=text), model="test")


def test_a_stateful_server_elicits_samples_logs_and_reports_progress(mcp_client: Any, travel: str) -> None:
    logged: list[str] = []
    progress: list[tuple[float, str | None]] = []

    async def on_log(params: Any) -> None:
        logged.append(params.data)

    async def on_progress(step: float, total: float | None, message: str | None) -> None:
        progress.append((step, message))

    async def use() -> None:
        callbacks = {"elicitation_callback": answer_city, "sampling_callback": write_tip, "logging_callback": on_log}
        async with mcp_client(travel, mode="legacy", **callbacks) as client:
            assert client.instructions == "Books trips."
            assert {tool.name for tool in (await client.list_tools()).tools} == {"book", "wait", "count"}
            (content,) = (await client.read_resource("travel://cities")).contents
            assert content.text == "Oslo, Rome"
            prompt = await client.get_prompt("packing", {"city": "Rome"})
            assert prompt.messages[0].content.text == "Pack for Rome."
            booked = await client.call_tool("book", progress_callback=on_progress)
            assert booked.content[0].text == "Booked Oslo: wear wool in Oslo"
            assert (await client.call_tool("count")).structured_content == {"result": ["Oslo"]}

    anyio.run(use)
    assert progress == [(1, "step 1"), (2, "step 2")]
    assert logged == ["Booking Oslo"]


def test_a_cancelled_call_is_cancelled_in_the_server(mcp_client: Any, travel: str) -> None:
    async def use() -> None:
        async with mcp_client(travel, mode="legacy") as client:
            async with anyio.create_task_group() as tasks:

                async def cancel(step: float, total: float | None, message: str | None) -> None:
                    tasks.cancel_scope.cancel()

                async def wait() -> None:
                    await client.call_tool("wait", progress_callback=cancel)

                tasks.start_soon(wait)
            with anyio.fail_after(30):
                while (await client.call_tool("count")).structured_content != {"result": ["cancelled"]}:
                    await anyio.sleep(0.05)

    anyio.run(use)


def test_two_clients_of_a_stateful_server_have_sessions_of_their_own(mcp_client: Any, travel: str) -> None:
    async def use() -> None:
        callbacks = {"elicitation_callback": answer_city, "sampling_callback": write_tip}
        async with mcp_client(travel, mode="legacy", **callbacks) as one, mcp_client(travel, mode="legacy") as other:
            await one.call_tool("book")
            assert (await one.call_tool("count")).structured_content == {"result": ["Oslo"]}
            assert (await other.call_tool("count")).structured_content == {"result": []}

    anyio.run(use)


def test_a_client_of_the_stateless_protocol_keeps_its_session_by_the_runtime_session_id(
    mcp_client: Any, adder: str
) -> None:
    headers = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": "modern" * 7, "X-Team": "loom", "X-Secret": "no"}

    async def use() -> None:
        async with mcp_client(adder, headers=headers) as client:
            assert client.protocol_version >= "2026-07-28"
            assert (await client.call_tool("add", {"a": 2, "b": 3})).content[0].text == "5"
            first = (await client.call_tool("seen")).structured_content
            second = (await client.call_tool("seen")).structured_content
            assert first is not None
            assert second is not None
            assert first["pid"] == second["pid"]
            assert first["headers"]["mcp-method"] == "tools/call"
            assert first["headers"]["x-team"] == "loom"
            assert "x-secret" not in first["headers"]
            assert first["headers"]["x-amzn-bedrock-agentcore-runtime-session-id"] == "modern" * 7

    anyio.run(use)


def test_boto3_keeps_a_stateful_session_by_its_mcp_session_id_alone(aws: Any, travel: str) -> None:
    answer, _ = aws.invoke(travel, INITIALIZE, accept=ACCEPT, contentType="application/json")
    mcp_id = answer["mcpSessionId"]
    body = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    response, content = aws.invoke(travel, body, accept=ACCEPT, contentType="application/json", mcpSessionId=mcp_id)
    assert (response["statusCode"], content, response["mcpSessionId"]) == (202, b"", mcp_id)
    listed, content = aws.invoke(
        travel, rpc("tools/list"), accept=ACCEPT, contentType="application/json", mcpSessionId=mcp_id
    )
    assert listed["runtimeSessionId"] == answer["runtimeSessionId"] == response["runtimeSessionId"]
    assert listed["contentType"].startswith("text/event-stream")
    assert b'"book"' in content


def test_a_stateless_server_gets_a_session_id_from_the_platform(aws: Any, adder: str) -> None:
    answer, document = call(aws, adder, rpc("tools/call", name="seen", arguments={}))
    content = document["result"]["structuredContent"]
    assert answer["mcpSessionId"] == content["headers"]["mcp-session-id"] == answer["runtimeSessionId"]
    again, document = call(
        aws, adder, rpc("tools/call", name="seen", arguments={}), mcpSessionId=answer["mcpSessionId"]
    )
    assert document["result"]["structuredContent"]["pid"] == content["pid"]
    assert again["runtimeSessionId"] == answer["runtimeSessionId"]


@pytest.mark.parametrize("accept", [None, "application/json", "*/*"])
def test_a_call_that_does_not_accept_both_kinds_of_answers_is_refused(aws: Any, adder: str, accept: str | None) -> None:
    more = {"accept": accept} if accept else {}
    with pytest.raises(ClientError) as caught:
        aws.invoke(adder, rpc("tools/list"), contentType="application/json", **more)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 406
    assert caught.value.response["Error"]["Code"] == "McpRequestUnacceptableException"


def test_errors_of_the_platform_are_json_rpc_errors(aws: Any, travel: str) -> None:
    _, unknown = call(aws, travel, rpc("tools/list", 7), mcpSessionId="an-id-that-no-server-has-made-here-ever")
    assert unknown["id"] == 7
    assert unknown["error"]["code"] == -32010
    assert unknown["error"]["message"].startswith("Received error (404) from runtime.")


def test_a_server_that_cannot_start_is_reported_in_json_rpc(aws: Any) -> None:
    code, served = "raise SystemExit('no server')", {"serverProtocol": "MCP"}
    arn = aws.deploy("no_mcp", code, platformVersion="V1", protocolConfiguration=served)
    _, failed = call(aws, arn["agentRuntimeArn"], rpc("tools/list", 9))
    assert (failed["id"], failed["error"]["code"]) == (9, -32010)
    assert "no server" in failed["error"]["data"]["reason"]


def test_port_and_path_of_a_server_are_configurable(mcp_client: Any, aws: Any) -> None:
    code = STATEFUL_MCP.replace("PORT", "8123").replace("PATH", "/tools/mcp")
    where = {"serverProtocol": "MCP", "port": 8123, "path": "/tools/mcp"}
    runtime = aws.deploy("elsewhere", code, protocolConfiguration=where)
    description = aws.control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])
    assert description["protocolConfiguration"] == where

    async def use() -> None:
        async with mcp_client(runtime["agentRuntimeArn"], mode="legacy") as client:
            assert (await client.call_tool("count")).structured_content == {"result": []}

    anyio.run(use)


@pytest.mark.parametrize(("port", "says"), [(8443, "reserved"), (7999, "8000"), (12001, "12000")])
def test_ports_that_agentcore_does_not_allow_are_refused(aws: Any, port: int, says: str) -> None:
    client = aws.client("bedrock-agentcore-control", parameter_validation=False)
    with pytest.raises(ClientError, match=says) as caught:
        client.create_agent_runtime(
            agentRuntimeName="wrong_port",
            agentRuntimeArtifact=aws.upload({"agent.py": STATELESS_MCP}),
            roleArn="arn:aws:iam::123456789012:role/loom",
            networkConfiguration={"networkMode": "PUBLIC"},
            protocolConfiguration={"serverProtocol": "MCP", "port": port},
        )
    assert caught.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_address_of_a_runtime_takes_only_post(aws: Any, adder: str, method: str) -> None:
    path = f"/runtimes/{quote(adder, safe='')}/invocations"
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    connection.request(method, path, headers=signed_headers(aws.state, method, path))
    answer = connection.getresponse()
    assert (answer.status, answer.headers["x-amzn-errortype"]) == (404, "UnknownOperationException")
    connection.close()


def test_a_server_on_another_port_is_named_in_the_error(start_service: Any) -> None:
    aws = start_service(start_timeout_s=20.0)  # the server must be up by then, on a busy machine too
    code = STATEFUL_MCP.replace("PORT", "8080").replace("PATH", "/mcp")
    served = {"serverProtocol": "MCP"}
    arn = aws.deploy("wrong_port", code, platformVersion="V1", protocolConfiguration=served)["agentRuntimeArn"]
    created = aws.create("wrong_port_v2", aws.upload({"agent.py": code}), protocolConfiguration=served)
    _, failed = call(aws, arn, rpc("tools/list"))
    assert failed["error"]["code"] == -32010
    for reason in (failed["error"]["data"]["reason"], aws.settled(created["agentRuntimeId"])["failureReason"]):
        assert "the runtime speaks MCP on port 8000" in reason
        assert "this server listens on port 8080" in reason
