"""The calls of one turn that do not need the caller: Lambda functions, knowledge bases, and code."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..knowledge.retrieval import reference_of
from ..knowledge.store import RankedPassage
from .actions import ActionAnswer, call_document, read_lambda_answer, trace_input
from .services import AgentServices
from .sessions import AgentSession
from .steps import TurnSteps
from .tools import AgentTool
from .tracing import AgentTracing, metadata
from .turn_request import TurnRequest


class TurnCalls:
    """Executes the calls of one turn.

    Args:
        services: The services that the agent calls.
        session: The session.
        request: The request of the turn.
        tracing: Creates the trace events.
        steps: Writes answers from passages, if the agent is configured to.

    Attributes:
        results: The results of completed calls for the model, by the call's id.
        texts: The texts of the results, in order.
        passages: The passages that were found in knowledge bases.
    """

    def __init__(
        self,
        services: AgentServices,
        session: AgentSession,
        request: TurnRequest,
        tracing: AgentTracing,
        steps: TurnSteps,
    ) -> None:
        self.results: dict[str, dict[str, Any]] = {}
        self.texts: list[str] = []
        self.passages: list[RankedPassage] = []
        self._services, self._session, self._request = services, session, request
        self._tracing, self._steps = tracing, steps

    async def call_lambda(self, call: Mapping[str, Any], tool: AgentTool, text: str) -> AsyncIterator[bytes]:
        """Call the Lambda function of an action group.

        Args:
            call: The model's call.
            tool: The tool.
            text: What the user asked.
        """
        action_call = call_document(tool, call["input"])
        invocation = {
            "invocationType": "ACTION_GROUP",
            "actionGroupInvocationInput": trace_input(tool, action_call, "LAMBDA"),
        }
        yield self._tracing.orchestration("invocationInput", invocation)
        began_s, arn = time.time(), tool.part["document"]["actionGroupExecutor"]["lambda"]
        event = self._request.function_event(self._session, text, action_call)
        payload = await self._services.call_function(arn, event, self._request.place)
        yield self.take(call, read_lambda_answer(tool, payload), began_s)

    def take(self, call: Mapping[str, Any], answer: ActionAnswer, begun: float) -> bytes:
        """Store an action group's result for the model, and return its trace event.

        Args:
            call: The model's call.
            answer: The result.
            begun: Start time of the call, in seconds since 1970.
        """
        session = self._session
        if answer.attributes is not None:
            _replace(session.attributes, answer.attributes)
        if answer.prompt_attributes is not None:
            _replace(session.prompt_attributes, answer.prompt_attributes)
        session.searches.update(answer.searches)
        self.keep(call, answer.text, failed=answer.reprompts)
        if answer.reprompts:
            reprompt = {"source": "ACTION_GROUP", "text": answer.text}
            return self._tracing.orchestration("observation", {"type": "REPROMPT", "repromptResponse": reprompt})
        output = {"text": answer.text, "metadata": metadata(begun)}
        observation = {"type": "ACTION_GROUP", "actionGroupInvocationOutput": output}
        return self._tracing.orchestration("observation", observation)

    async def look_up(self, call: Mapping[str, Any], tool: AgentTool) -> AsyncIterator[bytes]:
        """Search a knowledge base.

        Args:
            call: The model's call.
            tool: The tool.
        """
        key, question = tool.part["document"]["knowledgeBaseId"], str(call["input"].get("query") or "")
        lookup = {"knowledgeBaseId": key, "text": question}
        invocation: dict[str, Any] = {"invocationType": "KNOWLEDGE_BASE", "knowledgeBaseLookupInput": lookup}
        yield self._tracing.orchestration("invocationInput", invocation)
        began_s = time.time()
        passages = await self._services.search(key, question, self._session.searches.get(key), self._request.place)
        self.passages += passages
        output = {"retrievedReferences": [reference_of(passage) for passage in passages], "metadata": metadata(began_s)}
        yield self._tracing.orchestration(
            "observation", {"type": "KNOWLEDGE_BASE", "knowledgeBaseLookupOutput": output}
        )
        async for frame in self._steps.generate(question, passages):
            yield frame
        texts = [self._steps.answer] if self._steps.answer else [passage.text for passage in passages]
        self.texts += texts
        content = [{"text": text} for text in texts] or [{"text": "No results."}]
        self.results[call["toolUseId"]] = {"toolUseId": call["toolUseId"], "content": content}

    async def execute(self, call: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """Execute Python code in the session's sandbox.

        Args:
            call: The model's call.
        """
        code = str(call["input"].get("code") or "")
        code_input: dict[str, Any] = {"code": code}
        if names := list(self._session.uploads):
            code_input["files"] = names
        invocation: dict[str, Any] = {"invocationType": "ACTION_GROUP_CODE_INTERPRETER"}
        yield self._tracing.orchestration(
            "invocationInput", {**invocation, "codeInterpreterInvocationInput": code_input}
        )
        began_s = time.time()
        run = await self._services.sandboxes.run(self._session, code, self._request.place)
        output: dict[str, Any] = {
            "executionOutput": run.output,
            "executionTimeout": False,
            "metadata": metadata(began_s),
        }
        output |= {"executionError": run.error} if run.error else {}
        output |= {"files": list(run.files)} if run.files else {}
        yield self._tracing.orchestration(
            "observation", {"type": "ACTION_GROUP", "codeInterpreterInvocationOutput": output}
        )
        file_list = f"Files: {', '.join(run.files)}" if run.files else ""
        self.keep(call, "\n".join(filter(None, (run.output, run.error, file_list))), failed=bool(run.error))

    def keep(self, call: Mapping[str, Any], text: str, *, failed: bool = False) -> None:
        """Store the result of a call for the model.

        Args:
            call: The model's call.
            text: The result.
            failed: Whether the model should correct the call.
        """
        result: dict[str, Any] = {"toolUseId": call["toolUseId"], "content": [{"text": text or "-"}]}
        self.results[call["toolUseId"]] = {**result, "status": "error"} if failed else result
        self.texts.append(text)


def _replace(target: dict[str, str], values: Mapping[str, str]) -> None:
    """Replace the values of a mapping in place, because collaborators share it."""
    target.clear()
    target.update(values)
