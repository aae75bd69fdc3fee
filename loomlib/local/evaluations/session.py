"""The session that Evaluate judges, read from spans and message records in the split form of ADOT."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from loomlib.local.models.json_values import as_list, as_object, as_text, field_of
from loomlib.local.wire import invalid

_MAX_DEPTH = 6
_NAMES = ("text", "message", "content", "response", "result")


@dataclass(slots=True, kw_only=True)
class Call:
    """One tool call."""

    span_id: str
    name: str
    arguments: str = ""
    result: str = ""


@dataclass(slots=True, kw_only=True)
class SessionTurn:
    """One trace: the prompt, the tool calls in order, the answer."""

    trace_id: str
    prompt: str = ""
    answer: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    has_answer: bool = False  # whether the answer comes from the agent's own span


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The turns of one session, in order of time."""

    id: str
    turns: tuple[SessionTurn, ...]

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools called, in order."""
        return [call.name for turn in self.turns for call in turn.calls]


def read_session(documents: Sequence[Mapping[str, Any]]) -> Session:
    """Read the session in `documents`; refuse them (ValidationException) unless they have spans of just one session."""
    spans = sorted((document for document in documents if _is_span(document)), key=_start)
    records = [document for document in documents if not _is_span(document)]
    ids = list(dict.fromkeys(filter(None, (as_text(_attributes(span).get("session.id")) for span in spans))))
    if not spans:
        raise invalid("evaluationInput.sessionSpans has no span")
    if len(ids) != 1:
        raise invalid(f"evaluationInput.sessionSpans must be of one session (attribute session.id), not of {len(ids)}")
    messages = _by_span(records)
    turns: dict[str, SessionTurn] = {}
    for span in spans:
        turn = turns.setdefault(as_text(span.get("traceId")), SessionTurn(trace_id=as_text(span.get("traceId"))))
        _add(turn, span, messages)
    return Session(id=ids[0], turns=tuple(turns.values()))


def _add(turn: SessionTurn, span: Mapping[str, Any], messages: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
    attributes = _attributes(span)
    operation = as_text(attributes.get("gen_ai.operation.name")) or as_text(span.get("name")).partition(" ")[0]
    span_id = as_text(span.get("spanId"))
    inputs, outputs = messages.get(span_id, ([], []))
    inputs = inputs or _messages(attributes.get("gen_ai.input.messages"))
    outputs = outputs or _messages(attributes.get("gen_ai.output.messages"))
    if operation == "execute_tool":
        name = as_text(attributes.get("gen_ai.tool.name")) or as_text(span.get("name")).partition(" ")[2]
        turn.calls.append(
            Call(
                span_id=span_id,
                name=name,
                arguments=as_text(attributes.get("gen_ai.tool.call.arguments")) or _last(inputs, None),
                result=as_text(attributes.get("gen_ai.tool.call.result")) or _last(outputs, None),
            )
        )
    elif operation in ("invoke_agent", "chat"):
        # The agent's own span starts first and has everything; a model call only adds what it lacks.
        turn.prompt = turn.prompt or _last(inputs, "user")
        if answer := _last(outputs, "assistant"):
            turn.answer = answer if operation == "chat" and not turn.has_answer else turn.answer
            if operation == "invoke_agent" and not turn.has_answer:
                turn.answer, turn.has_answer = answer, True


def _by_span(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return the input and output messages of each span."""
    by_span: dict[str, tuple[list[Any], list[Any]]] = {}
    for record in records:
        inputs, outputs = by_span.setdefault(as_text(record.get("spanId")), ([], []))
        inputs += _messages(field_of(record, "body", "input", "messages"))
        outputs += _messages(field_of(record, "body", "output", "messages"))
    return by_span


def _messages(value: object) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return as_list(value)


def _last(messages: Sequence[Any], role: str | None) -> str:
    """Return the text of the last message of a role, or of any role if it is None."""
    for message in map(as_object, reversed(messages)):
        if role is None or message.get("role") == role:
            content = message.get("content")
            if text := _plain(message.get("parts") if content is None else content):
                return text
    return ""


def _plain(content: object, depth: int = 0) -> str:
    """Return a message's text, from plain text, JSON of content blocks, or content blocks under any name."""
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(content, str):
        if content[:2] in ("[{", '["'):
            try:
                return _plain(json.loads(content), depth + 1)
            except (ValueError, RecursionError):
                return content.strip()
        return content.strip()
    if isinstance(content, list):
        return "\n".join(filter(None, (_plain(block, depth + 1) for block in as_list(cast(object, content)))))
    contents = [inner for name in _NAMES if (inner := field_of(content, name)) is not None]
    return _plain(contents[0], depth + 1) if contents else ""


def _is_span(document: Mapping[str, Any]) -> bool:
    return "name" in document and "startTimeUnixNano" in document and bool(document.get("spanId"))


def _start(span: Mapping[str, Any]) -> int:
    try:
        return int(span["startTimeUnixNano"])
    except (TypeError, ValueError):
        return 0


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(span.get("attributes"))
