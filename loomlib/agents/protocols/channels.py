"""How JSON-RPC messages travel: HTTP POST (plain, or InvokeAgentRuntime), or stdin and stdout of a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from loomlib.errors import LoomError

from .measured_call import MeasuredCall

OnMessage = Callable[[Mapping[str, Any], int, int, MeasuredCall | None], None]
"""Called with a received message, when it was read (`time.perf_counter_ns`), its bytes and the call it belongs to."""

OnClosed = Callable[[LoomError], None]
"""Called once when no message can arrive any more."""


class Channel(Protocol):
    """A connection that carries JSON-RPC messages. For the engine's loop only.

    Attributes:
        answers_in_send: `send` returns when everything that belongs to the message has arrived, so that a request
            without its response is lost then.
    """

    answers_in_send: bool

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect."""
        ...

    async def send(self, message: Mapping[str, Any], call: MeasuredCall | None) -> None:
        """Send one message.

        Raises:
            LoomError: It could not be sent, or the response was refused or broken.
        """
        ...

    def listen(self) -> None:
        """Begin to receive messages that do not belong to a request, if the transport needs that."""
        ...

    async def close(self) -> None:
        """Disconnect; closing twice has no effect."""
        ...
