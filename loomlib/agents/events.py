"""What happens during an invocation, as values; and the specification's way of writing them as server-sent events."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, TypeAlias

FAILURES: Final = (
    "throttle",
    "quota",
    "agent_error",
    "transport",
    "timeout",
    "malformed_stream",
    "rejected",
    "service_error",
    "cancelled",
    "interrupted",
)
"""Why an invocation failed.

`throttle` 429 · `quota` 402 · `agent_error` 424, or an error event inside a 200 · `transport` no connection, or a cut
stream · `timeout` · `malformed_stream` a body that is not what its content type says · `rejected` other 4xx ·
`service_error` 5xx · `cancelled` the caller stopped listening · `interrupted` Loom's own process ended first. The last
two are no failures of the agent; like the others they enter no percentile.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """The request is about to be sent. `client_invoke_time` is Unix time in seconds."""

    session_id: str
    client_invoke_time: float
    invocation_id: int | None = None

    def to_sse(self) -> str:
        """The event as the specification writes it."""
        return _sse("session_start", {"session_id": self.session_id, "client_invoke_time": self.client_invoke_time})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One piece of the answer: a server-sent event, or what the socket gave of any other body.

    `offset_ms` runs from the moment the request was sent to the moment the socket gave the bytes that completed the
    piece. An event that carries no text for the reader (a tool call, a lifecycle note) has `text` "".
    """

    text: str
    offset_ms: float
    index: int
    data: bytes = field(default=b"", repr=False)

    def to_sse(self) -> str:
        """The event as the specification writes it."""
        return _sse("chunk", {"text": self.text})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The answer is complete. `client_done_time` is Unix time in seconds."""

    session_id: str
    client_done_time: float
    client_duration_ms: float
    invocation_id: int | None = None

    def to_sse(self) -> str:
        """The event as the specification writes it."""
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
    """The invocation failed; `failure` is one of `FAILURES`."""

    message: str
    failure: str
    session_id: str
    client_duration_ms: float | None = None
    invocation_id: int | None = None

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise ValueError(f"a failure is one of {', '.join(FAILURES)}, not {self.failure!r}")

    def to_sse(self) -> str:
        """The event as the specification writes it."""
        return _sse("error", {"message": self.message})


InvocationEvent: TypeAlias = SessionStart | Chunk | SessionEnd | InvocationError


def _sse(event: str, data: dict[str, object]) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
