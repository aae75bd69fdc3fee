"""The ways to send one agent the same prompt, and the measurements of one answer on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..record import InvocationRecord

if TYPE_CHECKING:
    from loomlib.aws.wire import WireBytes


HTTP_JSON: Final = "HTTP JSON"
HTTP_SSE: Final = "HTTP SSE"
WEBSOCKET: Final = "WebSocket"
MCP_STATELESS: Final = "MCP stateless"
MCP_STATEFUL: Final = "MCP stateful"
A2A_SEND: Final = "A2A message/send"
A2A_STREAM: Final = "A2A message/stream"
AGUI_SSE: Final = "AG-UI SSE"
AGUI_WEBSOCKET: Final = "AG-UI WebSocket"

SERVERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "HTTP": ("HTTP", (HTTP_JSON, HTTP_SSE, WEBSOCKET)),
    "MCP": ("MCP", (MCP_STATELESS,)),
    "MCP stateful": ("MCP", (MCP_STATEFUL,)),
    "A2A": ("A2A", (A2A_SEND, A2A_STREAM)),
    "AG-UI": ("AGUI", (AGUI_SSE, AGUI_WEBSOCKET)),
}
"""Servers of one agent: the runtime's protocol, and the ways to ask it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayAnswer:
    """One answer. Times are milliseconds after sending the request, at the socket; None where there was none.

    Attributes:
        text: The answer's text.
        duration_ms: Until the answer was complete.
        first_byte_ms: Until the first byte of the body, or of a WebSocket's first message.
        first_event_ms: Until the first event or message, whatever is in it.
        first_text_ms: Until the first event with text of the answer.
        events: Events or messages; 1 for a plain body.
        wire: Bytes on the wire in both directions; None when they were not counted.
        connection_reused: Whether an open connection was used.
        failure: The class of the failure (`loomlib.agents.FAILURES`), or None.
        error: The error message, or None.
        invocation_id: The stored invocation; None for a message of a WebSocket, which is stored when it is closed.
    """

    text: str = field(default="", repr=False)
    duration_ms: float | None = None
    first_byte_ms: float | None = None
    first_event_ms: float | None = None
    first_text_ms: float | None = None
    events: int = 0
    wire: WireBytes | None = None
    connection_reused: bool | None = None
    failure: str | None = None
    error: str | None = None
    invocation_id: int | None = None


class WayCaller(Protocol):
    """Asks an agent in one way, in one runtime session."""

    async def open(self) -> None:
        """Connect, and shake hands where the protocol does.

        Raises:
            LoomError: It was refused.
        """
        ...

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        """Send a prompt and return the answer; a failure is an answer too.

        Args:
            prompt: The prompt.
            labels: Labels stored with the invocation.
            timeout_s: The limit of the call, in seconds; None for the settings'.
        """
        ...

    async def close(self) -> None:
        """Disconnect; closing twice has no effect."""
        ...


def way_answer(
    record: InvocationRecord, events: Sequence[tuple[float, bool]], *, failure: tuple[str, str] | None = None
) -> WayAnswer:
    """Return the answer of a stored call.

    Args:
        record: The stored call.
        events: When each event arrived, in milliseconds, and whether it has text of the answer.
        failure: A failure of the way outside the call: its class and message.
    """
    problem, message = failure or (record.failure, record.error_message)
    return WayAnswer(
        text=record.response,
        duration_ms=record.client_duration_ms,
        first_byte_ms=record.ttft_ms,
        first_event_ms=events[0][0] if events else None,
        first_text_ms=next((at_ms for at_ms, has_text in events if has_text), None),
        events=len(events),
        wire=record.wire,
        connection_reused=record.connection_reused,
        failure=problem,
        error=message,
        invocation_id=record.id,
    )


def server_of(way: str) -> str:
    """Return the server that answers in a way.

    Raises:
        ValueError: There is no such way.
    """
    for server, (_, ways) in SERVERS.items():
        if way in ways:
            return server
    choices = ", ".join(way for _, ways in SERVERS.values() for way in ways)
    raise ValueError(f"way must be one of {choices}, not {way!r}")


def http_payload(way: str, prompt: str) -> dict[str, Any]:
    """Return the payload of an HTTP agent: `{"prompt": …}`, with `"stream": false` for one JSON body."""
    return {"prompt": prompt, "stream": False} if way == HTTP_JSON else {"prompt": prompt}
