"""One turn of an agent: a loop over Converse that calls action groups, knowledge bases and collaborators."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, cast

from ..knowledge.retrieval import citations_of
from ..knowledge.store import RankedPassage
from ..wire import invalid
from .actions import ActionAnswer, call_document, dependency_failed, is_answer_to, read_given_answer, trace_input
from .calls import TurnCalls
from .collaborators import collaborator_request, name_of, shown_answer, shown_call
from .prompts import step_settings
from .services import AgentServices
from .sessions import ROUTED, AgentSession, Message, Pending
from .steps import TurnSteps
from .tools import AgentTool, version_tools
from .tracing import AgentTracing, is_blocked, metadata, request_text
from .turn_request import TurnRequest

_MOST_MODEL_CALLS: Final = 25
_MOST_LEVELS: Final = 5
_MOST_WAITING: Final = 5  # the service model's limit of a return of control
_UNABLE: Final = "Sorry, I am unable to assist you with this request."


class AgentTurn:
    """Runs one turn.

    Args:
        services: The services that the agent calls.
        session: The session.
        request: The request of the turn.

    Attributes:
        text: The answer, after the turn has ended.
        citations: The sources of the answer, for a turn that searched a knowledge base.
        control: The return of control with which the turn has ended; None if it has answered.
    """

    def __init__(self, services: AgentServices, session: AgentSession, request: TurnRequest) -> None:
        self.text, self.citations, self.control = "", list[dict[str, Any]](), cast("dict[str, Any] | None", None)
        self._services, self._session, self._request = services, session, request
        self._tools: dict[str, AgentTool] = {}
        self._turn: list[Message] = []
        self._waiting: dict[str, dict[str, Any]] = {}
        self._model_calls, self._ended = 0, False
        agent, alias = request.agent, request.alias
        head: dict[str, Any] = {
            "agentId": agent.id,
            "agentAliasId": alias.id,
            "agentVersion": agent.version,
            "sessionId": request.session_id,
            "callerChain": [{"agentAliasArn": arn} for arn in request.chain],
        }
        self.tracing = AgentTracing(
            {**head, "collaboratorName": request.collaborator} if request.collaborator else head
        )
        self._steps = TurnSteps(services, session, request, self.tracing)
        self._calls = TurnCalls(services, session, request, self.tracing, self._steps)

    async def run(self) -> AsyncIterator[bytes]:
        """Run the turn and yield its trace events.

        Raises:
            RefusedError: The turn failed; the session keeps only the results of confirmed calls, which are not executed
                again.
        """
        if len(self._request.chain) > _MOST_LEVELS:
            raise invalid(f"Agents can call one another over at most {_MOST_LEVELS} levels")
        tools = await asyncio.to_thread(version_tools, self._request.agent, self._request.place)
        self._tools = {tool.name: tool for tool in tools}
        async for frame in self._resume() if self._request.results else self._begin():
            yield frame
        while not self._ended and self.control is None:
            async for frame in self._ask() if self._turn[-1]["role"] == "user" else self._act():
                yield frame

    @property
    def passages(self) -> Sequence[RankedPassage]:
        """The passages that were found in knowledge bases."""
        return self._calls.passages

    async def _begin(self) -> AsyncIterator[bytes]:
        """Process the user's text: check and route it, if these steps are enabled."""
        request, tools = self._request, list(self._tools.values())
        self._turn = [{"role": "user", "content": [{"text": request.text}, *request.documents]}]
        async for frame in self._steps.preprocess(tools):
            yield frame
        if self._steps.blocked is not None:
            self._end(self._steps.blocked, keeps=False)
            return
        if not self._steps.check.is_valid:
            self._end(_UNABLE, keeps=False)
            return
        if request.agent.document.get("agentCollaboration") != "SUPERVISOR_ROUTER":
            return
        async for frame in self._steps.route(tools, self._session.routed):
            yield frame
        if self._steps.blocked is not None:
            self._end(self._steps.blocked, keeps=False)
            return
        routing = self._steps.routing
        self._session.routed = {"agent": routing.collaborator, "last agent": self._session.routed}.get(routing.kind, "")
        if self._session.routed:
            async for frame in self._hand_over(request.text, ()):
                yield frame

    async def _resume(self) -> AsyncIterator[bytes]:
        """Process the results for which the previous turn waits."""
        request, pending = self._request, self._session.pending
        if pending is None:
            raise invalid("The session is not waiting for results: send inputText")
        self._turn, self._calls.results = list(pending.messages), dict(pending.results)
        self.tracing.next_step()
        if pending.collaborator == ROUTED:
            async for frame in self._hand_over("", request.results):
                yield frame
            return
        if pending.collaborator:
            call = next(call for call in _calls(self._turn[-1]) if call["toolUseId"] == pending.collaborator)
            async for frame in self._collaborate(call, self._tools[call["name"]], request.results):
                yield frame
            return
        remaining_results = [next(iter(result.values())) for result in request.results]
        answered: list[tuple[dict[str, Any], ActionAnswer | None]] = []
        for call_id, waiting in pending.waiting.items():
            match = next((item for item in remaining_results if is_answer_to(item, waiting)), None)
            if match is None:
                operation = waiting.get("function") or f"{waiting.get('httpMethod')} {waiting.get('apiPath')}"
                raise invalid(f"The result of {operation} of the action group {waiting['actionGroup']} is missing")
            remaining_results.remove(match)
            call = next(call for call in _calls(self._turn[-1]) if call["toolUseId"] == call_id)
            answered.append((call, _caller_answer(match, waiting)))
        if remaining_results:
            raise invalid(
                f"The session is not waiting for results of the action group {remaining_results[0]['actionGroup']}"
            )
        # Confirmed calls are executed after all results are checked: callers send a refused request again.
        for call, answer in answered:
            call_id = call["toolUseId"]
            if call_id in pending.results:
                continue  # executed by a former request, whose turn failed later
            if answer is not None:
                yield self._calls.take(call, answer, time.time())
                continue
            async for frame in self._calls.call_lambda(call, self._tools[call["name"]], self._question):
                if call_id in self._calls.results:
                    pending.results[call_id] = self._calls.results[call_id]
                yield frame

    @property
    def _question(self) -> str:
        """The user's text at the start of the turn, even if a confirmation has followed."""
        return str(self._turn[0]["content"][0]["text"])

    async def _ask(self) -> AsyncIterator[bytes]:
        """Ask the model what to do next."""
        self.tracing.next_step()
        self._model_calls += 1
        if self._model_calls > _MOST_MODEL_CALLS:
            yield self.tracing.failure(f"Max iterations exceeded: {_MOST_MODEL_CALLS} calls of the model", 400)
            self._end(_UNABLE)
            return
        specs = [tool.spec for tool in self._tools.values()]
        model_request = self._request.model_request(self._session, self._turn, specs)
        settings = step_settings(self._request.agent, "ORCHESTRATION")
        yield self.tracing.orchestration(
            "modelInvocationInput", {"text": request_text(model_request), **settings.trace_settings}
        )
        began_s = time.time()
        answer = await self._services.converse(settings.model, model_request, self._request.place)
        message: Message = answer["output"]["message"]
        yield self.tracing.orchestration(
            "modelInvocationOutput",
            {
                "rawResponse": {"content": json.dumps(message, ensure_ascii=False)},
                "metadata": metadata(began_s, answer.get("usage") or {}),
            },
        )
        if (guardrail_event := self.tracing.guardrail(answer)) is not None:
            yield guardrail_event
        text = "".join(block["text"] for block in message["content"] if "text" in block)
        if _calls(message):
            self._turn.append(message)
            if text.strip():
                yield self.tracing.orchestration("rationale", {"text": text})
            return
        if is_blocked(answer):
            yield self.tracing.orchestration("observation", _final(text, began_s))
            self._end(text, keeps=False)  # a blocked turn is discarded: it would block all following turns
            return
        inside, closing, _ = text.partition("<answer>")[2].partition("</answer>")
        if settings.is_overridden and closing:  # the form that Bedrock's templates request
            text = inside.strip()
        yield self.tracing.orchestration("observation", _final(text, began_s))
        async for frame in self._steps.postprocess(text, self._calls.texts):
            yield frame
        self._end(self._steps.answer, keeps=self._steps.blocked is None)

    async def _act(self) -> AsyncIterator[bytes]:
        """Execute the calls of the model's newest message that have no result yet."""
        for call in _calls(self._turn[-1]):
            if call["toolUseId"] in self._calls.results:
                continue
            tool = self._tools.get(call["name"])
            if tool is None:
                text = f"There is no tool {call['name']}"
                self._calls.keep(call, text, failed=True)
                reprompt = {"source": "PARSER", "text": text}
                yield self.tracing.orchestration("observation", {"type": "REPROMPT", "repromptResponse": reprompt})
                continue
            if tool.kind == "user_input":
                question = str(call["input"].get("question") or "")
                self._turn.pop()
                self._end(question)
                observation = {"type": "ASK_USER", "finalResponse": {"text": question}}
                yield self.tracing.orchestration("observation", observation)
                return
            if tool.kind == "knowledge_base":
                steps = self._calls.look_up(call, tool)
            elif tool.kind == "code_interpreter":
                steps = self._calls.execute(call)
            elif tool.kind == "collaborator":
                steps = self._collaborate(call, tool, ())
            elif tool.confirm or "lambda" not in tool.part["document"]["actionGroupExecutor"]:
                if len(self._waiting) == _MOST_WAITING:
                    continue  # the other calls are returned to the caller after it has answered these
                steps = self._give_back(call, tool)
            else:
                steps = self._calls.call_lambda(call, tool, self._question)
            async for frame in steps:
                yield frame
            if self.control is not None:
                return
        if self._waiting:
            self._wait()
            return
        tool_results = [{"toolResult": self._calls.results[call["toolUseId"]]} for call in _calls(self._turn[-1])]
        self._turn.append({"role": "user", "content": tool_results})
        self._calls.results = {}

    async def _give_back(self, call: Mapping[str, Any], tool: AgentTool) -> AsyncIterator[bytes]:
        """Have the caller execute or confirm a call."""
        runs_here = "lambda" in tool.part["document"]["actionGroupExecutor"]
        kind = "USER_CONFIRMATION" if runs_here else "USER_CONFIRMATION_AND_RESULT" if tool.confirm else "RESULT"
        action_call = {
            **call_document(tool, call["input"]),
            "actionInvocationType": kind,
            "agentId": self._request.agent.id,
        }
        if self._request.collaborator:
            action_call["collaboratorName"] = self._request.collaborator
        self._waiting[call["toolUseId"]] = action_call
        invocation = trace_input(tool, action_call, "LAMBDA" if runs_here else "RETURN_CONTROL")
        yield self.tracing.orchestration(
            "invocationInput", {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": invocation}
        )

    async def _hand_over(self, text: str, results: Sequence[Mapping[str, Any]]) -> AsyncIterator[bytes]:
        """Have the collaborator that the routing classifier chose answer in place of the agent."""
        name = self._session.routed
        tool = next((item for item in self._tools.values() if name_of(item) == name), None)
        if tool is None:
            raise dependency_failed(f"The routing classifier chose {name}, which is not a collaborator of the agent")
        began_s, turn = time.time(), self._turn_of(tool, text, results)
        async for frame in self._delegate(turn, tool, text, results, "routingClassifierTrace"):
            yield frame
        if turn.control is not None:
            self._wait(collaborator=ROUTED, control=turn.control)
            return
        answer = turn.text
        if guardrail := self._request.agent.document.get("guardrailConfiguration"):
            answer, assessed = await self._services.guarded_output(guardrail, answer, self._request.place)
            if (guarded := self.tracing.guardrail(assessed)) is not None:
                yield guarded
        yield self.tracing.event("routingClassifierTrace", "observation", _final(answer, began_s))
        self._end(answer, citations=turn.citations)

    async def _collaborate(
        self, call: Mapping[str, Any], tool: AgentTool, results: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[bytes]:
        """Have a collaborator run a turn, or continue the one that waits for results."""
        message = str(call["input"].get("message") or "")
        turn = self._turn_of(tool, message, results)
        async for frame in self._delegate(turn, tool, message, results, "orchestrationTrace"):
            yield frame
        if turn.control is not None:
            self._wait(collaborator=call["toolUseId"], control=turn.control)
            return
        self._calls.passages += turn.passages
        self._calls.keep(call, turn.text)

    def _turn_of(self, tool: AgentTool, text: str, results: Sequence[Mapping[str, Any]]) -> AgentTurn:
        session, request = collaborator_request(self._services, self._session, self._request, tool, text, results)
        return AgentTurn(self._services, session, request)

    async def _delegate(
        self, turn: AgentTurn, tool: AgentTool, text: str, results: Sequence[Mapping[str, Any]], trace: str
    ) -> AsyncIterator[bytes]:
        """Run a collaborator's turn, with the trace events of its call around it."""
        yield self.tracing.event(trace, "invocationInput", shown_call(self._session, tool, text, results))
        began_s = time.time()
        async for frame in turn.run():
            yield frame
        own = self._session.collaborator(name_of(tool))
        self._session.downloads, own.downloads = {**self._session.downloads, **own.downloads}, {}
        yield self.tracing.event(trace, "observation", shown_answer(tool, turn.text, turn.control, began_s))

    def _wait(self, collaborator: str = "", control: dict[str, Any] | None = None) -> None:
        """End the turn with a return of control."""
        if control is None:
            kinds = {True: "functionInvocationInput", False: "apiInvocationInput"}
            inputs = [{kinds["function" in item]: item} for item in self._waiting.values()]
            control = {"invocationId": str(uuid.uuid4()), "invocationInputs": inputs}
        self.control = control
        self._session.pending = Pending(
            invocation_id=control["invocationId"],
            messages=self._turn,
            results=self._calls.results,
            waiting=self._waiting,
            collaborator=collaborator,
        )

    def _end(self, text: str, *, keeps: bool = True, citations: Sequence[dict[str, Any]] | None = None) -> None:
        """End the turn with an answer."""
        self.text, self._ended, self._session.pending = text, True, None
        if citations is not None:
            self.citations = list(citations)
        elif self.passages:
            self.citations = citations_of(text, self.passages)
        if keeps:
            self._session.keep([*self._turn, {"role": "assistant", "content": [{"text": text or "-"}]}])


def _caller_answer(result: Mapping[str, Any], waiting: Mapping[str, Any]) -> ActionAnswer | None:
    """Return the caller's answer to a call; None if the caller confirmed a call that is executed here."""
    if waiting["actionInvocationType"] != "RESULT":
        if result.get("confirmationState") == "DENY":
            return ActionAnswer(text="The user denied this call.")
        if not result.get("confirmationState"):
            raise invalid(f"The result of the action group {waiting['actionGroup']} requires confirmationState")
    return None if waiting["actionInvocationType"] == "USER_CONFIRMATION" else read_given_answer(result)


def _calls(message: Message) -> list[dict[str, Any]]:
    """Return the tool calls of a message."""
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def _final(text: str, began_s: float) -> dict[str, Any]:
    """Return the observation that ends a turn."""
    return {"type": "FINISH", "finalResponse": {"text": text, "metadata": metadata(began_s)}}
