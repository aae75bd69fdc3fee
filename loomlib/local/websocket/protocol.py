"""The server side of a WebSocket: uvicorn's over `websockets`, with AgentCore's limits."""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from ..browsers import PREFIX as BROWSER_STREAMS
from .shells import FRAME_BYTES as SHELL_FRAME_BYTES

MESSAGE_BYTES: Final = 16 * 2**20
"""Largest message, however many frames it has: what uvicorn, the agent's server, takes by default."""


def largest(frame_bytes: int | None) -> tuple[int, int]:
    """Return the largest message and the largest frame, in bytes, as `websockets` takes them."""
    return MESSAGE_BYTES, MESSAGE_BYTES if frame_bytes is None else frame_bytes


class ServedWebSocket(WebSocketsSansIOProtocol):
    """One WebSocket of a client."""

    def handle_connect(self, event: Request) -> None:
        """Begin a WebSocket; the limit of frames is that of runtimes, and browsers and shells have others."""
        if event.path.startswith(BROWSER_STREAMS):
            self.conn.max_fragment_size = None
        elif event.path.partition("?")[0].endswith("/ws/shells"):
            self.conn.max_message_size = self.conn.max_fragment_size = SHELL_FRAME_BYTES
        super().handle_connect(event)

    async def send(self, message: Any) -> None:
        """Send the application's message; an HTTP response that refuses the handshake also completes the handshake."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True
