"""The steps around an agent's orchestration: each is one model call, with its own prompt and parser."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from ..knowledge.store import RankedPassage
from .parsing import (
    RequestCheck,
    RoutingChoice,
    answer_of,
    check_of,
    parsed_answer,
    parsed_check,
    routing_of,
)
from .prompts import StepSettings, step_settings
from .services import AgentServices
from .sessions import AgentSession, Message
from .templates import filled
from .tools import AgentTool
from .tracing import AgentTracing, is_blocked, metadata, request_text
from .turn_request import TurnRequest

_MOST_SAID: Final = 20_000
"""Maximum characters of the conversation in a prompt."""

_ROUTED: Final = {"knowledge_base_routing": ("knowledge_base",), "action_routing": ("function", "api")}
"""The kinds of tools that replace placeholders in the routing classifier's prompt."""


class TurnSteps:
    """Runs the steps of one turn.

    Args:
        services: The services that the agent calls.
        session: The session.
        request: The request of the turn.
        tracing: Creates the trace events.

    Attributes:
        blocked: The guardrail's message if it has blocked a step, which replaces the agent's answer; otherwise None.
        check: The result of the pre-processing, after it has run.
        routing: The result of the routing classifier, after it has run.
        answer: The answer of the last step that writes one.
    """

    def __init__(
        self, services: AgentServices, session: AgentSession, request: TurnRequest, tracing: AgentTracing
    ) -> None:
        self.blocked: str | None = None
        self.check, self.routing, self.answer = (
            RequestCheck(is_valid=True, rationale=""),
            RoutingChoice(kind="undecided"),
            "",
        )
        self._services, self._session, self._request, self._tracing = services, session, request, tracing

    async def preprocess(self, tools: Sequence[AgentTool]) -> AsyncIterator[bytes]:
        """Check the user's text, if the step is enabled (`preProcessingTrace`)."""
        settings = step_settings(self._request.agent, "PRE_PROCESSING")
        if not settings.is_enabled:
            return
        listed = _listed(tools)
        values = {
            **self._prompt_values(),
            "question": self._request.text,
            "tools": listed,
            "functions": listed,
            "conversation_history": conversation(self._session.messages),
        }
        step = _StepCall(self, settings, values, "preProcessingTrace", guarded=True)
        yield step.begun
        raw = await step.ask()
        payload = await step.parse(raw)
        self.check = check_of(raw) if payload is None else parsed_check(payload)
        parsed = {"isValid": self.check.is_valid, "rationale": self.check.rationale}
        for frame in step.ended(raw, {"parsedResponse": parsed}):
            yield frame

    async def route(self, tools: Sequence[AgentTool], last: str) -> AsyncIterator[bytes]:
        """Choose a collaborator (`routingClassifierTrace`).

        Args:
            tools: The agent's tools, among them the collaborators.
            last: The collaborator that handled the previous turn; "" without one.
        """
        settings = step_settings(self._request.agent, "ROUTING_CLASSIFIER")
        if not settings.is_enabled:
            return
        collaborators = [tool for tool in tools if tool.kind == "collaborator"]
        names = [str(tool.part["document"]["collaboratorName"]) for tool in collaborators]
        agents = (
            f'<agent name="{name}">{tool.description}</agent>' for name, tool in zip(names, collaborators, strict=True)
        )
        by_kind = {kind: _listed([tool for tool in tools if tool.kind in kinds]) for kind, kinds in _ROUTED.items()}
        values = {
            **self._prompt_values(),
            **by_kind,
            "reachable_agents": "\n".join(agents),
            "conversation": conversation(self._session.messages),
            "last_user_request": self._request.text,
            "last_most_specialized_agent": last or "the agent before",
        }
        step = _StepCall(self, settings, values, "routingClassifierTrace", guarded=True)
        yield step.begun
        raw = await step.ask()
        self.routing = routing_of(raw, frozenset(names))
        for frame in step.ended(raw):
            yield frame

    async def generate(self, question: str, passages: Sequence[RankedPassage]) -> AsyncIterator[bytes]:
        """Write an answer from passages of a knowledge base, if the step is enabled; see `answer`.

        Args:
            question: The search query.
            passages: The passages that were found.
        """
        self.answer = ""
        settings = step_settings(self._request.agent, "KNOWLEDGE_BASE_RESPONSE_GENERATION")
        if not settings.is_enabled or not passages:
            return
        numbered = (
            f'<search_result number="{place}">{passage.text}</search_result>'
            for place, passage in enumerate(passages, 1)
        )
        values = {**self._prompt_values(), "query": question, "search_results": "\n".join(numbered)}
        step = _StepCall(self, settings, values, "orchestrationTrace")
        yield step.begun
        raw = await step.ask()
        payload = await step.parse(raw)
        self.answer = answer_of(raw) if payload is None else parsed_answer(payload, settings.kind)
        for frame in step.ended(raw):
            yield frame

    async def postprocess(self, answer: str, results: Sequence[str]) -> AsyncIterator[bytes]:
        """Write the final answer, if the step is enabled (`postProcessingTrace`); see `answer`.

        Args:
            answer: The answer of the orchestration.
            results: The results of the turn's calls.
        """
        self.answer = answer
        settings = step_settings(self._request.agent, "POST_PROCESSING")
        if not settings.is_enabled:
            return
        values = {
            **self._prompt_values(),
            "question": self._request.text,
            "latest_response": answer,
            "bot_response": answer,
            "responses": "\n".join(results),
        }
        step = _StepCall(self, settings, values, "postProcessingTrace", guarded=True)
        yield step.begun
        raw = await step.ask()
        payload = await step.parse(raw)
        self.answer = answer_of(raw) if payload is None else parsed_answer(payload, settings.kind)
        for frame in step.ended(raw, {"parsedResponse": {"text": self.answer}}):
            yield frame

    def _prompt_values(self) -> dict[str, str]:
        attributes = self._session.prompt_attributes.items()
        return {
            "instruction": self._request.agent.document["instruction"],
            "prompt_session_attributes": "\n".join(f"{name}: {value}" for name, value in attributes),
        }

    async def converse(self, settings: StepSettings, request: dict[str, Any]) -> dict[str, Any]:
        """Call the step's model."""
        return await self._services.converse(settings.model, request, self._request.place)

    async def parse(self, settings: StepSettings, raw: str) -> str:
        """Have the agent's Lambda function parse a response, and return its result."""
        agent, alias = self._request.agent, self._request.alias
        event = {
            "messageVersion": "1.0",
            "agent": {"name": agent.name, "id": agent.id, "alias": alias.id, "version": agent.version},
            "invokeModelRawResponse": raw,
            "promptType": settings.kind,
            "overrideType": "OUTPUT_PARSER",
        }
        return await self._services.call_function(settings.parser, event, self._request.place)

    @property
    def tracing(self) -> AgentTracing:
        """The creator of trace events."""
        return self._tracing

    @property
    def guardrail(self) -> Mapping[str, Any]:
        """The agent's guardrail; empty without one."""
        return self._request.agent.document.get("guardrailConfiguration") or {}


class _StepCall:
    """One call of a step's model."""

    def __init__(
        self, steps: TurnSteps, settings: StepSettings, values: Mapping[str, str], trace: str, *, guarded: bool = False
    ) -> None:
        self._steps, self._settings, self._trace = steps, settings, trace
        system, messages = filled(settings.template, values)
        text = values.get("question") or values.get("query") or values.get("last_user_request") or "-"
        self._request: dict[str, Any] = {
            **({"system": [{"text": system}]} if system else {}),
            "messages": messages or [{"role": "user", "content": [{"text": text}]}],
        }
        steps.tracing.next_step()
        self.begun = steps.tracing.event(
            trace, "modelInvocationInput", {"text": request_text(self._request), **settings.trace_settings}
        )
        if limits := settings.limits:
            self._request["inferenceConfig"] = limits
        if settings.more:
            self._request["additionalModelRequestFields"] = dict(settings.more)
        if guarded and steps.guardrail:
            self._request["guardrailConfig"] = {**steps.guardrail, "trace": "enabled"}
        self._began, self._answer = time.time(), dict[str, Any]()

    async def ask(self) -> str:
        """Return the model's answer."""
        self._answer = await self._steps.converse(self._settings, self._request)
        content: Sequence[Mapping[str, Any]] = self._answer["output"]["message"]["content"]
        raw = "".join(block["text"] for block in content if "text" in block)
        if is_blocked(self._answer):
            self._steps.blocked = raw
        return raw

    async def parse(self, raw: str) -> str | None:
        """Return the result of the agent's parser; None for the default parser."""
        if not self._settings.parser or self._steps.blocked is not None:
            return None
        return await self._steps.parse(self._settings, raw)

    def ended(self, raw: str, parsed: Mapping[str, Any] | None = None) -> list[bytes]:
        """Return the trace events of the answer."""
        output = {
            "rawResponse": {"content": raw},
            "metadata": metadata(self._began, self._answer.get("usage") or {}),
            **(parsed or {}),
        }
        guarded = self._steps.tracing.guardrail(self._answer)
        return [
            self._steps.tracing.event(self._trace, "modelInvocationOutput", output),
            *([guarded] if guarded is not None else []),
        ]


def conversation(messages: Sequence[Message]) -> str:
    """Return the conversation of user and agent as text, one line for each message.

    Args:
        messages: The messages in Converse's form; calls and results are left out.
    """
    names = {"user": "User", "assistant": "Agent"}
    lines = [
        f"{names[message['role']]}: {block['text']}"
        for message in messages
        for block in message["content"]
        if "text" in block
    ]
    return "\n".join(lines)[-_MOST_SAID:]


def _listed(tools: Sequence[AgentTool]) -> str:
    return "\n".join(f"{tool.name}: {tool.description}" for tool in tools)
