"""The text in an agent's response, for each content type that agents use.

Agents have no common response format, so these are conventions collected from the SDKs: an event stream carries JSON
strings, `{"data"|"text"|"delta": …}` objects, Strands' event dictionaries, or AG-UI's events; a JSON body is a string,
or an object with its text in `result`, `response`, `output`, `text`, `message` or `completion`. Everything else stays
data.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from loomlib.errors import MalformedResponseError
from loomlib.json_values import mapping_or_none, to_text

from .agui.events import is_agui
from .agui.history import answer_in
from .mcp_apps.views import is_view
from .message_format import MessageFormat
from .sse import SseEvent, SseParser

_WHOLE: Final = ("result", "response", "output", "text", "message", "completion")
_DELTA: Final = ("data", "text", "delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a response.

    Attributes:
        text: Its text.
        data: Its bytes.
        error: The error that the agent reports in it; None when there is none.
        is_protocol_event: Whether it is an event of a protocol, which means more than its text and is stored as
            received.
    """

    text: str
    data: bytes = field(default=b"", repr=False)
    error: str | None = None
    is_protocol_event: bool = False


class AnswerReader(Protocol):
    """Reads a response body incrementally; raises `MalformedResponseError` when it does not match its content type."""

    def feed(self, data: bytes) -> Sequence[Piece]:
        """Return the pieces that `data` completes."""
        ...

    def finish(self) -> Sequence[Piece]:
        """Return the remaining pieces at the end of the body."""
        ...


def reader_for(content_type: str, form: MessageFormat | None = None) -> AnswerReader:
    """Return the reader for a `Content-Type`; anything unknown is read as text.

    Args:
        content_type: The content type.
        form: Where the agent's answers have their text and their errors; None for the usual places.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return EventStreamReader(form)
    if kind == "application/json" or kind.endswith("+json"):
        return JsonReader(form)
    return TextReader()


class EventStreamReader:
    """Reads server-sent events; each event is one piece."""

    def __init__(self, form: MessageFormat | None = None) -> None:
        self._parser, self._form = SseParser(), form
        self._raw_delta: str | None = None
        self._any_text = False
        self._message: str | None = None
        self._other_authors: set[str] = set()
        self._conversation = ""

    def feed(self, data: bytes) -> Sequence[Piece]:
        """Return the pieces that `data` completes."""
        return [self.read(event) for event in self._parser.feed(data)]

    def finish(self) -> Sequence[Piece]:
        """Return the remaining pieces at the end of the stream."""
        return [self.read(event) for event in self._parser.finish()]

    def read(self, event: SseEvent) -> Piece:
        """Return the piece of one event, which may also have come as a message of a WebSocket."""
        data = event.data.encode()
        try:
            value: object = json.loads(event.data)
        except (ValueError, RecursionError):  # plain text, as many hand-written agents send it
            value = "" if event.data == "[DONE]" else event.data
        if is_agui(value):
            return self._agui(cast("Mapping[str, Any]", value), data)
        error = _reported_error(value, self._form)
        if error is None and event.event == "error":
            error = value if isinstance(value, str) else event.data
        text = "" if error is not None else self._text(value)
        self._any_text = self._any_text or bool(text)
        return Piece(text=text, data=data, error=error, is_protocol_event=is_view(value))

    def _agui(self, value: Mapping[str, Any], data: bytes) -> Piece:
        """Return an AG-UI event's text: only the agent's text messages count, not arguments, reasoning or results.

        A second message starts a paragraph. Where nothing is streamed, the text is in the snapshot of the conversation.
        """
        kind, text, id = value["type"], "", value.get("messageId")
        if kind in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK") and value.get("role", "assistant") != "assistant":
            self._other_authors.add(str(id))
        if kind in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK") and isinstance(value.get("delta"), str):
            text = self._delta(str(id) if id is not None else self._message, value["delta"])
        elif kind == "MESSAGES_SNAPSHOT" and isinstance(value.get("messages"), list):
            self._conversation = answer_in(value["messages"])
        elif kind == "RUN_FINISHED" and not self._any_text:
            text, self._any_text = self._conversation, bool(self._conversation)
        error = str(value.get("message") or "no message") if kind == "RUN_ERROR" else None
        return Piece(text=text, data=data, error=error, is_protocol_event=True)

    def _delta(self, message: str | None, delta: str) -> str:
        if not delta or message in self._other_authors:
            return ""
        begins = self._any_text and message != self._message
        self._any_text, self._message = True, message
        return f"\n\n{delta}" if begins else delta

    def _text(self, value: object) -> str:
        if self._form is not None and self._form.answer:
            return self._form.answer_in(value) or ""
        if isinstance(value, str):
            return value
        fields = mapping_or_none(value)
        if fields is None:
            return ""
        if isinstance(fields.get("tool"), str):
            return ""  # a tool's result is not part of the answer
        raw = _strands_delta(fields)
        if raw is not None:
            self._raw_delta = raw
            return raw
        for key in _DELTA:
            inner = fields.get(key)
            if (nested := mapping_or_none(inner)) is not None:
                inner = nested.get("text")
            if isinstance(inner, str):
                # When an agent passes all of Strands' events on, a text comes twice: the model's event, then its own.
                repeated = inner == self._raw_delta and "delta" in fields
                self._raw_delta = None
                return "" if repeated else inner
        # A closing summary repeats what was streamed, so it counts only where nothing was.
        return "" if self._any_text else (_whole_text(fields) or "")


class JsonReader:
    """Reads a JSON body; the whole body is one piece."""

    def __init__(self, form: MessageFormat | None = None) -> None:
        self._body, self._form = bytearray(), form

    def feed(self, data: bytes) -> Sequence[Piece]:
        """Buffer the data; the body is read at its end."""
        self._body += data
        return ()

    def finish(self) -> Sequence[Piece]:
        """Return the body's text."""
        body = bytes(self._body)
        if not body.strip():
            return ()
        try:
            value: object = json.loads(body)
            if self._form is not None and (self._form.answer or self._form.error):
                return (self._mapped(value, self._form, body),)
            text = _answer_text(value)
            error = agent_error(value) if text is None else None
            if text is None and error is None:
                text = json.dumps(value, ensure_ascii=False)
        except (ValueError, RecursionError) as failure:
            raise MalformedResponseError(
                "The response has the content type application/json but is not JSON, or is nested too deeply",
                on=repr(body[:200]),
                try_="read the agent's log",
            ) from failure
        return (Piece(text=text or "", data=body, error=error),)

    def _mapped(self, value: object, form: MessageFormat, body: bytes) -> Piece:
        """Return the answer at the format's own path."""
        error = form.error_in(value)
        text = None if error is not None else form.answer_in(value) if form.answer else _answer_text(value)
        if error is None and text is None:
            error = agent_error(value)
        if error is None and text is None:
            raise MalformedResponseError(
                f"The response has no text at {form.answer or 'one of the usual places'}",
                on=repr(body[:200]),
                try_="agent.protocols.messages.probe(), which finds where the agent's answers are",
            )
        return Piece(text=text or "", data=body, error=error)


class TextReader:
    """Reads anything else as UTF-8 text; each read is one piece."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes) -> Sequence[Piece]:
        """Return the text that `data` completes."""
        return (Piece(text=self._decode(data), data=data),)

    def finish(self) -> Sequence[Piece]:
        """Return the replacement of an incomplete last character, if any."""
        rest = self._decode(b"", True)
        return (Piece(text=rest),) if rest else ()


def whole_text(value: object) -> str | None:
    """Return the text of a complete JSON response, None where no convention matches."""
    if isinstance(value, str):
        return value
    fields = mapping_or_none(value)
    return None if fields is None else _whole_text(fields)


def _answer_text(value: object) -> str | None:
    """Return the text of a complete JSON response; None for a failure of `BedrockAgentCoreApp`, which has a message."""
    fields = mapping_or_none(value)
    is_failure = fields is not None and bool(fields.get("error")) and "error_type" in fields
    return None if is_failure else whole_text(value)


def agent_error(value: object) -> str | None:
    """Return the error that an object reports, None without one.

    `BedrockAgentCoreApp` sends `{"error", "error_type", "message"}`.
    """
    fields = mapping_or_none(value)
    if fields is None or not fields.get("error"):
        return None
    error = fields["error"]
    inner = mapping_or_none(error)
    if inner is not None:
        error = inner.get("message") or to_text(inner)
    kind = fields.get("error_type")
    return f"{kind}: {error}" if kind else str(error)


def _reported_error(value: object, form: MessageFormat | None) -> str | None:
    own = form.error_in(value) if form is not None else None
    return agent_error(value) if own is None else own


def _whole_text(fields: Mapping[str, Any]) -> str | None:
    if "role" in fields and "content" in fields:
        return _message_text(fields)
    for key in _WHOLE:
        inner = fields.get(key)
        if isinstance(inner, str):
            return inner
        nested = mapping_or_none(inner)
        if nested is not None and (text := _whole_text(nested)) is not None:
            return text
    return None


def _message_text(message: Mapping[str, Any]) -> str | None:
    if message.get("role") == "user":
        return None
    content: object = message["content"]
    if isinstance(content, str):
        return content
    return "".join(_texts(content)) or None


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, list):
        for block in cast("list[object]", content):
            fields = mapping_or_none(block)
            if fields is not None and isinstance(fields.get("text"), str):
                yield fields["text"]


def _strands_delta(fields: Mapping[str, Any]) -> str | None:
    inner: object = fields
    for key in ("event", "contentBlockDelta", "delta"):
        nested = mapping_or_none(inner)
        inner = None if nested is None else nested.get(key)
    last = mapping_or_none(inner)
    text = None if last is None else last.get("text")
    return text if isinstance(text, str) else None
