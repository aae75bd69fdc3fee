"""What was said around a span: messages, tool calls and results, whichever way the convention at hand records them.

Both conventions are read: events `gen_ai.user.message`, `gen_ai.choice` and so on with Bedrock's content blocks, and
`gen_ai.input.messages` / `gen_ai.output.messages` with OpenTelemetry's parts, on the span or on an event. ADOT's split
form has the same as log records, in which the assistant's earlier messages lie among the outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .span import LogRecord, Span
from .values import as_list, as_mapping, text_of, unpacked

Message = tuple["Step", ...]
REDACTED = "[REDACTED]"
"""What Strands writes in place of content that its redaction policy holds back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was said or done.

    `kind` is `system`, `user`, `assistant`, `tool_call` or `tool_result`. A tool call has `name`, `call_id` and
    `arguments`; its result has the same `call_id` and `name`, `result` (text where it is only text), and `status`
    (`success`, `error`, or "" when nothing says). `span_id` is where it was read, `time_ns` when it was there.
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
        """Whether somebody said it in words: not a call or a result, an image or the model's reasoning."""
        return self.kind in ("system", "user", "assistant") and not self.name


@dataclass(slots=True, kw_only=True)
class Said:
    """The messages around one span.

    `history` holds assistant messages that came before, out of order; `results` what tools answered to `outputs`, where
    the span (a cycle's) says that too.
    """

    system: list[Step] = field(default_factory=list[Step])
    inputs: list[Message] = field(default_factory=list[Message])
    history: list[Message] = field(default_factory=list[Message])
    outputs: list[Message] = field(default_factory=list[Message])
    results: list[Message] = field(default_factory=list[Message])
    finish_reason: str | None = None

    def woven(self) -> Iterator[Message]:
        """Inputs in their order, and earlier answers that lie apart (ADOT's split form) back where they belong.

        An answer with tool calls goes before their results; an answer in words before the user speaks again.
        """
        pending = list(self.history)
        for place, message in enumerate(self.inputs):
            wanted = {step.call_id for step in message if step.kind == "tool_result"}
            fits = [_offered(each) & wanted if wanted else place and not _offered(each) for each in pending]
            if any(fits):
                until = fits.index(next(filter(None, fits))) + 1
                yield from pending[:until]
                del pending[:until]
            yield message
        yield from pending


def _offered(message: Message) -> set[str]:
    return {step.call_id for step in message if step.kind == "tool_call"}


def said_around(span: Span, records: Iterable[LogRecord] = ()) -> Said:
    """The messages of `span`, from its attributes, its events, and the log records that belong to it."""
    said = Said()
    _take_attributes(span.attributes, said)
    for event in span.events:
        if not _take_attributes(event.attributes, said):
            _take_event(event.name, event.attributes, said)
    for record in records:
        body = as_mapping(unpacked(record.body))
        if body is None:
            continue
        if "input" in body or "output" in body:
            _take_body(body, said)
        else:
            _take_event(record.event_name, body, said)
    return said


def _take_attributes(attributes: Mapping[str, Any], said: Said) -> bool:
    """The latest convention; whether there was anything of it."""
    system = attributes.get("gen_ai.system_instructions")
    inputs = attributes.get("gen_ai.input.messages")
    outputs = attributes.get("gen_ai.output.messages")
    if system is not None and not said.system:
        said.system.extend(replace(step, kind="system") for step in content_steps(system, "system"))
    if inputs is not None:
        # A cycle's span has inputs twice: what it began with, and in the end the results of its tools.
        (said.results if said.inputs else said.inputs).extend(_messages(inputs))
    if outputs is not None and not said.outputs:
        said.outputs.extend(_messages(outputs))
        last = as_list(unpacked(outputs))[-1:]
        said.finish_reason = _reason(as_mapping(last[0]) or {}) if last else None
    return system is not None or inputs is not None or outputs is not None


def _messages(value: object) -> Iterable[Message]:
    for each in as_list(unpacked(value)):
        message = as_mapping(each)
        if message is not None:
            content = message.get("parts", message.get("content"))
            yield tuple(content_steps(content, str(message.get("role") or "")))


def _take_event(name: str, attributes: Mapping[str, Any], said: Said) -> None:
    """The older convention: one event a message."""
    content = attributes.get("content")
    match name:
        case "gen_ai.system.message":
            said.system.extend(replace(step, kind="system") for step in content_steps(content, "system"))
        case "gen_ai.user.message" | "gen_ai.assistant.message" | "gen_ai.tool.message":
            said.inputs.append(tuple(content_steps(content, name.split(".")[1])))
        case "gen_ai.choice":
            message = attributes.get("message")
            said.finish_reason = _reason(attributes)
            inner = as_mapping(unpacked(message))
            if inner is not None and "content" in inner:
                message = inner["content"]
            said.outputs.append(tuple(content_steps(message, "assistant")))
            _take_results(attributes, said)
        case _:
            return


def _take_body(body: Mapping[str, Any], said: Said) -> None:
    """ADOT's log record: inputs and outputs, the content once more wrapped."""
    for each in as_list((as_mapping(body.get("input")) or {}).get("messages")):
        message = as_mapping(each) or {}
        role = str(message.get("role") or "")
        steps = tuple(content_steps(_inner(message.get("content")), role))
        if role == "system":
            said.system.extend(replace(step, kind="system") for step in steps)
        else:
            said.inputs.append(steps)
    for each in as_list((as_mapping(body.get("output")) or {}).get("messages")):
        message = as_mapping(each) or {}
        wrapped = as_mapping(message.get("content"))
        steps = tuple(content_steps(_inner(message.get("content")), str(message.get("role") or "assistant")))
        if wrapped is not None and "message" in wrapped:
            said.outputs.append(steps)
            said.finish_reason = _reason(wrapped)
            _take_results(wrapped, said)
        else:
            said.history.append(steps)


def _take_results(around: Mapping[str, Any], said: Said) -> None:
    """What a cycle's tools answered stands beside the model's message, in Strands' own attribute."""
    if (results := around.get("tool.result")) is not None:
        said.results.append(tuple(content_steps(results, "user")))


def _reason(around: Mapping[str, Any]) -> str | None:
    reason = around.get("finish_reason")
    return None if reason is None else text_of(reason)


def _inner(content: object) -> object:
    wrapped = as_mapping(content)
    if wrapped is None:
        return content
    return wrapped["message"] if "message" in wrapped else wrapped.get("content", content)


def content_steps(content: object, role: str) -> Sequence[Step]:
    """The steps in a message's content: plain text, Bedrock's blocks or OpenTelemetry's parts."""
    value = unpacked(content)
    if value is None or value == REDACTED:
        return ()
    one = as_mapping(value)
    blocks = [value] if one is not None and _BLOCKS.intersection((*one, one.get("type"))) else as_list(value)
    found: list[Step] = []
    for block in blocks:
        step = _step(as_mapping(block), role)
        if step is None:  # a list that is no list of blocks was text all along
            return (Step(kind=_speaker(role), text=text_of(content)),)
        found.append(step)
    if not found and not isinstance(value, list):
        return (Step(kind=_speaker(role), text=text_of(content)),)
    return found


_BLOCKS = frozenset(
    {
        *("text", "toolUse", "toolResult", "tool_call", "tool_call_response", "reasoning", "reasoningContent"),
        *("image", "document", "video", "audio", "guardContent", "cachePoint", "citationsContent", "searchResult"),
    }
)
"""What a block that stands alone, without a list around it, is known by; other JSON is text that somebody wrote."""


def _speaker(role: str) -> str:
    return role if role in ("system", "assistant") else "user"


def _step(block: Mapping[str, Any] | None, role: str) -> Step | None:
    if block is None:
        return None
    if (use := as_mapping(block.get("toolUse"))) is not None:
        return Step(
            kind="tool_call",
            name=text_of(use.get("name")),
            call_id=text_of(use.get("toolUseId")),
            arguments=unpacked(use.get("input")),
        )
    if (result := as_mapping(block.get("toolResult"))) is not None:
        return Step(
            kind="tool_result",
            call_id=text_of(result.get("toolUseId")),
            result=plain_result(result.get("content")),
            status=text_of(result.get("status")),
        )
    kind = block.get("type")
    if kind == "tool_call":
        return Step(
            kind="tool_call",
            name=text_of(block.get("name")),
            call_id=text_of(block.get("id")),
            arguments=unpacked(block.get("arguments")),
        )
    if kind == "tool_call_response":
        answer = block.get("response", block.get("result"))
        return Step(kind="tool_result", call_id=text_of(block.get("id")), result=plain_result(answer))
    if kind == "text" or ("text" in block and len(block) == 1):
        return Step(kind=_speaker(role), text=text_of(block.get("content", block.get("text"))))
    if kind is not None or len(block) == 1:  # an image, a document, reasoning: said as what it is
        name = text_of(kind) if kind is not None else next(iter(block))
        return Step(kind=_speaker(role), name=name, text=text_of(block.get("content", block.get(name))))
    return None


def plain_result(content: object) -> Any:
    """A tool's result as simple as it is: text where it holds only text, the value where it holds one JSON value."""
    value = unpacked(content)
    blocks = [as_mapping(block) for block in as_list(value)]
    texts = [block["text"] for block in blocks if block is not None and list(block) == ["text"]]
    if blocks and len(texts) == len(blocks):
        return "\n".join(map(text_of, texts))
    if len(blocks) == 1 and blocks[0] is not None and list(blocks[0]) == ["json"]:
        return blocks[0]["json"]
    return value
