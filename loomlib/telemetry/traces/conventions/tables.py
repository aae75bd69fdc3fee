"""The conventions: where each stores the values that OpenTelemetry's GenAI conventions define.

- OpenInference: https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
- OpenLLMetry: https://github.com/traceloop/openllmetry (package opentelemetry-semantic-conventions-ai)
- GenAI: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Path = tuple[str, ...]
"""Keys from an object to a value within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLayout:
    """How a convention spreads a list of messages over attributes, such as `llm.input_messages.0.message.role`.

    Attributes:
        prefix: The part of the names before the message's number.
        target: The attribute of the GenAI conventions that holds the same list.
        default_role: The role of a message without one.
        role: Path to the role within a message.
        content: Path to the text.
        contents: Path to a list of parts, for messages that are more than text.
        part_type: Path to the type within a part.
        part_text: Path to the text within a part.
        call_id: Path to the id of the tool call that a message answers.
        tool_calls: Path to the list of tool calls.
        tool_id: Path to the id within a tool call.
        tool_name: Path to the tool's name within a tool call.
        tool_arguments: Path to the arguments within a tool call.
        finish_reason: Path to the reason why the model stopped.
    """

    prefix: str
    target: str
    default_role: str
    role: Path
    content: Path
    contents: Path = ()
    part_type: Path = ()
    part_text: Path = ()
    call_id: Path
    tool_calls: Path
    tool_id: Path
    tool_name: Path
    tool_arguments: Path
    finish_reason: Path = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanConvention:
    """A convention of span attributes.

    Attributes:
        name: Its name.
        kind: The attribute that states what a span represents; a span without it follows another convention.
        operations: The operation of the GenAI conventions, by the value of `kind` in capitals.
        names: By attribute of the GenAI conventions, the attributes that hold the same, the best first.
        names_of: The same for spans of one operation.
        messages: How messages are spread over the attributes of model calls.
        text_output: For agents, the attribute with the answer and the one with its media type.
    """

    name: str
    kind: str
    operations: Mapping[str, str]
    names: Mapping[str, Path] = field(default_factory=dict[str, Path])
    names_of: Mapping[str, Mapping[str, Path]] = field(default_factory=dict[str, Mapping[str, Path]])
    messages: tuple[MessageLayout, ...] = ()
    text_output: tuple[str, str] | None = None


_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


def _open_inference_messages(prefix: str, target: str, role: str) -> MessageLayout:
    return MessageLayout(
        prefix=prefix,
        target=target,
        default_role=role,
        role=("message", "role"),
        content=("message", "content"),
        contents=("message", "contents"),
        part_type=("message_content", "type"),
        part_text=("message_content", "text"),
        call_id=("message", "tool_call_id"),
        tool_calls=("message", "tool_calls"),
        tool_id=("tool_call", "id"),
        tool_name=("tool_call", "function", "name"),
        tool_arguments=("tool_call", "function", "arguments"),
    )


def _open_llmetry_messages(prefix: str, target: str, role: str) -> MessageLayout:
    return MessageLayout(
        prefix=prefix,
        target=target,
        default_role=role,
        role=("role",),
        content=("content",),
        call_id=("tool_call_id",),
        tool_calls=("tool_calls",),
        tool_id=("id",),
        tool_name=("name",),
        tool_arguments=("arguments",),
        finish_reason=("finish_reason",),
    )


_TOOL: Final = {
    "gen_ai.tool.name": ("tool.name",),
    "gen_ai.tool.call.id": ("tool_call.id", "tool.id"),
    "gen_ai.tool.call.arguments": ("input.value",),  # `tool.parameters` is the schema of the arguments
    "gen_ai.tool.call.result": ("output.value",),
}

OPEN_INFERENCE: Final = SpanConvention(
    name="OpenInference",
    kind="openinference.span.kind",
    operations={
        "LLM": "chat",
        "TOOL": "execute_tool",
        "AGENT": "invoke_agent",
        "EMBEDDING": "embeddings",
        "RETRIEVER": "retrieval",  # what a tool or a step does inside; the call of the tool is a span of its own
        "RERANKER": "rerank",
        "CHAIN": "chain",
        "GUARDRAIL": "guardrail",
        "EVALUATOR": "evaluate",
        "PROMPT": "prompt",
    },
    names={
        "gen_ai.request.model": ("llm.model_name",),
        "gen_ai.provider.name": ("llm.provider", "llm.system"),
        "gen_ai.usage.input_tokens": ("llm.token_count.prompt",),
        "gen_ai.usage.output_tokens": ("llm.token_count.completion",),
        "gen_ai.usage.total_tokens": ("llm.token_count.total",),
        "gen_ai.usage.cache_read.input_tokens": ("llm.token_count.prompt_details.cache_read",),
        "gen_ai.usage.cache_creation.input_tokens": ("llm.token_count.prompt_details.cache_write",),
        "gen_ai.response.finish_reasons": ("llm.finish_reason",),
    },
    names_of={"execute_tool": _TOOL, "invoke_agent": {"gen_ai.agent.name": ("agent.name", "graph.node.id")}},
    messages=(
        _open_inference_messages("llm.input_messages", _INPUT, "user"),
        _open_inference_messages("llm.output_messages", _OUTPUT, "assistant"),
    ),
    text_output=("output.value", "output.mime_type"),
)

_OPEN_LLMETRY_MESSAGES: Final = (
    _open_llmetry_messages("gen_ai.prompt", _INPUT, "user"),
    _open_llmetry_messages("gen_ai.completion", _OUTPUT, "assistant"),
)
_OPEN_LLMETRY_NAMES: Final = {
    "gen_ai.usage.input_tokens": ("gen_ai.usage.prompt_tokens",),
    "gen_ai.usage.output_tokens": ("gen_ai.usage.completion_tokens",),
    "gen_ai.usage.total_tokens": ("llm.usage.total_tokens",),
    "gen_ai.usage.cache_read.input_tokens": ("gen_ai.usage.cache_read_input_tokens",),
    "gen_ai.usage.cache_creation.input_tokens": ("gen_ai.usage.cache_creation_input_tokens",),
}

OPEN_LLMETRY: Final = SpanConvention(
    name="OpenLLMetry",
    kind="traceloop.span.kind",
    operations={"WORKFLOW": "workflow", "TASK": "task", "AGENT": "invoke_agent", "TOOL": "execute_tool"},
    names=_OPEN_LLMETRY_NAMES,
    names_of={
        "invoke_agent": {"gen_ai.agent.name": ("traceloop.entity.name",)},
        "execute_tool": {
            "gen_ai.tool.name": ("traceloop.entity.name",),
            "gen_ai.tool.call.arguments": ("traceloop.entity.input",),
            "gen_ai.tool.call.result": ("traceloop.entity.output",),
        },
    },
)

OPEN_LLMETRY_CALLS: Final = SpanConvention(
    name="OpenLLMetry, model calls",
    kind="llm.request.type",
    operations={"CHAT": "chat", "COMPLETION": "chat", "EMBEDDING": "embeddings", "RERANK": "rerank"},
    names=_OPEN_LLMETRY_NAMES,
    messages=_OPEN_LLMETRY_MESSAGES,
)

CONVENTIONS: Final = (OPEN_INFERENCE, OPEN_LLMETRY, OPEN_LLMETRY_CALLS)
"""The conventions that are translated; a span follows the first of them whose `kind` it states."""

MOST_PARTS: Final = 16
"""How many parts the name of an attribute with a message may have; a longer name is not one of a convention."""
