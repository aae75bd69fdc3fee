"""AgentCore Memory's shapes as values: memories with strategies, sessions, events and records.

Times are timezone-aware and in UTC. Texts are untrusted: they are shown escaped and never in a repr.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from sys import intern
from typing import Any, Final, ParamSpec, TypeVar, cast

from loomlib.errors import MalformedResponseError

SOURCE_EVENTS_KEY: Final = "x-loom-source-events"
"""The metadata key in which the local service reports a record's source events. AWS does not report them."""
EXTRACTOR_KEY: Final = "x-loom-extractor"
"""The metadata key in which the local service reports the extractor of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStrategy:
    """A strategy of extraction. `namespaces` are templates, those of its reflections included."""

    strategy_id: str
    name: str
    type: str
    status: str
    namespaces: tuple[str, ...]
    description: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDescription:
    """A memory in `region`. ListMemories returns neither `strategies` nor `event_expiry_days` (None)."""

    memory_id: str
    arn: str
    name: str
    status: str
    region: str
    created_at: datetime
    updated_at: datetime
    strategies: tuple[MemoryStrategy, ...] = ()
    event_expiry_days: int | None = None
    description: str = field(default="", repr=False)
    failure_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySession:
    """A session of a memory. Its id belongs to the memory; an agent may use its runtime session's id or another one."""

    session_id: str
    actor_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMessage:
    """A message of an event. `role` is AWS's (USER, ASSISTANT, TOOL, OTHER), or BLOB or JSON for other content."""

    role: str
    text: str = field(repr=False)

    @property
    def is_state(self) -> bool:
        """Whether it is not a message but an agent's own state, such as that of a session manager."""
        return self.role in ("BLOB", "JSON")

    @property
    def spoken(self) -> str:
        """Only the spoken text: Strands' session manager stores a message as JSON that contains it."""
        if not self.text.startswith('{"'):
            return self.text
        try:
            content = json.loads(self.text)["message"]["content"]
            words = [block["text"] for block in cast("list[Any]", content) if isinstance(block.get("text"), str)]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return self.text
        return "\n".join(words) or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvent:
    """An event of short-term memory."""

    event_id: str
    actor_id: str
    session_id: str
    timestamp: datetime
    messages: tuple[MemoryMessage, ...] = ()
    branch: str = ""
    root_event_id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def text(self) -> str:
        """The texts of all messages, one per line."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A record of long-term memory. `score` is set for search results."""

    record_id: str
    text: str = field(repr=False)
    namespaces: tuple[str, ...]
    strategy_id: str
    created_at: datetime
    updated_at: datetime | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def extractor(self) -> str:
        """The extractor, such as "offline extractor"; empty if the service does not report it."""
        return str(self.metadata.get(EXTRACTOR_KEY, ""))

    @property
    def stated_sources(self) -> tuple[str, ...]:
        """The source events as reported by the service (compare with `metadata_event_id`); empty if not reported."""
        sources = self.metadata.get(SOURCE_EVENTS_KEY)
        return tuple(str(source) for source in sources) if isinstance(sources, list | tuple) else ()  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedExtraction:
    """An extraction that failed (ListMemoryExtractionJobs lists no others)."""

    job_id: str
    actor_id: str
    session_id: str
    strategy_id: str
    status: str
    reason: str = field(repr=False)
    event_ids: tuple[str, ...] = ()


P = ParamSpec("P")
T = TypeVar("T")


def _documented(read: Callable[P, T]) -> Callable[P, T]:
    """Make a shape's parser raise `MalformedResponseError` for a shape that is not in the documented form."""

    @functools.wraps(read)
    def reading(*shape: P.args, **options: P.kwargs) -> T:
        try:
            return read(*shape, **options)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise MalformedResponseError(
                f"The answer is not in the documented form: {error!r}",
                on="AgentCore Memory",
                try_="call again; if the error persists, update boto3 and loomlib",
            ) from error

    return reading


def metadata_event_id(event_id: str) -> str:
    """Return an event's id as written in a record's metadata, where `#` is not allowed."""
    return event_id.replace("#", ":")


@_documented
def memory_of(shape: Mapping[str, Any], region: str) -> MemoryDescription:
    """Parse a memory of ListMemories or GetMemory; a listing does not contain the name, but the id begins with it."""
    memory_id = str(shape.get("id") or str(shape.get("arn", "")).rpartition("/")[2])
    expiry = shape.get("eventExpiryDuration")
    return MemoryDescription(
        memory_id=memory_id,
        arn=str(shape.get("arn", "")),
        name=str(shape.get("name") or memory_id.rpartition("-")[0] or memory_id),
        status=str(shape.get("status", "")),
        region=region,
        created_at=utc(shape["createdAt"]),
        updated_at=utc(shape["updatedAt"]),
        strategies=tuple(_strategy(strategy) for strategy in _list(shape.get("strategies"))),
        event_expiry_days=None if expiry is None else int(expiry),
        description=str(shape.get("description") or ""),
        failure_reason=str(shape.get("failureReason") or ""),
    )


@_documented
def session_of(shape: Mapping[str, Any]) -> MemorySession:
    """Parse a session of ListSessions."""
    return MemorySession(
        session_id=str(shape["sessionId"]), actor_id=str(shape["actorId"]), created_at=utc(shape["createdAt"])
    )


@_documented
def event_of(shape: Mapping[str, Any]) -> MemoryEvent:
    """Parse an event; strings that are shared by many events are interned."""
    branch = _map(shape.get("branch"))
    return MemoryEvent(
        event_id=str(shape["eventId"]),
        actor_id=intern(str(shape["actorId"])),
        session_id=intern(str(shape["sessionId"])),
        timestamp=utc(shape["eventTimestamp"]),
        messages=tuple(_message(message) for message in _list(shape.get("payload"))),
        branch=intern(str(branch.get("name") or "")),
        root_event_id=str(branch.get("rootEventId") or ""),
        metadata={str(key): str(_plain(value)) for key, value in _map(shape.get("metadata")).items()},
    )


@_documented
def record_of(shape: Mapping[str, Any]) -> MemoryRecord:
    """Parse a record of GetMemoryRecord, ListMemoryRecords or RetrieveMemoryRecords."""
    changed, score = shape.get("timestamp"), shape.get("score")
    return MemoryRecord(
        record_id=str(shape["memoryRecordId"]),
        text=str(_map(shape.get("content")).get("text", "")),
        namespaces=tuple(intern(str(namespace)) for namespace in _list(shape.get("namespaces"))),
        strategy_id=intern(str(shape.get("memoryStrategyId", ""))),
        created_at=utc(shape["createdAt"]),
        updated_at=None if changed is None else utc(changed),
        score=None if score is None else float(score),
        metadata={str(key): _plain(value) for key, value in _map(shape.get("metadata")).items()},
    )


@_documented
def failed_extraction_of(shape: Mapping[str, Any]) -> FailedExtraction:
    """Parse a job of ListMemoryExtractionJobs."""
    messages = _map(shape.get("messages"))
    return FailedExtraction(
        job_id=str(shape["jobID"]),
        actor_id=str(shape.get("actorId") or ""),
        session_id=str(shape.get("sessionId") or ""),
        strategy_id=str(shape.get("strategyId") or ""),
        status=str(shape.get("status") or ""),
        reason=str(shape.get("failureReason") or ""),
        event_ids=tuple(dict.fromkeys(str(message["eventId"]) for message in _list(messages.get("messagesList")))),
    )


def utc(moment: datetime) -> datetime:
    """Convert a time from botocore, which is in the machine's time zone, to UTC."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _strategy(shape: Mapping[str, Any]) -> MemoryStrategy:
    templates = _list(shape.get("namespaceTemplates")) or _list(shape.get("namespaces"))
    for reflection in _map(_map(shape.get("configuration")).get("reflection")).values():
        for reflected in (reflection, *_map(reflection).values()):
            fields = _map(reflected)
            templates = templates + (_list(fields.get("namespaceTemplates")) or _list(fields.get("namespaces")))
    return MemoryStrategy(
        strategy_id=str(shape["strategyId"]),
        name=str(shape["name"]),
        type=str(shape["type"]),
        status=str(shape.get("status") or ""),
        namespaces=tuple(dict.fromkeys(str(template) for template in templates)),
        description=str(shape.get("description") or ""),
    )


def _message(shape: Mapping[str, Any]) -> MemoryMessage:
    if "conversational" in shape:
        message = _map(shape["conversational"])
        return MemoryMessage(role=intern(str(message["role"])), text=str(_map(message.get("content")).get("text", "")))
    if "json" in shape:
        return MemoryMessage(role="JSON", text=_text(_map(shape["json"]).get("content")))
    return MemoryMessage(role="BLOB", text=_text(shape.get("blob")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    """Return a metadata value without AWS's wrapping: `"a"` for `{"stringValue": "a"}`."""
    wrapped = _map(value)
    return next(iter(wrapped.values())) if len(wrapped) == 1 else value


def _map(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
