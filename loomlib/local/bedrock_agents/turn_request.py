"""The request of a turn, and the requests to models and functions for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..resources import Place, ResourceRecord
from .prompts import step_settings, system_prompt
from .sessions import AgentSession, Message
from .versions import AgentVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """The request of a turn.

    Attributes:
        agent: The agent's version.
        alias: Its alias.
        session_id: The session's id.
        place: The caller's region and account.
        text: The user's text.
        documents: Documents in the user's message, in Converse's form.
        results: The caller's results of pending calls.
        chain: The aliases of the calling agents, outermost first, and of this agent.
        collaborator: The name under which a supervisor calls it.
        performance: Converse's `performanceConfig`.
        history: Earlier messages of the supervisor's conversation.
        memory: The summaries of the user's earlier sessions, the newest first.
    """

    agent: AgentVersion
    alias: ResourceRecord
    session_id: str
    place: Place
    text: str = ""
    documents: Sequence[Mapping[str, Any]] = ()
    results: Sequence[Mapping[str, Any]] = ()
    chain: tuple[str, ...] = ()
    collaborator: str = ""
    performance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    history: Sequence[Message] = ()
    memory: Sequence[str] = ()

    def model_request(
        self, session: AgentSession, turn: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the Converse request of the orchestration.

        Args:
            session: The session, with its messages before this turn.
            turn: The turn's messages.
            tools: The tools in Converse's form.
        """
        agent = self.agent
        settings = step_settings(agent, "ORCHESTRATION")
        request: dict[str, Any] = {
            "system": [{"text": system_prompt(agent, session.prompt_attributes, self.memory)}],
            "messages": [*self.history, *session.messages, *turn],
        }
        if tools:
            request["toolConfig"] = {"tools": list(tools)}
        if limits := settings.limits:
            request["inferenceConfig"] = limits
        if settings.more:
            request["additionalModelRequestFields"] = dict(settings.more)
        if self.performance:
            request["performanceConfig"] = dict(self.performance)
        if guardrail := agent.document.get("guardrailConfiguration"):
            request["guardrailConfig"] = {**guardrail, "trace": "enabled"}
        return request

    def function_event(self, session: AgentSession, text: str, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the event for an action group's Lambda function.

        Args:
            session: The session.
            text: What the user asked.
            call: The function or operation with its arguments.
        """
        agent = self.agent
        return {
            "messageVersion": "1.0",
            "agent": {"name": agent.name, "id": agent.id, "alias": self.alias.id, "version": agent.version},
            "inputText": text,
            "sessionId": self.session_id,
            **call,
            "sessionAttributes": dict(session.attributes),
            "promptSessionAttributes": dict(session.prompt_attributes),
        }
