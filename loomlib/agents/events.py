"""The events of an invocation, and their encoding as server-sent events."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, TypeAlias

FAILURES: Final = (
    "throttle",
    "quota",
    "agent_error",
    "resource_limit",
    "transport",
    "timeout",
    "malformed_stream",
    "rejected",
    "service_error",
    "return_control",
    "cancelled",
    "interrupted",
)
"""Why an invocation failed.

`throttle` 429 · `quota` 402 · `agent_error` 424, or an error event inside a 200 · `resource_limit` 424 of a session
that reached a limit of its memory, processes, disk or answer; of the local AgentCore also when the limit interrupted a
stream · `transport` no connection, or an interrupted stream ·
`timeout` · `malformed_stream` a body that does not match its content type · `rejected` other 4xx · `service_error`
5xx · `return_control` a Bedrock agent returned a call to its caller, who has no result for it · `cancelled` by the
caller · `interrupted` Loom's own process ended first. The last two are not failures of the agent; like the others they
are excluded from percentiles.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """The request is about to be sent.

    Attributes:
        session_id: The runtime session.
        client_invoke_time: Unix seconds.
        invocation_id: The id of the stored invocation.
    """

    session_id: str
    client_invoke_time: float
    invocation_id: int | None = None

    def to_sse(self) -> str:
        """Return the event as a server-sent event."""
        return _sse("session_start", {"session_id": self.session_id, "client_invoke_time": self.client_invoke_time})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One piece of the response: a server-sent event, or one read of any other body.

    Attributes:
        text: Its text; "" for an event without text for the reader (a tool call, a lifecycle event).
        offset_ms: Milliseconds from sending the request to receiving the bytes that completed the piece.
        index: Its number, from 0.
        data: Its bytes.
    """

    text: str
    offset_ms: float
    index: int
    data: bytes = field(default=b"", repr=False)

    def to_sse(self) -> str:
        """Return the event as a server-sent event."""
        return _sse("chunk", {"text": self.text})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The response is complete.

    Attributes:
        session_id: The runtime session.
        client_done_time: Unix seconds.
        client_duration_ms: The duration in milliseconds.
        invocation_id: The id of the stored invocation.
    """

    session_id: str
    client_done_time: float
    client_duration_ms: float
    invocation_id: int | None = None

    def to_sse(self) -> str:
        """Return the event as a server-sent event."""
        return _sse(
            "session_end",
            {
                "session_id": self.session_id,
                "client_done_time": self.client_done_time,
                "client_duration_ms": self.client_duration_ms,
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationError:
    """The invocation failed.

    Attributes:
        message: The error.
        failure: One of `FAILURES`.
        session_id: The runtime session.
        client_duration_ms: The duration in milliseconds.
        invocation_id: The id of the stored invocation.
    """

    message: str
    failure: str
    session_id: str
    client_duration_ms: float | None = None
    invocation_id: int | None = None

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise ValueError(f"failure must be one of {', '.join(FAILURES)}, not {self.failure!r}")

    def to_sse(self) -> str:
        """Return the event as a server-sent event."""
        return _sse("error", {"message": self.message})


InvocationEvent: TypeAlias = SessionStart | Chunk | SessionEnd | InvocationError


def _sse(event: str, data: dict[str, object]) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
