"""InvokeModel and InvokeModelWithResponseStream in the formats of Claude and of Amazon Nova."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

CLAUDE, NOVA = "us.anthropic.claude-sonnet-4-20250514-v1:0", "amazon.nova-lite-v1:0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLAUDE_TOOL = {"name": "weather", "description": "The weather in a city", "input_schema": SCHEMA}
ASKS = "What is the weather in Ulm?"


def claude(prompt: Any = ASKS, **more: Any) -> dict[str, Any]:
    messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
    return {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 300, "messages": messages, **more}


def nova(prompt: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"text": prompt}]}]
    return {"schemaVersion": "messages-v1", "messages": messages, "inferenceConfig": {"maxTokens": 300}, **more}


def invoke(aws: Any, model: str, body: Any) -> dict[str, Any]:
    answer = aws.client("bedrock-runtime").invoke_model(modelId=model, body=json.dumps(body))
    assert answer["contentType"] == "application/json"
    return json.loads(answer["body"].read())


def stream(aws: Any, model: str, body: Any) -> list[dict[str, Any]]:
    answer = aws.client("bedrock-runtime").invoke_model_with_response_stream(modelId=model, body=json.dumps(body))
    assert answer["contentType"] == "application/json"
    return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]


def test_claude_answers_in_the_messages_format_and_calls_tools(aws: Any) -> None:
    first = invoke(aws, CLAUDE, claude(tools=[CLAUDE_TOOL], system="Be brief."))
    assert (first["type"], first["role"], first["stop_reason"]) == ("message", "assistant", "tool_use")
    use = next(block for block in first["content"] if block["type"] == "tool_use")
    assert (use["name"], use["input"]) == ("weather", {"city": "Ulm"})
    assert first["usage"]["input_tokens"] > 0
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "12 degrees"}]}
    history = [
        {"role": "user", "content": [{"type": "text", "text": ASKS}]},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": [result]},
    ]
    last = invoke(aws, CLAUDE, claude(history, tools=[CLAUDE_TOOL]))
    assert last["stop_reason"] == "end_turn"
    assert "12 degrees" in last["content"][0]["text"]


def test_claude_streams_the_events_of_the_messages_format(aws: Any) -> None:
    events = stream(aws, CLAUDE, claude(tools=[CLAUDE_TOOL]))
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    opened = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert opened[-1]["name"] == "weather"
    starts = [event["index"] for event in events if event["type"] == "content_block_start"]
    assert starts == [event["index"] for event in events if event["type"] == "content_block_stop"]
    pieces = [event["delta"]["partial_json"] for event in events if "partial_json" in event.get("delta", {})]
    assert json.loads("".join(pieces)) == {"city": "Ulm"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1]["amazon-bedrock-invocationMetrics"]["inputTokenCount"] > 0
    text = [
        event["delta"]["text"]
        for event in stream(aws, CLAUDE, claude("Say hello."))
        if "text" in event.get("delta", {})
    ]
    assert "".join(text) == invoke(aws, CLAUDE, claude("Say hello."))["content"][0]["text"]


def test_nova_answers_and_streams_in_its_own_format(aws: Any) -> None:
    answer = invoke(aws, NOVA, nova("Say hello.", system=[{"text": "Be brief."}]))
    text = answer["output"]["message"]["content"][0]["text"]
    assert (answer["stopReason"], answer["usage"]["totalTokens"] > 0) == ("end_turn", True)
    events = stream(aws, NOVA, nova("Say hello.", system=[{"text": "Be brief."}]))
    assert "".join(e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e) == text
    assert [next(iter(event)) for event in events][-2:] == ["messageStop", "metadata"]


@pytest.mark.parametrize("operation", ["invoke_model", "invoke_model_with_response_stream"])
def test_another_format_is_refused_by_the_model_s_name(aws: Any, operation: str) -> None:
    call = getattr(aws.client("bedrock-runtime"), operation)
    with pytest.raises(ClientError, match=r"meta\.llama3-70b-instruct-v1:0") as refused:
        call(modelId="meta.llama3-70b-instruct-v1:0", body=json.dumps({"prompt": "hello"}))
    assert refused.value.response["Error"]["Code"] == "NotImplementedException"
    with pytest.raises(ClientError, match="max_tokens: Field required") as invalid:
        call(modelId=CLAUDE, body=json.dumps({"anthropic_version": "bedrock-2023-05-31", "messages": []}))
    assert invalid.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(ClientError):
        call(modelId=CLAUDE, body="[]")


def test_a_history_may_begin_with_tool_results(aws: Any) -> None:
    result = {"toolResult": {"toolUseId": "cut-off", "content": [{"text": "12 degrees"}]}}
    tool = {"toolSpec": {"name": "weather", "description": "weather", "inputSchema": {"json": SCHEMA}}}
    messages = [
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"text": "It is 12 degrees."}]},
        {"role": "user", "content": [{"text": "Say hello."}]},
    ]
    client, given = aws.client("bedrock-runtime"), {"modelId": CLAUDE, "toolConfig": {"tools": [tool]}}
    events = list(client.converse_stream(messages=messages, **given)["stream"])
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert client.converse(messages=messages[:1], **given)["stopReason"] == "end_turn"
