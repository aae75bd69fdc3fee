"""How a session started, in parts. The local AgentCore records it; AWS does not expose a session's start.

The record is a log record of the service's own in the runtime's log group, beside the agent's OpenTelemetry records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import ResourceNotFoundError
from loomlib.json_values import as_mapping, as_text, count_or_none, parse_object
from loomlib.presentation.formats import milliseconds

from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

START_PARTS: Final = {
    "preparation": "preparation",
    "boot": "boot",
    "imports": "imports",
    "restore": "restore",
    "network": "network",
    "first_ping": "first ping",
    "warm_up": "warm-up hook",
}
"""The parts of a start and their labels, in the order in which a session passes through them.

`preparation`: the session's folder and keys. V1: `boot`, from starting a process to the first line of the agent's
script; `imports`, from there to a server that accepts connections. V2: `restore`, from requesting a copy of the
snapshot's process to a copy that serves; `network`, setting up its own network. `first_ping`: the answer to the first
health check. `warm_up`: the warm-up hook, which is called in a session of V2 that could not be restored."""

_EVENT: Final = "loom.session_start"
_AFTER_MS: Final = 1_000
"""Clocks that are read one after the other may differ in the last millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPart:
    """One part of a session's start.

    Attributes:
        name: One of `START_PARTS`.
        start_ns: When it began, Unix time in nanoseconds.
        duration_ns: How long it took.
    """

    name: str
    start_ns: int
    duration_ns: int

    @property
    def label(self) -> str:
        """The part's label."""
        return START_PARTS[self.name]

    @property
    def duration_ms(self) -> float:
        """How long it took, in milliseconds."""
        return self.duration_ns / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStartRecord:
    """The start of one session's process.

    Attributes:
        session_id: The runtime session.
        kind: "boot", or "restore" from a snapshot.
        platform_version: The version's platform, "V1" or "V2"; a session of V2 boots where no snapshot can be taken.
        parts: Its parts, in order and without gaps.
    """

    session_id: str
    kind: str
    platform_version: str
    parts: tuple[StartPart, ...]

    @property
    def start_ns(self) -> int:
        """When it began, Unix time in nanoseconds."""
        return self.parts[0].start_ns

    @property
    def duration_ms(self) -> float:
        """How long it took, in milliseconds."""
        return sum(part.duration_ns for part in self.parts) / 1e6

    def sentence(self) -> str:
        """Return how the session started, in one sentence."""
        parts = ", ".join(f"{part.label} {milliseconds(part.duration_ms)}" for part in self.parts)
        how = "booted" if self.kind == "boot" else "restored from a snapshot"
        return f"The session was {how} in {milliseconds(self.duration_ms)}: {parts}."

    def stored(self) -> dict[str, Any]:
        """Return the start as JSON-ready values."""
        return {
            "session_id": self.session_id,
            "kind": self.kind,
            "platform_version": self.platform_version,
            "start_ns": self.start_ns,
            "parts_ns": {part.name: part.duration_ns for part in self.parts},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> SessionStartRecord | None:
        """Return a stored start; None if the value is not one."""
        at_ns = count_or_none(stored.get("start_ns"))
        durations = {name: count_or_none(value) for name, value in as_mapping(stored.get("parts_ns")).items()}
        parts: list[StartPart] = []
        for name, duration_ns in durations.items():
            if at_ns is None or duration_ns is None or name not in START_PARTS:
                return None
            parts.append(StartPart(name=name, start_ns=at_ns, duration_ns=duration_ns))
            at_ns += duration_ns
        if not parts:
            return None
        return cls(
            session_id=as_text(stored.get("session_id")),
            kind=as_text(stored.get("kind")),
            platform_version=as_text(stored.get("platform_version")),
            parts=tuple(parts),
        )


def find_session_starts(
    clients: Clients,
    source: RuntimeSource,
    session_ids: Iterable[str],
    *,
    qualifier: str = "DEFAULT",
    start_s: float,
    end_s: float | None = None,
) -> dict[str, list[SessionStartRecord]]:
    """Return the recorded starts of some sessions, by session and time; none on AWS, which does not record them.

    A session starts again when its process has ended and another call arrives.

    Args:
        clients: The AWS clients of a connection.
        source: The agent's runtime.
        session_ids: The sessions.
        qualifier: The endpoint.
        start_s: Start of the range, Unix seconds.
        end_s: End of the range; None for now.
    """
    from loomlib.aws.logs import filter_events

    requested_ids = set(session_ids)
    starts: dict[str, list[SessionStartRecord]] = {}
    try:
        events = filter_events(
            clients,
            source.log_group(qualifier),
            region=source.region,
            term=_EVENT,
            start_ms=int(start_s * 1000) - _AFTER_MS,
            end_ms=None if end_s is None else int(end_s * 1000) + _AFTER_MS,
            streams=[MESSAGES_STREAM],
        )
    except ResourceNotFoundError:
        return {}
    for event in events:
        start = _start_of(as_mapping(parse_object(event.message).get("attributes")))
        if start is not None and start.session_id in requested_ids:
            starts.setdefault(start.session_id, []).append(start)
    return starts


def _start_of(attributes: Mapping[str, Any]) -> SessionStartRecord | None:
    if attributes.get("event.name") != _EVENT:
        return None
    return SessionStartRecord.read(
        {
            "session_id": attributes.get("session.id"),
            "kind": attributes.get("loom.start.kind"),
            "platform_version": attributes.get("loom.start.platform"),
            "start_ns": attributes.get("loom.start.began_unix_nano"),
            "parts_ns": attributes.get("loom.start.parts_nano"),
        }
    )
