"""What the span of a tool says: which call it answers, with what arguments, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .messages import REDACTED, content_steps, plain_result
from .span import LogRecord, Span
from .values import as_list, as_mapping, text_of, unpacked


def call_id_of(span: Span) -> str:
    """The id of the call that the tool ran for; `span …` where it has none."""
    return text_of(span.attributes.get("gen_ai.tool.call.id")) or f"span {span.span_id}"


def tool_name_of(span: Span) -> str:
    """The tool's name."""
    return text_of(span.attributes.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool ")


def tool_status_of(span: Span) -> str:
    """`success`, `error`, or "" where nothing says."""
    stated = text_of(span.attributes.get("gen_ai.tool.status"))
    return stated or {"error": "error", "ok": "success"}.get(span.status, "")


def tool_error_of(span: Span) -> str:
    """What is known of a failure besides a result: the span's own words, or its exception's."""
    if span.status_message:
        return span.status_message
    for event in span.events:
        if event.name == "exception":
            parts = (event.attributes.get("exception.type"), event.attributes.get("exception.message"))
            return ": ".join(filter(None, map(text_of, parts)))
    return ""


def said_by_tool(span: Span, records: Iterable[LogRecord]) -> tuple[Any, Any]:
    """Arguments and result as either convention records them, each None where nothing says."""
    arguments = _kept(unpacked(span.attributes.get("gen_ai.tool.call.arguments")))
    result = _kept(plain_result(span.attributes.get("gen_ai.tool.call.result")))
    for is_result, content in _contents(span, records):
        if is_result and result is None:
            result = _kept(_result(content))
        elif not is_result and arguments is None:
            arguments = _kept(_arguments(content))
    return arguments, result


def _contents(span: Span, records: Iterable[LogRecord]) -> Iterator[tuple[bool, Any]]:
    """The contents of the messages around the span, each with whether it is the tool's answer."""
    for source in (span.attributes, *(event.attributes for event in span.events)):
        for is_result, name in ((False, "gen_ai.input.messages"), (True, "gen_ai.output.messages")):
            for message in as_list(unpacked(source.get(name))):
                known = as_mapping(message)
                if known is not None:
                    yield is_result, known.get("parts", known.get("content"))
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            yield False, event.attributes.get("content")
        elif event.name == "gen_ai.choice":
            yield True, event.attributes.get("message")
    for record in records:  # ADOT's split form wraps both once more
        body = as_mapping(unpacked(record.body)) or {}
        for is_result, side, name in ((False, "input", "content"), (True, "output", "message")):
            for message in as_list((as_mapping(body.get(side)) or {}).get("messages")):
                content = (as_mapping(message) or {}).get("content")
                wrapped = as_mapping(content)
                yield is_result, content if wrapped is None else wrapped.get(name)


def _arguments(content: Any) -> Any:
    """Of a list of parts the call's; anything else are the arguments themselves."""
    value = unpacked(content)
    if as_list(value):
        calls = [step for step in content_steps(content, "tool") if step.kind == "tool_call"]
        return calls[0].arguments if calls else value
    return value


def _result(content: Any) -> Any:
    results = [step for step in content_steps(content, "tool") if step.kind == "tool_result"]
    return results[0].result if results else plain_result(content)


def _kept(value: Any) -> Any:
    return None if value == REDACTED else value
