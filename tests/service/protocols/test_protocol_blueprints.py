"""The blueprints that speak MCP and A2A, deployed unchanged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types

import loomlib

BLUEPRINTS = Path(loomlib.__file__).parent / "blueprints"


@pytest.fixture(scope="session")
def deployed(aws: Any) -> Callable[[str], str]:
    """Deploys a blueprint once, with the protocol that its blueprint.toml names."""
    arns: dict[str, str] = {}

    def deploy(name: str) -> str:
        if name not in arns:
            folder = BLUEPRINTS / name
            protocol = tomllib.loads((folder / "blueprint.toml").read_text()).get("protocol", "HTTP")
            artifact = aws.upload({file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()})
            created = aws.create(name, artifact, protocolConfiguration={"serverProtocol": protocol})
            runtime = aws.settled(created["agentRuntimeId"])
            assert runtime["status"] == "READY", runtime
            arns[name] = runtime["agentRuntimeArn"]
        return arns[name]

    return deploy


async def four_people(context: Any, params: Any) -> types.ElicitResult:
    assert "share the bill of 84" in params.message
    return types.ElicitResult(action="accept", content={"people": 4})


async def say(context: Any, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(
        role="assistant", content=types.TextContent(type="text", text="a product"), model="test"
    )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_mcp_server_serves_clients_of_both_generations(mcp_client: Any, deployed: Any, mode: str) -> None:
    headers = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": f"{mode}-client-" * 4}
    steps: list[float] = []

    async def on_progress(step: float, total: float | None, message: str | None) -> None:
        steps.append(step)

    async def use() -> None:
        callbacks = {"elicitation_callback": four_people, "sampling_callback": say}
        async with mcp_client(deployed("mcp_server"), headers=headers, mode=mode, **callbacks) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"calculator", "add_up", "split_bill", "explain"}
            answers = [
                await client.call_tool("calculator", {"expression": "15 * 37 + 42"}),
                await client.call_tool("add_up", {"numbers": [1, 2, 3]}, progress_callback=on_progress),
                await client.call_tool("split_bill", {"bill": 84}),
                await client.call_tool("explain", {"expression": "6 * 7"}),
            ]
            assert [answer.content[0].text for answer in answers] == ["597", "6", "21", "42: a product"]
            failed = await client.call_tool("calculator", {"expression": "9**9**9"})
            assert failed.is_error
            assert "too large" in failed.content[0].text
            (resource,) = (await client.read_resource("calculations://session")).contents
            assert resource.text.splitlines() == [
                "15 * 37 + 42 = 597",
                "(1) + (2) + (3) = 6",
                "84 / 4 = 21",
                "6 * 7 = 42",
            ]
            prompt = await client.get_prompt("word_problem", {"text": "two dozen eggs"})
            assert "two dozen eggs" in prompt.messages[0].content.text

    anyio.run(use)
    assert steps == [1, 2, 3]


def message(text: str, method: str = "message/send", **more: Any) -> bytes:
    a2a_message = {
        "role": "user",
        "kind": "message",
        "messageId": "m-1",
        "parts": [{"kind": "text", "text": text}],
        **more,
    }
    return json.dumps({"jsonrpc": "2.0", "id": "1", "method": method, "params": {"message": a2a_message}}).encode()


def test_the_a2a_agent_answers_with_a_task_and_its_artifact(aws: Any, deployed: Any) -> None:
    arn, session = deployed("a2a_agent"), "a2a-agent-" * 4
    card = aws.data.get_agent_card(agentRuntimeArn=arn, runtimeSessionId=session)["agentCard"]
    assert (card["name"], card["capabilities"]["streaming"]) == ("calculator", True)
    assert card["url"].startswith(aws.state.url)
    _, content = aws.invoke(arn, message("What is 15 * 37, add 42?"), runtimeSessionId=session)
    task = json.loads(content)["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert "597" in "".join(part["text"] for part in task["artifacts"][0]["parts"])
    request = json.dumps({"jsonrpc": "2.0", "id": "2", "method": "tasks/get", "params": {"id": task["id"]}}).encode()
    _, content = aws.invoke(arn, request, runtimeSessionId=session)
    assert json.loads(content)["result"]["status"]["state"] == "completed"


def test_the_a2a_agent_streams_its_task(aws: Any, deployed: Any) -> None:
    arn, session = deployed("a2a_agent"), "a2a-stream-" * 4
    answer, content = aws.invoke(
        arn, message("What is 2 + 2?", "message/stream"), runtimeSessionId=session, accept="text/event-stream"
    )
    events = [json.loads(line[6:])["result"] for line in content.decode().splitlines() if line.startswith("data: ")]
    assert answer["contentType"].startswith("text/event-stream")
    assert events[0]["kind"] == "task"
    assert {"artifact-update", "status-update"} <= {event["kind"] for event in events}
    assert events[-1]["status"]["state"] == "completed"


def test_the_orchestrator_finds_the_a2a_agent_by_its_card_and_delegates(aws: Any, deployed: Any) -> None:
    deployed("a2a_agent")
    orchestrator = aws.upload(
        {file.name: file.read_bytes() for file in (BLUEPRINTS / "a2a_orchestrator").iterdir() if file.is_file()}
    )
    created = aws.create("a2a_orchestrator", orchestrator, environmentVariables={"A2A_AGENTS": deployed("a2a_agent")})
    arn = aws.settled(created["agentRuntimeId"])["agentRuntimeArn"]
    payload = json.dumps({"prompt": "Calculate 15 * 37 + 42."}).encode()
    _, content = aws.invoke(arn, payload, runtimeSessionId="orchestrator-" * 3)
    events = [json.loads(line[6:]) for line in content.decode().splitlines() if line.startswith("data: ")]
    assert {"tool": "ask_calculator"} in events
    assert "597" in "".join(event for event in events if isinstance(event, str))


def test_mcp_sessions_on_platform_v2_share_no_calculations(aws: Any, mcp_client: Any) -> None:
    files = {file.name: file.read_bytes() for file in (BLUEPRINTS / "mcp_server").iterdir() if file.is_file()}
    settings = {"protocolConfiguration": {"serverProtocol": "MCP"}, "platformVersion": "V2"}
    arn = aws.settled(aws.create("mcp_v2", aws.upload(files), **settings)["agentRuntimeId"])["agentRuntimeArn"]

    async def use() -> None:
        async with mcp_client(arn, mode="legacy") as one, mcp_client(arn, mode="legacy") as other:
            await one.call_tool("calculator", {"expression": "2 + 2"})
            await other.call_tool("calculator", {"expression": "3 * 3"})
            for client, expected in ((one, "2 + 2 = 4"), (other, "3 * 3 = 9")):
                (resource,) = (await client.read_resource("calculations://session")).contents
                assert resource.text == expected

    anyio.run(use)
