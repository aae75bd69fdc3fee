"""WebSockets of HTTP and AG-UI agents in the Test panel: messages both ways as one turn."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import LoomError
from loomlib.presentation.formats import size

from ...kit import Cancel, Form, PanelPort, action
from .agent_calls import AgentCalls
from .code import opening_code
from .conversation import ChatConversation
from .words import short_text

if TYPE_CHECKING:
    from loomlib.workbench.protocol_call import ProtocolCall
    from loomlib.workbench.socket_client import SocketClient

    from .turns import PanelTurn

_MOST_MESSAGES: Final = 400


class WebSocketMessages:
    """The open WebSocket of the chosen agent."""

    def __init__(self, panel: PanelPort, conversation: ChatConversation, calls: AgentCalls) -> None:
        self._panel, self._conversation, self._calls = panel, conversation, calls
        self._socket: tuple[SocketClient, PanelTurn, str] | None = None
        """The client, its turn, and Python that opens it."""
        conversation.on_leave.append(self._stop)

    @property
    def is_open(self) -> bool:
        """Whether a WebSocket is open."""
        return self._socket is not None

    @action(lane="socket")
    def open_socket(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Open a WebSocket as a new turn and show the received messages until one side closes it."""
        agent, session = self._conversation.agent_of(form), form.text("session")
        arguments = f"session_id={session!r}" if session else ""
        code = f"{opening_code(agent)}\nws = agent.protocols.websocket({arguments})"
        self._panel.show_code(code)
        self._panel.say(f"Opening a WebSocket to {agent.name} …")
        client = agent.protocols.websocket(session_id=session or None)
        cancel.then(client.close)
        turn = self._conversation.begin_turn("WebSocket", client.session_id, is_socket=True)
        self._socket = (client, turn, code)
        self._panel.send_message("socket", open=True)
        self._panel.say("The WebSocket is open.")

        def listen() -> ProtocolCall:
            try:
                for message in client:
                    text = message.text if isinstance(message.data, str) else f"[{size(len(message.data))}]"
                    self._show_message(turn, text, after_ms=message.after_ms)
                return client.close()
            finally:
                self._socket = None
                self._panel.send_message("socket", open=False)

        return self._calls.finish(agent, turn, listen, shows_text=False)

    @action(lane="socket send")
    def send_socket(self, form: Form) -> None:
        """Send a text over the open WebSocket."""
        if self._socket is None:
            raise LoomError("No WebSocket is open", try_="open one, then send")
        client, turn, code = self._socket
        text = form.text("text")
        self._panel.show_code(f"{code}\nws.send({text!r})\nws.receive().text")
        self._show_message(turn, text, is_sent=True)
        client.send(text)

    def _stop(self) -> None:
        self._panel.stop("socket")

    def _show_message(
        self, turn: PanelTurn, text: str, *, is_sent: bool = False, after_ms: float | None = None
    ) -> None:
        count = len(turn.notes)
        if count > _MOST_MESSAGES:
            return
        item = {"kind": "message", "sent": is_sent, "text": short_text(text), "after_ms": after_ms}
        if count == _MOST_MESSAGES:
            item |= {"text": "More messages are in the transcript of the invocation.", "after_ms": None}
        self._panel.send_message("pieces", turn=turn.id, items=turn._keep(item))
