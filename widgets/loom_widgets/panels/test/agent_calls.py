"""Calls of agents as turns of the Test panel's conversation."""

# pyright: basic

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from loomlib import Agent, Invocation
from loomlib.agents import Chunk, InvocationError, SessionStart

from ...kit import Cancel, PanelPort
from .conversation import ChatConversation
from .figures import figures_of

if TYPE_CHECKING:
    from loomlib.workbench.protocol_call import ProtocolCall

    from .turns import PanelTurn


class AgentCalls:
    """Calls whose answers become turns, streamed or at once."""

    def __init__(self, panel: PanelPort, conversation: ChatConversation) -> None:
        self._panel, self._conversation = panel, conversation

    def invoke(
        self, agent: Agent, prompt: str, session: str, cancel: Cancel, *, payload: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Invoke an agent as a new turn, streamed.

        Args:
            agent: The agent.
            prompt: The question.
            session: The session's id; "" for a new session.
            cancel: Stop ends the stream.
            payload: The payload that is sent instead of the prompt.
        """
        turn = self._conversation.begin_turn(prompt, session)
        turn.is_prompt = payload is None or "resume" not in payload
        self._panel.say(f"Asking {agent.name} …")
        try:
            self._listen(agent, turn, session, cancel, payload)
            if turn in self._conversation.turns:  # the user has not switched to another conversation meanwhile
                self._conversation.show_agent(agent.name, agent.qualifier, turn.session)
        except Exception:  # the error pane shows the reason
            turn.status = "error"
            turn.sentence = "The question was not sent." if turn.invocation is None else "The answer was interrupted."
            raise
        finally:
            self._panel.send_message("ended", **turn.message(text=False))
        self._conversation.end_turn(turn)
        return {"turn": turn.id, "stopped": cancel.is_set}

    def finish(
        self, agent: Agent, turn: PanelTurn, listen: Callable[[], ProtocolCall], *, shows_text: bool = True
    ) -> Mapping[str, Any]:
        """Wait for a started call, and show its outcome in the turn.

        Args:
            agent: The agent.
            turn: The turn of the call.
            listen: Waits for the call and returns it.
            shows_text: Whether the turn shows the answer's text; not if it has been shown already.
        """
        try:
            invocation = listen().invocation
            if shows_text and not turn.text:
                turn._add(invocation.text)
            turn.end(invocation)
            turn.figures = figures_of(invocation)
            if turn in self._conversation.turns:
                self._conversation.show_agent(agent.name, agent.qualifier, turn.session)
        except Exception:
            turn.status, turn.sentence = "error", "The request was interrupted."
            raise
        finally:
            self._panel.send_message("ended", **turn.message())
        self._conversation.end_turn(turn)
        return {"turn": turn.id}

    def _listen(
        self, agent: Agent, turn: PanelTurn, session: str, cancel: Cancel, payload: Mapping[str, Any] | None
    ) -> None:
        prompt = turn.prompt if turn.is_prompt else None
        events = agent.stream(prompt, payload=payload, session_id=session or None)
        cancel.then(events.close)
        sent_s = 0.0
        with contextlib.closing(events), self._panel.stream("pieces", turn=turn.id) as pieces:
            for event in events:
                if isinstance(event, SessionStart):
                    turn.session, turn.invocation = event.session_id, event.invocation_id
                    sent_s = event.client_invoke_time
                    self._panel.send_message("session", turn=turn.id, session=turn.session)
                elif isinstance(event, Chunk):
                    at_ms = sent_s * 1000 + event.offset_ms
                    for item in turn.take(event):
                        pieces.put({**item, "at": at_ms})
                elif isinstance(event, InvocationError):
                    turn.status, turn.sentence = "error", f"{event.failure}: {event.message}"
                else:
                    turn.status = "complete"
        if events.record is None:
            turn.status, turn.sentence = "stopped", "Stopped before the outcome was stored."
        else:
            invocation = Invocation(events.record, agent.context, agent.entry)
            turn.end(invocation)
            turn.figures = figures_of(invocation)
