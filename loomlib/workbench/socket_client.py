"""A WebSocket client for notebooks: send, receive, iterate, with the time of every message."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator, Mapping
from typing import Any

from ..agents.protocols.running import Running
from ..agents.protocols.socket_session import SocketMessage, SocketSession
from ..aws.engine import Engine
from ..closing import Closing
from ..errors import PeerClosedError, ProtocolError
from ..presentation.formats import time_limit
from ..presentation.html import card
from .context import Context
from .protocol_call import ProtocolCall


class SocketClient(Closing):
    """An open WebSocket to an agent; returned by `Agent.protocols.websocket`. Close it, or use it in `with`.

        with agent.protocols.websocket() as ws:
            ws.send({"prompt": "What is 2+2?"})
            ws.receive().text

    The whole connection is stored as one invocation, with its messages as transcript.

    Args:
        engine: The engine.
        session: The session, not open yet.
        context: The workbench's resources.
    """

    def __init__(self, engine: Engine, session: SocketSession, context: Context) -> None:
        self._engine, self._session, self.context = engine, session, context
        self._call: ProtocolCall | None = None
        Running(engine, lambda _run: session.open()).result()

    @property
    def session_id(self) -> str:
        """The runtime session."""
        return self._session.session_id

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return self._session.outcome is None

    def send(self, message: str | bytes | Mapping[str, Any]) -> None:
        """Send a text, bytes, or a mapping as JSON.

        Raises:
            PeerClosedError: The WebSocket is closed.
        """
        data = message if isinstance(message, str | bytes) else json.dumps(dict(message), ensure_ascii=False)
        Running(self._engine, lambda _run: self._session.send(data)).result()

    def receive(self, *, timeout_s: float | None = None) -> SocketMessage:
        """Wait for the next message.

        Args:
            timeout_s: How long to wait, in seconds; indefinitely by default.

        Raises:
            PeerClosedError: The agent closed the WebSocket.
            ProtocolError: No message came in time.
        """
        try:
            message = self._session.inbox.get(timeout=timeout_s)
        except queue.Empty:
            raise ProtocolError(
                f"No message came within {time_limit(timeout_s)}",
                on=self._session.entry.name,
                try_="a longer timeout_s",
            ) from None
        if message is None:
            self._session.inbox.put(None)
            outcome = self._session.outcome
            reason = outcome.record.error_message if outcome is not None else None
            raise PeerClosedError(
                reason or "The WebSocket is closed", on=self._session.entry.name, try_="ws.close() for the transcript"
            )
        return message

    def __iter__(self) -> Iterator[SocketMessage]:
        while (message := self._session.inbox.get()) is not None:
            yield message
        self._session.inbox.put(None)

    def close(self) -> ProtocolCall:
        """Close the WebSocket and return the stored call; closing twice returns the same one."""
        if self._call is None:
            outcome = Running(self._engine, lambda _run: self._session.close()).result()
            entry = self._session.entry
            self._call = ProtocolCall(
                f"{entry.name} · WebSocket", outcome.record, outcome.result, outcome.events, self.context, entry
            )
        return self._call

    def __repr__(self) -> str:
        return f"<WebSocket to {self._session.entry.name}: {'open' if self.is_open else 'closed'}>"

    def _repr_html_(self) -> str:
        return card(
            f"{self._session.entry.name} · WebSocket",
            state=("good", "open") if self.is_open else ("wait", "closed"),
            labels=self.context.labels,
            facts=[("session", self.session_id)],
        )
