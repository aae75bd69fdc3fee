"""A single model response (Converse of bedrock-runtime), from the local service or AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .connection import Clients
from .errors import translated


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """A tool; the input of the model's call is structured output that matches `schema`.

    `schema` is the JSON schema of an object.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A model's response.

    `content` are Converse's content blocks; `calls` the names and inputs of tool calls, in order. `is_simulated` marks
    a response of the local scripted model. `latency_ms` is the service's own measurement.
    """

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    content: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    stop_reason: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    latency_ms: int | None = None
    is_simulated: bool = False


def converse(
    clients: Clients,
    model_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    system: str = "",
    tools: Sequence[ToolForm] = (),
    tool_choice: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    region: str | None = None,
) -> ModelAnswer:
    """Send `messages` to a model and return its response. Nothing is retried.

    Needs `bedrock:InvokeModel`.

    Args:
        clients: The AWS clients of a connection.
        model_id: The id of a model or inference profile.
        messages: Messages in Converse's format.
        system: The system prompt.
        tools: Tools that the model may call.
        tool_choice: Converse's `toolChoice`.
        max_tokens: The limit on output tokens.
        temperature: The sampling temperature.
        region: The region, if it is not the connection's.

    Raises:
        AwsError: The request failed.
    """
    request: dict[str, Any] = {"modelId": model_id, "messages": [dict(message) for message in messages]}
    if system:
        request["system"] = [{"text": system}]
    limits = {"maxTokens": max_tokens, "temperature": temperature}
    if inference := {name: value for name, value in limits.items() if value is not None}:
        request["inferenceConfig"] = inference
    if tools:
        specs = [
            {"toolSpec": {"name": t.name, "description": t.description, "inputSchema": {"json": dict(t.schema)}}}
            for t in tools
        ]
        request["toolConfig"] = {"tools": specs, **({"toolChoice": dict(tool_choice)} if tool_choice else {})}
    with translated("Asking a model", on=model_id):
        answer: dict[str, Any] = clients.client("bedrock-runtime", region).converse(**request)
    return _answer(answer)


def _answer(answer: Mapping[str, Any]) -> ModelAnswer:
    content: list[dict[str, Any]] = answer.get("output", {}).get("message", {}).get("content", [])
    usage: dict[str, Any] = answer.get("usage", {})
    additional: object = answer.get("additionalModelResponseFields")
    details: object = cast("dict[str, object]", additional).get("loom") if isinstance(additional, dict) else None
    simulated = isinstance(details, dict) and bool(cast("dict[str, object]", details).get("simulated"))
    return ModelAnswer(
        text="".join(str(block["text"]) for block in content if "text" in block),
        calls=tuple(
            (str(block["toolUse"].get("name", "")), _input(block["toolUse"].get("input")))
            for block in content
            if "toolUse" in block
        ),
        content=tuple(content),
        stop_reason=str(answer.get("stopReason", "")),
        input_tokens=usage.get("inputTokens"),
        output_tokens=usage.get("outputTokens"),
        cache_read_tokens=int(usage.get("cacheReadInputTokens") or 0),
        cache_write_tokens=int(usage.get("cacheWriteInputTokens") or 0),
        latency_ms=answer.get("metrics", {}).get("latencyMs"),
        is_simulated=simulated,
    )


def _input(document: object) -> dict[str, Any]:
    """Return a tool's input; anything but an object becomes empty, and validation reports the missing fields."""
    return dict(cast("Mapping[str, Any]", document)) if isinstance(document, Mapping) else {}
