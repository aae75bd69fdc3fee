"""One turn of an agent: a loop over Converse that calls action groups, knowledge bases and collaborators."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, cast

from ..knowledge.retrieval import citations_of, reference_of
from ..knowledge.store import RankedPassage
from ..wire import invalid
from .actions import ActionAnswer, called, is_answer_to, read_given_answer, read_lambda_answer, trace_input
from .prompts import model_id
from .services import AgentServices
from .sessions import AgentSession, Message, Pending
from .tools import AgentTool, version_tools
from .tracing import AgentTracing, metadata, request_text
from .turn_request import TurnRequest

_MOST_MODEL_CALLS: Final = 25
_MOST_LEVELS: Final = 5
_MOST_WAITING: Final = 5  # the service model's limit of a return of control
_UNABLE: Final = "Sorry, I am unable to assist you with this request."


class AgentTurn:
    """Runs one turn.

    Args:
        services: What the agent calls.
        session: The session.
        request: What the turn is about.

    Attributes:
        text: The answer, once the turn has ended.
        citations: What the answer rests on, for a turn that searched a knowledge base.
        control: The return of control with which the turn has ended; None if it has answered.
    """

    def __init__(self, services: AgentServices, session: AgentSession, request: TurnRequest) -> None:
        self.text, self.citations, self.control = "", list[dict[str, Any]](), cast("dict[str, Any] | None", None)
        self._services, self._session, self._request = services, session, request
        self._tools: dict[str, AgentTool] = {}
        self._turn: list[Message] = []
        self._results: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, dict[str, Any]] = {}
        self._passages: list[RankedPassage] = []
        self._asked, self._ended = 0, False
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

    async def run(self) -> AsyncIterator[bytes]:
        """Run the turn and yield its trace events.

        Raises:
            RefusedError: The turn failed; the session stays as it was before.
        """
        if len(self._request.chain) > _MOST_LEVELS:
            raise invalid(f"Agents call one another over at most {_MOST_LEVELS} levels")
        tools = await asyncio.to_thread(version_tools, self._request.agent, self._request.place)
        self._tools = {tool.name: tool for tool in tools}
        async for frame in self._begin():
            yield frame
        while not self._ended and self.control is None:
            if self._turn[-1]["role"] == "user":
                async for frame in self._ask():
                    yield frame
            else:
                async for frame in self._act():
                    yield frame

    async def _begin(self) -> AsyncIterator[bytes]:
        """Take the user's text, or the results for which the turn before waits."""
        request, pending = self._request, self._session.pending
        if not request.results:
            self._turn = [{"role": "user", "content": [{"text": request.text}]}]
            return
        if pending is None:
            raise invalid("The session waits for no results: send inputText")
        self._turn, self._results = list(pending.messages), dict(pending.results)
        self.tracing.next_step()
        if pending.collaborator:
            call = next(call for call in _calls(self._turn[-1]) if call["toolUseId"] == pending.collaborator)
            async for frame in self._collaborate(call, self._tools[call["name"]], request.results):
                yield frame
            return
        left = [next(iter(result.values())) for result in request.results]
        for call_id, waiting in pending.waiting.items():
            given = next((item for item in left if is_answer_to(item, waiting)), None)
            if given is None:
                operation = waiting.get("function") or f"{waiting.get('httpMethod')} {waiting.get('apiPath')}"
                raise invalid(f"The results lack that of {operation} of the action group {waiting['actionGroup']}")
            left.remove(given)
            call = next(call for call in _calls(self._turn[-1]) if call["toolUseId"] == call_id)
            async for frame in self._returned(call, given, waiting):
                yield frame
        if left:
            raise invalid(f"The session does not wait for results of the action group {left[0]['actionGroup']}")

    async def _returned(
        self, call: Mapping[str, Any], given: Mapping[str, Any], waiting: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        """Go on with a call that the caller answered or confirmed."""
        tool = self._tools[call["name"]]
        asked_to_confirm = waiting["actionInvocationType"] != "RESULT"
        if asked_to_confirm and given.get("confirmationState") == "DENY":
            answer = ActionAnswer(text="The user denied this call.")
        elif asked_to_confirm and not given.get("confirmationState"):
            raise invalid(f"The result of the action group {tool.group} needs confirmationState")
        elif waiting["actionInvocationType"] == "USER_CONFIRMATION":
            async for frame in self._call_lambda(call, tool):
                yield frame
            return
        else:
            answer = read_given_answer(given)
        yield self._take(call, answer, time.time())

    async def _ask(self) -> AsyncIterator[bytes]:
        """Ask the model what to do next."""
        self.tracing.next_step()
        self._asked += 1
        if self._asked > _MOST_MODEL_CALLS:
            yield self.tracing.failure(f"Max iterations exceeded: {_MOST_MODEL_CALLS} calls of the model", 400)
            self._end(_UNABLE)
            return
        asked, shown_limits = self._request.model_request(
            self._session, self._turn, [tool.spec for tool in self._tools.values()]
        )
        model, shown = model_id(self._request.agent), request_text(asked)
        yield self.tracing.orchestration(
            "modelInvocationInput",
            {
                "text": shown,
                "type": "ORCHESTRATION",
                "foundationModel": model,
                **({"inferenceConfiguration": shown_limits} if shown_limits else {}),
            },
        )
        begun = time.time()
        answer = await self._services.converse(model, asked, self._request.place)
        message: Message = answer["output"]["message"]
        yield self.tracing.orchestration(
            "modelInvocationOutput",
            {
                "rawResponse": {"content": json.dumps(message, ensure_ascii=False)},
                "metadata": metadata(begun, answer.get("usage") or {}),
            },
        )
        if (guarded := self.tracing.guardrail(answer)) is not None:
            yield guarded
        text = "".join(block["text"] for block in message["content"] if "text" in block)
        if _calls(message):
            self._turn.append(message)
            if text.strip():
                yield self.tracing.orchestration("rationale", {"text": text})
            return
        # A blocked turn is forgotten: it would block all that follow.
        self._end(text, keeps=answer.get("stopReason") != "guardrail_intervened")
        yield self.tracing.orchestration(
            "observation", {"type": "FINISH", "finalResponse": {"text": text, "metadata": metadata(begun)}}
        )

    async def _act(self) -> AsyncIterator[bytes]:
        """Execute the calls of the model's newest message that have no result yet."""
        for call in _calls(self._turn[-1]):
            if call["toolUseId"] in self._results:
                continue
            tool = self._tools.get(call["name"])
            if tool is None:
                text = f"There is no tool {call['name']}"
                self._results[call["toolUseId"]] = _result(call, text, failed=True)
                reprompt = {"source": "PARSER", "text": text}
                yield self.tracing.orchestration("observation", {"type": "REPROMPT", "repromptResponse": reprompt})
                continue
            if tool.kind == "user_input":
                question = str(call["input"].get("question") or "")
                self._turn.pop()
                self._end(question)
                shown = {"type": "ASK_USER", "finalResponse": {"text": question}}
                yield self.tracing.orchestration("observation", shown)
                return
            if tool.kind == "knowledge_base":
                steps = self._look_up(call, tool)
            elif tool.kind == "collaborator":
                steps = self._collaborate(call, tool, ())
            elif tool.confirm or "lambda" not in tool.part["document"]["actionGroupExecutor"]:
                if len(self._waiting) == _MOST_WAITING:
                    continue  # the caller is asked for the rest when it has answered these
                steps = self._give_back(call, tool)
            else:
                steps = self._call_lambda(call, tool)
            async for frame in steps:
                yield frame
            if self.control is not None:
                return
        if self._waiting:
            self._wait()
            return
        ordered = [{"toolResult": self._results[call["toolUseId"]]} for call in _calls(self._turn[-1])]
        self._turn.append({"role": "user", "content": ordered})
        self._results = {}

    async def _call_lambda(self, call: Mapping[str, Any], tool: AgentTool) -> AsyncIterator[bytes]:
        what = called(tool, call["input"])
        shown = {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": trace_input(tool, what, "LAMBDA")}
        yield self.tracing.orchestration("invocationInput", shown)
        begun, arn = time.time(), tool.part["document"]["actionGroupExecutor"]["lambda"]
        # The text is that of the turn's beginning, if a confirmation came between.
        event = self._request.function_event(self._session, self._turn[0]["content"][0]["text"], what)
        payload = await self._services.call_function(arn, event, self._request.place)
        yield self._take(call, read_lambda_answer(tool, payload), begun)

    def _take(self, call: Mapping[str, Any], answer: ActionAnswer, begun: float) -> bytes:
        """Keep an action group's answer for the model, and return its trace event."""
        session = self._session
        if answer.attributes is not None:
            _replace(session.attributes, answer.attributes)
        if answer.prompt_attributes is not None:
            _replace(session.prompt_attributes, answer.prompt_attributes)
        session.searches.update(answer.searches)
        self._results[call["toolUseId"]] = _result(call, answer.text, failed=answer.reprompts)
        if answer.reprompts:
            reprompt = {"source": "ACTION_GROUP", "text": answer.text}
            return self.tracing.orchestration("observation", {"type": "REPROMPT", "repromptResponse": reprompt})
        output = {"text": answer.text, "metadata": metadata(begun)}
        shown = {"type": "ACTION_GROUP", "actionGroupInvocationOutput": output}
        return self.tracing.orchestration("observation", shown)

    async def _look_up(self, call: Mapping[str, Any], tool: AgentTool) -> AsyncIterator[bytes]:
        key, question = tool.part["document"]["knowledgeBaseId"], str(call["input"].get("query") or "")
        lookup = {"knowledgeBaseId": key, "text": question}
        shown: dict[str, Any] = {"invocationType": "KNOWLEDGE_BASE", "knowledgeBaseLookupInput": lookup}
        yield self.tracing.orchestration("invocationInput", shown)
        begun = time.time()
        passages = await self._services.search(key, question, self._session.searches.get(key), self._request.place)
        self._passages += passages
        texts = [{"text": passage.text} for passage in passages] or [{"text": "No results."}]
        self._results[call["toolUseId"]] = {"toolUseId": call["toolUseId"], "content": texts}
        found = {"retrievedReferences": [reference_of(passage) for passage in passages], "metadata": metadata(begun)}
        yield self.tracing.orchestration("observation", {"type": "KNOWLEDGE_BASE", "knowledgeBaseLookupOutput": found})

    async def _give_back(self, call: Mapping[str, Any], tool: AgentTool) -> AsyncIterator[bytes]:
        """Have the caller execute or confirm a call."""
        runs_here = "lambda" in tool.part["document"]["actionGroupExecutor"]
        kind = "USER_CONFIRMATION" if runs_here else "USER_CONFIRMATION_AND_RESULT" if tool.confirm else "RESULT"
        what = {**called(tool, call["input"]), "actionInvocationType": kind, "agentId": self._request.agent.id}
        if self._request.collaborator:
            what["collaboratorName"] = self._request.collaborator
        self._waiting[call["toolUseId"]] = what
        shown = trace_input(tool, what, "LAMBDA" if runs_here else "RETURN_CONTROL")
        yield self.tracing.orchestration(
            "invocationInput", {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": shown}
        )

    async def _collaborate(
        self, call: Mapping[str, Any], tool: AgentTool, results: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[bytes]:
        """Have a collaborator run a turn, or go on with the one that waits for results."""
        document = tool.part["document"]
        name, arn, text = document["collaboratorName"], document["agentDescriptor"]["aliasArn"], call["input"]
        named = {"agentCollaboratorName": name, "agentCollaboratorAliasArn": arn}
        message = str(text.get("message") or "")
        given: dict[str, Any] = {"type": "TEXT", "text": message}
        if results:
            pending = self._session.pending
            returned = {"invocationId": pending.invocation_id if pending else "", **_returned(results)}
            given = {"type": "RETURN_CONTROL", "returnControlResults": returned}
        shown = {
            "invocationType": "AGENT_COLLABORATOR",
            "agentCollaboratorInvocationInput": {**named, "input": given},
        }
        yield self.tracing.orchestration("invocationInput", shown)
        begun, session = time.time(), self._session.collaborator(name)
        session.attributes, session.prompt_attributes = self._session.attributes, self._session.prompt_attributes
        alias, version = self._services.alias_version(arn, self._request.place)
        turn = AgentTurn(
            self._services,
            session,
            TurnRequest(
                agent=version,
                alias=alias,
                session_id=self._request.session_id,
                place=self._request.place,
                text=message,
                results=results,
                chain=(*self._request.chain, arn),
                collaborator=name,
                performance=self._request.performance,
                history=_said(self._session) if document.get("relayConversationHistory") == "TO_COLLABORATOR" else (),
            ),
        )
        async for frame in turn.run():
            yield frame
        output: dict[str, Any] = {"type": "TEXT", "text": turn.text}
        if turn.control is not None:
            output = {"type": "RETURN_CONTROL", "returnControlPayload": turn.control}
        shown = {**named, "output": output, "metadata": metadata(begun)}
        yield self.tracing.orchestration(
            "observation", {"type": "AGENT_COLLABORATOR", "agentCollaboratorInvocationOutput": shown}
        )
        if turn.control is not None:
            self._wait(collaborator=call["toolUseId"], control=turn.control)
            return
        self._passages += turn.passages
        self._results[call["toolUseId"]] = _result(call, turn.text or "-")

    @property
    def passages(self) -> Sequence[RankedPassage]:
        """What was found in knowledge bases."""
        return self._passages

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
            results=self._results,
            waiting=self._waiting,
            collaborator=collaborator,
        )

    def _end(self, text: str, *, keeps: bool = True) -> None:
        """End the turn with an answer."""
        self.text, self._ended, self._session.pending = text, True, None
        if self._passages:
            self.citations = citations_of(text, self._passages)
        if keeps:
            self._session.keep([*self._turn, {"role": "assistant", "content": [{"text": text or "-"}]}])


def _calls(message: Message) -> list[dict[str, Any]]:
    """Return the tool calls of a message."""
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def _result(call: Mapping[str, Any], text: str, *, failed: bool = False) -> dict[str, Any]:
    result: dict[str, Any] = {"toolUseId": call["toolUseId"], "content": [{"text": text or "-"}]}
    return {**result, "status": "error"} if failed else result


def _returned(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"returnControlInvocationResults": list(results)}


def _said(session: AgentSession) -> list[Message]:
    """Return what user and agent said in a session, without the calls between."""
    return [message for turn in session.turns for message in (turn[0], turn[-1])]


def _replace(target: dict[str, str], values: Mapping[str, str]) -> None:
    """Give a mapping, which collaborators share, other values."""
    target.clear()
    target.update(values)
