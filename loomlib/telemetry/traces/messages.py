"""The messages of a span: system prompt, input, output, tool calls and results, in either semantic convention.

Both conventions are read: events `gen_ai.user.message`, `gen_ai.choice` and so on with Bedrock's content blocks, and
`gen_ai.input.messages` / `gen_ai.output.messages` with OpenTelemetry's parts, on the span or on an event. ADOT exports
the same as log records apart from the span, with the assistant's earlier messages among the outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loomlib.json_values import as_list, as_mapping, mapping_or_none, parse_embedded, to_text

from .span import LogRecord, Span

MessageSteps = tuple["Step", ...]
REDACTED = "[REDACTED]"
"""What Strands writes in place of content that its redaction policy withholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a conversation: a message, a tool call or a tool result.

    Attributes:
        kind: `system`, `user`, `assistant`, `tool_call` or `tool_result`.
        text: The text of a message.
        name: The tool's name; for content that is not text (an image, reasoning), its kind.
        call_id: The id shared by a tool call and its result.
        arguments: The arguments of a tool call.
        result: The result of a tool; text where it is only text.
        status: The status of a result: `success`, `error`, or "" when none is stated.
        span_id: The span it was read from.
        time_ns: Unix nanoseconds at which it is first known.
    """

    kind: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    arguments: Any = None
    result: Any = None
    status: str = ""
    span_id: str = ""
    time_ns: int = 0

    @property
    def is_words(self) -> bool:
        """Whether it is a text message, not a tool call or result, an image or reasoning."""
        return self.kind in ("system", "user", "assistant") and not self.name


@dataclass(slots=True, kw_only=True)
class SpanMessages:
    """The messages of one span.

    Attributes:
        system: The system prompt.
        inputs: The messages that the span received, in order.
        history: Earlier assistant messages that were exported apart from the inputs, so their position is not stated.
        outputs: The messages that the span produced.
        results: Tool results for the calls in `outputs`, where the span (a cycle's) has them too.
        finish_reason: Why the model stopped, None when not stated.
    """

    system: list[Step] = field(default_factory=list[Step])
    inputs: list[MessageSteps] = field(default_factory=list[MessageSteps])
    history: list[MessageSteps] = field(default_factory=list[MessageSteps])
    outputs: list[MessageSteps] = field(default_factory=list[MessageSteps])
    results: list[MessageSteps] = field(default_factory=list[MessageSteps])
    finish_reason: str | None = None

    def in_order(self) -> Iterator[MessageSteps]:
        """Yield inputs in order, with the assistant's earlier messages inserted where they belong.

        A message with tool calls goes before their results; a message in text goes before the user's next message.
        """
        pending = list(self.history)
        for index, message in enumerate(self.inputs):
            call_ids = {step.call_id for step in message if step.kind == "tool_result"}
            fits = [_call_ids(reply) & call_ids if call_ids else index and not _call_ids(reply) for reply in pending]
            if any(fits):
                until = fits.index(next(filter(None, fits))) + 1
                yield from pending[:until]
                del pending[:until]
            yield message
        yield from pending


def _call_ids(message: MessageSteps) -> set[str]:
    return {step.call_id for step in message if step.kind == "tool_call"}


def messages_of(span: Span, records: Iterable[LogRecord] = ()) -> SpanMessages:
    """Read a span's messages from its attributes, its events and its log records.

    Args:
        span: The span.
        records: The log records that belong to it.
    """
    messages = SpanMessages()
    _read_attributes(span.facts, messages)
    for event in span.events:
        if not _read_attributes(event.attributes, messages):
            _read_event(event.name, event.attributes, messages)
    for record in records:
        body = mapping_or_none(parse_embedded(record.body))
        if body is None:
            continue
        if "input" in body or "output" in body:
            _read_adot_body(body, messages)
        else:
            _read_event(record.event_name, body, messages)
    return messages


def _read_attributes(attributes: Mapping[str, Any], messages: SpanMessages) -> bool:
    """Read the newer convention; return whether the span uses it."""
    system = attributes.get("gen_ai.system_instructions")
    inputs = attributes.get("gen_ai.input.messages")
    outputs = attributes.get("gen_ai.output.messages")
    if system is not None and not messages.system:
        messages.system.extend(replace(step, kind="system") for step in content_steps(system, "system"))
    if inputs is not None:
        # A cycle's span has inputs twice: what it began with, and in the end the results of its tools.
        (messages.results if messages.inputs else messages.inputs).extend(_message_list(inputs))
    if outputs is not None and not messages.outputs:
        messages.outputs.extend(_message_list(outputs))
        last = as_list(parse_embedded(outputs))[-1:]
        messages.finish_reason = _reason(as_mapping(last[0])) if last else None
    return system is not None or inputs is not None or outputs is not None


def _message_list(value: object) -> Iterable[MessageSteps]:
    for item in as_list(parse_embedded(value)):
        message = mapping_or_none(item)
        if message is not None:
            content = message.get("parts", message.get("content"))
            yield tuple(content_steps(content, str(message.get("role") or "")))


def _read_event(name: str, attributes: Mapping[str, Any], messages: SpanMessages) -> None:
    """Read the older convention: one event per message."""
    content = attributes.get("content")
    match name:
        case "gen_ai.system.message":
            messages.system.extend(replace(step, kind="system") for step in content_steps(content, "system"))
        case "gen_ai.user.message" | "gen_ai.assistant.message" | "gen_ai.tool.message":
            messages.inputs.append((*_answers(attributes, name.split(".")[1]), *_requested(attributes)))
        case "gen_ai.choice":
            message = attributes.get("message")
            messages.finish_reason = _reason(attributes)
            inner = as_mapping(parse_embedded(message))
            if not inner.keys().isdisjoint(("content", "role", "tool_calls")):
                message = inner.get("content")
            messages.outputs.append((*content_steps(message, "assistant"), *_requested(inner)))
            _read_results(attributes, messages)
        case _:
            return


def _answers(fields: Mapping[str, Any], role: str) -> Sequence[Step]:
    """Return the steps of a message; a tool's may be plain text beside the id of its call."""
    content = fields.get("content")
    steps = content_steps(content, role)
    if role == "tool" and "id" in fields and all(step.kind != "tool_result" for step in steps):
        return (Step(kind="tool_result", call_id=to_text(fields["id"]), result=plain_result(content)),)
    return steps


def _requested(fields: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the tool calls of a message in the form of OpenAI's chat completions."""
    for item in as_list(fields.get("tool_calls")):
        call = as_mapping(item)
        function = as_mapping(call.get("function"))
        arguments = parse_embedded(function.get("arguments"))
        yield Step(
            kind="tool_call", name=to_text(function.get("name")), call_id=to_text(call.get("id")), arguments=arguments
        )


def _read_adot_body(body: Mapping[str, Any], messages: SpanMessages) -> None:
    """Read ADOT's log record: inputs and outputs, with nested content."""
    for item in as_list(as_mapping(body.get("input")).get("messages")):
        message = as_mapping(item)
        role = str(message.get("role") or "")
        steps = tuple(content_steps(_inner(message.get("content")), role))
        if role == "system":
            messages.system.extend(replace(step, kind="system") for step in steps)
        else:
            messages.inputs.append(steps)
    for item in as_list(as_mapping(body.get("output")).get("messages")):
        message = as_mapping(item)
        wrapped = mapping_or_none(message.get("content"))
        steps = tuple(content_steps(_inner(message.get("content")), str(message.get("role") or "assistant")))
        if wrapped is not None and "message" in wrapped:
            messages.outputs.append(steps)
            messages.finish_reason = _reason(wrapped)
            _read_results(wrapped, messages)
        else:
            messages.history.append(steps)


def _read_results(fields: Mapping[str, Any], messages: SpanMessages) -> None:
    """Read a cycle's tool results, which Strands records in a separate attribute."""
    if (results := fields.get("tool.result")) is not None:
        messages.results.append(tuple(content_steps(results, "user")))


def _reason(fields: Mapping[str, Any]) -> str | None:
    reason = fields.get("finish_reason")
    return None if reason is None else to_text(reason)


def _inner(content: object) -> object:
    wrapped = mapping_or_none(content)
    if wrapped is None:
        return content
    return wrapped["message"] if "message" in wrapped else wrapped.get("content", content)


def content_steps(content: object, role: str) -> Sequence[Step]:
    """Return the steps in a message's content: plain text, Bedrock content blocks or OpenTelemetry parts.

    Args:
        content: The content as recorded.
        role: The message's role.
    """
    value = parse_embedded(content)
    if value is None or value == REDACTED:
        return ()
    single = mapping_or_none(value)
    is_block = single is not None and _BLOCKS.intersection((*single, single.get("type")))
    blocks = [value] if is_block else as_list(value)
    steps: list[Step] = []
    for block in blocks:
        step = _step(mapping_or_none(block), role)
        if step is None:  # a list that holds no blocks was text all along
            return (Step(kind=_author(role), text=to_text(content)),)
        steps.append(step)
    if not steps and not isinstance(value, list):
        return (Step(kind=_author(role), text=to_text(content)),)
    return steps


_BLOCKS = frozenset(
    {
        *("text", "toolUse", "toolResult", "tool_call", "tool_call_response", "reasoning", "reasoningContent"),
        *("image", "document", "video", "audio", "guardContent", "cachePoint", "citationsContent", "searchResult"),
    }
)
"""The keys by which a single block without a list around it is recognized; other JSON is text."""


def _author(role: str) -> str:
    return role if role in ("system", "assistant") else "user"


def _step(block: Mapping[str, Any] | None, role: str) -> Step | None:
    if block is None:
        return None
    if (use := mapping_or_none(block.get("toolUse"))) is not None:
        return Step(
            kind="tool_call",
            name=to_text(use.get("name")),
            call_id=to_text(use.get("toolUseId")),
            arguments=parse_embedded(use.get("input")),
        )
    if (result := mapping_or_none(block.get("toolResult"))) is not None:
        return Step(
            kind="tool_result",
            call_id=to_text(result.get("toolUseId")),
            result=plain_result(result.get("content")),
            status=to_text(result.get("status")),
        )
    kind = block.get("type")
    if kind == "tool_call":
        return Step(
            kind="tool_call",
            name=to_text(block.get("name")),
            call_id=to_text(block.get("id")),
            arguments=parse_embedded(block.get("arguments")),
        )
    if kind == "tool_call_response":
        answer = block.get("response", block.get("result"))
        return Step(kind="tool_result", call_id=to_text(block.get("id")), result=plain_result(answer))
    if kind == "text" or ("text" in block and len(block) == 1):
        return Step(kind=_author(role), text=to_text(block.get("content", block.get("text"))))
    if kind is not None or len(block) == 1:  # an image, a document, reasoning: named by its kind
        name = to_text(kind) if kind is not None else next(iter(block))
        return Step(kind=_author(role), name=name, text=to_text(block.get("content", block.get(name))))
    return None


def plain_result(content: object) -> Any:
    """Simplify a tool result: text where it holds only text, the value where it holds one JSON value."""
    value = parse_embedded(content)
    blocks = [mapping_or_none(block) for block in as_list(value)]
    texts = [block["text"] for block in blocks if block is not None and list(block) == ["text"]]
    if blocks and len(texts) == len(blocks):
        return "\n".join(map(to_text, texts))
    if len(blocks) == 1 and blocks[0] is not None and list(blocks[0]) == ["json"]:
        return blocks[0]["json"]
    return value
