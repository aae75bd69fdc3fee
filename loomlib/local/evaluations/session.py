"""A session as Evaluate is given it: spans and message records in ADOT's split form, read back into a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from loomlib.local.wire import invalid


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of a tool."""

    span_id: str
    name: str
    arguments: str = ""
    result: str = ""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One trace: what was asked, which tools were called in order, what was answered."""

    trace_id: str
    prompt: str = ""
    answer: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    has_answer: bool = False  # the agent's own span said it


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The turns of one session in order of time."""

    id: str
    turns: tuple[Turn, ...]

    @property
    def tool_names(self) -> list[str]:
        return [call.name for turn in self.turns for call in turn.calls]


def read_session(documents: Sequence[Mapping[str, Any]]) -> Session:
    """The session in `documents`; refuses (ValidationException) what has no span or no session id, or several."""
    spans = sorted((each for each in documents if _is_span(each)), key=_start)
    records = [each for each in documents if not _is_span(each) and each.get("body") is not None]
    ids = list(dict.fromkeys(filter(None, (_text(_attributes(each).get("session.id")) for each in spans))))
    if not spans:
        raise invalid("evaluationInput.sessionSpans holds no span")
    if len(ids) != 1:
        raise invalid(f"evaluationInput.sessionSpans must be of one session (attribute session.id), not of {len(ids)}")
    said = _by_span(records)
    turns: dict[str, Turn] = {}
    for span in spans:
        turn = turns.setdefault(_text(span.get("traceId")), Turn(trace_id=_text(span.get("traceId"))))
        _add(turn, span, said)
    return Session(id=ids[0], turns=tuple(turns.values()))


def _add(turn: Turn, span: Mapping[str, Any], said: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
    attributes = _attributes(span)
    operation = _text(attributes.get("gen_ai.operation.name")) or _text(span.get("name")).partition(" ")[0]
    span_id = _text(span.get("spanId"))
    inputs, outputs = said.get(span_id, ([], []))
    inputs = inputs or _messages(attributes.get("gen_ai.input.messages"))
    outputs = outputs or _messages(attributes.get("gen_ai.output.messages"))
    if operation == "execute_tool":
        name = _text(attributes.get("gen_ai.tool.name")) or _text(span.get("name")).partition(" ")[2]
        turn.calls.append(
            Call(
                span_id=span_id,
                name=name,
                arguments=_text(attributes.get("gen_ai.tool.call.arguments")) or _told(inputs, None),
                result=_text(attributes.get("gen_ai.tool.call.result")) or _told(outputs, None),
            )
        )
    elif operation in ("invoke_agent", "chat"):
        # The agent's own span starts first and says the whole; a model call only fills in what it does not say.
        turn.prompt = turn.prompt or _told(inputs, "user")
        if answer := _told(outputs, "assistant"):
            turn.answer = answer if operation == "chat" and not turn.has_answer else turn.answer
            if operation == "invoke_agent" and not turn.has_answer:
                turn.answer, turn.has_answer = answer, True


def _by_span(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[list[Any], list[Any]]]:
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for record in records:
        body = record.get("body")
        if not isinstance(body, Mapping):
            continue
        told = cast("Mapping[str, Any]", body)
        inputs, outputs = found.setdefault(_text(record.get("spanId")), ([], []))
        inputs += _messages(_get(told.get("input"), "messages"))
        outputs += _messages(_get(told.get("output"), "messages"))
    return found


def _messages(value: object) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return cast("list[Any]", value) if isinstance(value, list) else []


def _told(messages: Sequence[Any], role: str | None) -> str:
    """What was said last in that role (any role: None)."""
    for message in reversed(messages):
        if role is None or _get(message, "role") == role:
            content = _get(message, "content") if _get(message, "content") is not None else _get(message, "parts")
            if text := _plain(content):
                return text
    return ""


def _plain(content: object, depth: int = 0) -> str:
    """The text of a message's content, which is text, JSON of blocks as text, or blocks under some name."""
    if depth > 6:
        return ""
    if isinstance(content, str):
        if content[:2] in ("[{", '["'):
            try:
                return _plain(json.loads(content), depth + 1)
            except ValueError:
                return content.strip()
        return content.strip()
    if isinstance(content, list):
        return "\n".join(filter(None, (_plain(each, depth + 1) for each in cast("list[object]", content))))
    for name in ("text", "message", "content", "response", "result"):
        if (inner := _get(content, name)) is not None:
            return _plain(inner, depth + 1)
    return ""


def _is_span(document: Mapping[str, Any]) -> bool:
    return "name" in document and "startTimeUnixNano" in document and bool(document.get("spanId"))


def _start(span: Mapping[str, Any]) -> int:
    try:
        return int(span["startTimeUnixNano"])
    except (TypeError, ValueError):
        return 0


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    found = span.get("attributes")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _get(value: object, name: str) -> Any:
    return cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
