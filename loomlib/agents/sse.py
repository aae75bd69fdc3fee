"""Parsing server-sent events incrementally: bytes in, whole events out, wherever the bytes are split.

The format is that of the HTML standard, section 9.2.6: lines end in CR LF, LF or CR, and one leading byte-order mark is
dropped.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.errors import MalformedResponseError


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEvent:
    """One server-sent event.

    Attributes:
        data: Its `data` lines joined by LF.
        event: Its type.
        id: Its id.
    """

    data: str
    event: str = "message"
    id: str | None = None


class SseParser:
    """An incremental parser; any split of the same bytes gives the same events.

    Raises `MalformedResponseError` when the bytes are not UTF-8, or when the stream ends without any known field.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("strict").decode
        self._line: list[str] = []
        self._data: list[str] = []
        self._event = ""
        self._id: str | None = None
        self._skip_line_feed = False
        self._fields = 0
        self._unknown_fields = 0

    def feed(self, data: bytes) -> Sequence[SseEvent]:
        """Return the events that `data` completes, oldest first."""
        return self._split(self._text(data, final=False))

    def finish(self) -> Sequence[SseEvent]:
        """Return the remaining events at the end of the stream.

        The standard drops an event without its closing blank line. It is returned here: some servers omit the last
        blank line, and HTTP framing shows whether the stream was interrupted.
        """
        events = list(self._split(self._text(b"", final=True)))
        if self._line:
            self._field("".join(self._line))
            self._line = []
        events.extend(self._dispatch())
        if self._unknown_fields and not self._fields:
            raise MalformedResponseError(
                "The response has the content type text/event-stream but contains no server-sent event",
                on=f"{self._unknown_fields} lines without a known field",
                try_="read the agent's log; it should yield its text from a generator",
            )
        return events

    def _text(self, data: bytes, *, final: bool) -> str:
        try:
            return self._decode(data, final)
        except UnicodeDecodeError as error:
            raise MalformedResponseError(
                "The event stream is not UTF-8",
                on=f"byte {error.object[error.start]:#04x}",
                try_="read the agent's log; server-sent events are always UTF-8",
            ) from error

    def _split(self, text: str) -> Sequence[SseEvent]:
        events: list[SseEvent] = []
        if text and self._skip_line_feed:
            self._skip_line_feed = False
            text = text.removeprefix("\n")
        if text.endswith("\r"):  # whether a line feed belongs to it is known with the next bytes; the line ends now
            self._skip_line_feed = True
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in lines[:-1]:
            self._line.append(line)
            events.extend(self._end_line("".join(self._line)))
            self._line = []
        if lines[-1]:
            self._line.append(lines[-1])
        return events

    def _end_line(self, line: str) -> Sequence[SseEvent]:
        if line:
            self._field(line)
            return ()
        return self._dispatch()

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            self._id = None if "\0" in value else value
        elif name not in ("", "retry"):  # an empty name is a comment
            self._unknown_fields += 1
            return
        self._fields += 1

    def _dispatch(self) -> Sequence[SseEvent]:
        data, event = self._data, self._event
        self._data, self._event = [], ""
        if not data:
            return ()
        return (SseEvent(data="\n".join(data), event=event or "message", id=self._id),)
