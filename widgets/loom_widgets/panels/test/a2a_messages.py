"""Agents that speak A2A in the Test panel: card, messages, tasks and artifacts."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loomlib import Agent
from loomlib.agents import new_session_id
from loomlib.json_values import as_list, as_mapping, as_text

from ...kit import Cancel, Form, PanelPort, action
from .agent_calls import AgentCalls
from .code import opening_code
from .conversation import ChatConversation
from .words import short_text

if TYPE_CHECKING:
    from loomlib.workbench.protocol_call import ProtocolCall


class A2aMessages:
    """Messages to A2A agents."""

    def __init__(self, panel: PanelPort, conversation: ChatConversation, calls: AgentCalls) -> None:
        self._panel, self._conversation, self._calls = panel, conversation, calls
        self._waiting: tuple[str, str, str] | None = None
        """The session, task and context that wait for the next message."""

    @action(lane="invoke")
    def agent_card(self, form: Form) -> Mapping[str, Any]:
        """Return the card of an A2A agent."""
        agent = self._conversation.agent_of(form)
        self._panel.show_code(f"{opening_code(agent)}\na2a = agent.protocols.a2a()\na2a.card()")
        with agent.protocols.a2a(session_id=form.text("session") or None) as a2a:
            return {"facts": card_facts(a2a.card())}

    def send(self, agent: Agent, prompt: str, session: str, cancel: Cancel) -> Mapping[str, Any]:
        """Send a message to an A2A agent as a new turn; its task and artifacts are cards that are updated meanwhile.

        Args:
            agent: The agent.
            prompt: The message.
            session: The session's id; "" for a new session.
            cancel: Stop cancels the task.
        """
        call = f"a2a = agent.protocols.a2a()\ncall = a2a.send({prompt!r})\ncall.task, call.artifacts"
        self._panel.show_code(f"{opening_code(agent)}\n{call}")
        session_id = session or new_session_id()
        with agent.protocols.a2a(session_id=session_id) as a2a:
            turn = self._conversation.begin_turn(prompt, session_id)
            self._panel.send_message("session", turn=turn.id, session=session_id)
            task_id, context_id = self._waiting_task(session_id)
            stream = a2a.stream(prompt, task_id=task_id, context_id=context_id)
            cancel.then(stream.cancel)

            def listen() -> ProtocolCall:
                results: list[Mapping[str, Any]] = []
                with self._panel.stream("pieces", turn=turn.id) as pieces:
                    for event in stream:
                        results.append(event.result)
                        for item in _cards(results):
                            pieces.put(item)
                call = stream.result()
                turn.tasks = turn.tools = _cards(results)
                if call.state in ("input-required", "auth-required"):
                    self._waiting = (session_id, call.task.id, call.task.context_id)
                return call

            return self._calls.finish(agent, turn, listen)

    def _waiting_task(self, session_id: str) -> tuple[str | None, str | None]:
        """Return the task and context that wait for the next message of this session, and forget them."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting[0] != session_id:
            return None, None
        return waiting[1], waiting[2]


def _cards(results: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a task and its artifacts as cards of a turn."""
    from loomlib.agents.protocols.a2a_values import ENDED, WAITING, fold_task

    task = fold_task(results)
    if not task.id:
        return []
    is_over = task.state in ENDED | WAITING
    state = "done" if task.state == "completed" else task.state if is_over else "running"
    head = {"kind": "tool", "id": task.id, "name": f"task {task.id[:8]}", "state": state, "arguments": ""}
    cards = [{**head, "result": short_text(task.message), "arguments": short_text(task.state)}]
    for artifact in task.artifacts[:50]:
        cards.append(
            {
                "kind": "tool",
                "id": f"{task.id} {artifact.id}",
                "name": f"artifact {short_text(artifact.name or artifact.id)}",
                "state": "done" if is_over else "running",
                "arguments": short_text(artifact.text),
                "result": "",
            }
        )
    return cards


def card_facts(card: Mapping[str, Any]) -> list[list[str]]:
    """Return what an agent's card says, for a page."""
    skills = ", ".join(as_text(as_mapping(skill).get("name")) for skill in as_list(card.get("skills")))
    fields = [("name", "name"), ("description", "description"), ("version", "version")]
    return [[label, short_text(as_text(card.get(key)))] for key, label in fields] + [["skills", short_text(skills)]]
