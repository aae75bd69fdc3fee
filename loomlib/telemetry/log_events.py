"""Log lines as values: the AgentCore SDK's JSON is parsed, a plain line stays unchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from loomlib.json_values import parse_object

if TYPE_CHECKING:
    from loomlib.aws.logs import StoredEvent

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One line of an agent's log.

    `level`, `logger`, `session_id` and `request_id` are known for the JSON lines of the AgentCore SDK only.

    Attributes:
        timestamp: When it was logged.
        timestamp_ms: The same in Unix milliseconds.
        message: The text of the line.
        raw: The line as stored.
        stream: The log stream.
        level: The log level.
        logger: The logger's name.
        session_id: The runtime session.
        request_id: The request.
        ingestion_time: When CloudWatch received it.
        event_id: CloudWatch's id of the event.
    """

    timestamp: datetime
    timestamp_ms: int
    message: str
    raw: str = field(repr=False)
    stream: str
    level: str | None = None
    logger: str | None = None
    session_id: str | None = None
    request_id: str | None = None
    ingestion_time: datetime | None = None
    event_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine:
    """The parts of one line: the message, and the fields that the AgentCore SDK adds."""

    message: str
    level: str | None = None
    logger: str | None = None
    session_id: str | None = None
    request_id: str | None = None


def parse_line(raw: str) -> ParsedLine:
    """Parse a line; anything but the SDK's JSON is a plain message."""
    line = raw.rstrip("\r\n")
    fields = parse_object(line) if line.lstrip().startswith("{") else {}
    message = fields.get("message")
    if not isinstance(message, str):
        return ParsedLine(
            message=line,
            level=_text(fields, "level"),
            session_id=_text(fields, "sessionId"),
            request_id=_text(fields, "requestId"),
        )
    return ParsedLine(
        message=message,
        level=_text(fields, "level"),
        logger=_text(fields, "logger"),
        session_id=_text(fields, "sessionId"),
        request_id=_text(fields, "requestId"),
    )


def log_event(stored: StoredEvent) -> LogEvent:
    """Convert an event of CloudWatch."""
    line = parse_line(stored.message)
    return LogEvent(
        timestamp=moment(stored.timestamp_ms),
        timestamp_ms=stored.timestamp_ms,
        message=line.message,
        raw=stored.message,
        stream=stored.stream,
        level=line.level,
        logger=line.logger,
        session_id=line.session_id,
        request_id=line.request_id,
        ingestion_time=moment(stored.ingestion_ms) if stored.ingestion_ms else None,
        event_id=stored.event_id,
    )


def moment(unix_ms: int) -> datetime:
    """Return Unix milliseconds as a timezone-aware time, exactly."""
    return _EPOCH + timedelta(milliseconds=unix_ms)


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None
