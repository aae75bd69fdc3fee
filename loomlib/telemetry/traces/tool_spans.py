"""Read a tool's span: the call it belongs to, its arguments and its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from loomlib.json_values import as_list, as_mapping, mapping_or_none, parse_embedded, to_text

from .messages import REDACTED, content_steps, plain_result
from .span import LogRecord, Span


def call_id_of(span: Span) -> str:
    """Return the id of the tool call that the span executes; `span <id>` when it states none."""
    return to_text(span.facts.get("gen_ai.tool.call.id")) or f"span {span.span_id}"


def tool_name_of(span: Span) -> str:
    """Return the tool's name."""
    return to_text(span.facts.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool ")


def tool_status_of(span: Span) -> str:
    """Return `success`, `error`, or "" where the span states neither."""
    stated = to_text(span.facts.get("gen_ai.tool.status"))
    return stated or {"error": "error", "ok": "success"}.get(span.status, "")


def tool_error_of(span: Span) -> str:
    """Return the span's status message or its exception, "" when it has neither."""
    if span.status_message:
        return span.status_message
    for event in span.events:
        if event.name == "exception":
            parts = (event.attributes.get("exception.type"), event.attributes.get("exception.message"))
            return ": ".join(filter(None, map(to_text, parts)))
    return ""


def tool_content(span: Span, records: Iterable[LogRecord]) -> tuple[Any, Any]:
    """Return arguments and result of a tool call, in either convention, each None where absent.

    Args:
        span: The tool's span.
        records: The log records that belong to it.
    """
    arguments = _unless_redacted(parse_embedded(span.facts.get("gen_ai.tool.call.arguments")))
    result = _unless_redacted(plain_result(span.facts.get("gen_ai.tool.call.result")))
    for is_result, content in _contents(span, records):
        if is_result and result is None:
            result = _unless_redacted(_result(content))
        elif not is_result and arguments is None:
            arguments = _unless_redacted(_arguments(content))
    return arguments, result


def _contents(span: Span, records: Iterable[LogRecord]) -> Iterator[tuple[bool, Any]]:
    """Yield the contents of the span's messages, each with whether it is the tool's result."""
    for source in (span.facts, *(event.attributes for event in span.events)):
        for is_result, name in ((False, "gen_ai.input.messages"), (True, "gen_ai.output.messages")):
            for message in as_list(parse_embedded(source.get(name))):
                entry = mapping_or_none(message)
                if entry is not None:
                    yield is_result, entry.get("parts", entry.get("content"))
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            yield False, event.attributes.get("content")
        elif event.name == "gen_ai.choice":
            yield True, event.attributes.get("message")
    for record in records:  # ADOT's split form wraps both once more
        body = as_mapping(parse_embedded(record.body))
        for is_result, side, name in ((False, "input", "content"), (True, "output", "message")):
            for message in as_list(as_mapping(body.get(side)).get("messages")):
                content = as_mapping(message).get("content")
                wrapped = mapping_or_none(content)
                yield is_result, content if wrapped is None else wrapped.get(name)


def _arguments(content: Any) -> Any:
    """Return the call's arguments from a list of parts; anything else is the arguments themselves."""
    value = parse_embedded(content)
    if as_list(value):
        calls = [step for step in content_steps(content, "tool") if step.kind == "tool_call"]
        return calls[0].arguments if calls else value
    return value


def _result(content: Any) -> Any:
    results = [step for step in content_steps(content, "tool") if step.kind == "tool_result"]
    return results[0].result if results else plain_result(content)


def _unless_redacted(value: Any) -> Any:
    return None if value == REDACTED else value
