"""An imported agent on AgentCore as the target of a comparison: its interrupts are answered with a case's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..agents import AgentEntry, Chunk, InvocationRecord
from ..errors import InvocationFailedError
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from ..evals.values.tool_use import ToolUse
from ..imports.bedrock_agents.parity.names import ToolNames
from ..imports.bedrock_agents.parity.returned_calls import RETURN_CONTROL, STATE_NAME, GivenResults
from ..json_values import as_mapping, as_text, parse_object
from .context import Context
from .eval_target import AgentTarget

MOST_INTERRUPTS: Final = 20
"""How many times an agent may wait for its caller in one turn before the turn counts as failed."""
_TOP_LEVEL: Final = ("sessionAttributes", "promptSessionAttributes")


@dataclass(slots=True, kw_only=True)
class _Part:
    """One invocation of a turn.

    Attributes:
        record: Its record.
        text: Its text, without the notice that a call is waiting.
        pending: The calls that are waiting.
    """

    record: InvocationRecord
    text: str
    pending: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])


class ImportedAgentTarget:
    """An agent that Loom generated from a Bedrock agent, as the target of an evaluation.

    Session attributes of a case are sent as the generated code takes them. A call that waits for the caller (a return
    of control, or a confirmation) is answered with the result that the case gives for it; without one the turn fails
    as "return_control". Any other agent is called as `AgentTarget` calls it.

    Args:
        context: The workbench's resources.
        entry: The agent, as it is deployed now.
        qualifier: The endpoint.
        names: The names of the Bedrock agent's tools.
    """

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, *, names: ToolNames | None = None) -> None:
        self._context, self._entry, self._qualifier = context, entry, qualifier
        self._target = AgentTarget(context, entry, qualifier)
        self._names = names or ToolNames()
        self.name, self.labels, self.concurrency = self._target.name, self._target.labels, self._target.concurrency
        self.store, self.scope, self.arn = self._target.store, self._target.scope, self._target.arn
        self.key = f"{self._target.key} {self._names.digest}" if self._target.key else ""
        self._control_results: dict[str, GivenResults] = {}
        self._parts: dict[int, list[_Part]] = {}

    def new_session(self) -> str:
        """Return a new session id."""
        return self._target.new_session()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Invoke the agent in the session, answer the calls that wait, and return its answer."""
        given_results = self._control_results.get(session_id, GivenResults())
        if state:
            given_results = self._control_results[session_id] = GivenResults.of_state(state)
        given_results = given_results.with_expected(turn.expected_tools or (), self._names)
        parts = [await self._invoke(self._payload(turn, state), session_id, timeout_s, turn.prompt)]
        while calls := [call for call in parts[-1].pending if not call.get("question")]:
            call = calls[0]
            tool = as_text(call.get("tool"))
            result = given_results.for_tool(tool)
            if result is None or len(parts) > MOST_INTERRUPTS:
                message = f"The agent is waiting for the result of {tool}; add {STATE_NAME} to the case's initial state"
                return CaseFailure(stage="answer", kind=RETURN_CONTROL, message=message)
            decision = {"id": call.get("id"), "decision": "approve" if result.is_confirmed else "reject"}
            decision |= {"result": result.text} if result.text is not None and result.is_confirmed else {}
            parts.append(await self._invoke({"approval": decision}, session_id, timeout_s, turn.prompt))
        return self._answer(parts, session_id)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers with tools, tokens and cost of all their invocations."""
        collected: list[TurnAnswer] = []
        several = {answer.invocation_id: self._parts.get(answer.invocation_id or -1) for answer in answers}
        single = [answer for answer in answers if not several[answer.invocation_id]]
        single_answers = iter(await self._target.collect_tools(single))
        for answer in answers:
            parts = several[answer.invocation_id]
            if not parts:
                collected.append(next(single_answers))
                continue
            part_answers = [TurnAnswer(text=part.text, invocation_id=part.record.id) for part in parts]
            collected.append(_joined(answer, await self._target.collect_tools(part_answers), parts))
        return collected

    async def end(self, session_id: str) -> None:
        """End the session."""
        self._control_results.pop(session_id, None)
        await self._target.end(session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return self._target.connected(evaluator)

    def _payload(self, turn: Turn, state: Mapping[str, Any] | None) -> dict[str, Any]:
        payload: dict[str, Any] = {"prompt": turn.prompt} if turn.payload is None else dict(turn.payload)
        payload |= {name: dict(state[name]) for name in _TOP_LEVEL if state and state.get(name)}
        rest = {name: value for name, value in (state or {}).items() if name not in (*_TOP_LEVEL, STATE_NAME)}
        return {**payload, "state": rest} if rest else payload

    async def _invoke(self, payload: Mapping[str, Any], session_id: str, timeout_s: float | None, prompt: str) -> _Part:
        """Invoke the agent once."""
        is_prompt = set(payload) == {"prompt"}
        stream = self._context.invoker.astream(
            self._entry,
            prompt if is_prompt else None,
            payload=None if is_prompt else dict(payload),
            session_id=session_id,
            qualifier=self._qualifier,
            timeout_s=timeout_s,
            labels=(*self.labels, "evaluation"),
        )
        texts, pending = list[str](), list[Mapping[str, Any]]()
        async for event in stream:
            if not isinstance(event, Chunk):
                continue
            if waits := _pending(event):
                pending.append(waits)
                if not waits.get("question") and texts:
                    texts.pop()  # the notice itself, which is not an answer
            elif event.text:
                texts.append(event.text)
        record = stream.record
        if record is None or record.failure is not None:
            failure = "exception" if record is None else record.failure or ""
            message = "" if record is None else record.error_message or ""
            raise InvocationFailedError(message or "The agent did not answer", failure=failure)
        return _Part(record=record, text="".join(texts), pending=pending)

    def _answer(self, parts: Sequence[_Part], session_id: str) -> TurnAnswer:
        records = [part.record for part in parts]
        if len(parts) > 1:
            self._parts[records[-1].id] = list(parts)
        durations = [record.client_duration_ms for record in records]
        return TurnAnswer(
            text=parts[-1].text,
            duration_ms=None if None in durations else sum(value for value in durations if value is not None),
            ttft_ms=_first_text_ms(parts),
            session_id=session_id,
            invocation_id=records[-1].id,
            trace_id=records[-1].trace_id or "",
        )


def _first_text_ms(parts: Sequence[_Part]) -> float | None:
    """Return when the first text came, counted from the first request; the caller's own pauses are excluded."""
    before_ms = 0.0
    for part in parts:
        if part.text and part.record.ttft_ms is not None:
            return before_ms + part.record.ttft_ms
        before_ms += part.record.client_duration_ms or 0.0
    return None


def _pending(event: Chunk) -> Mapping[str, Any]:
    """Return the call that waits according to an event of a generated agent; empty for any other event."""
    if b'"pending"' not in event.data:
        return {}
    return as_mapping(parse_object(event.data.decode("utf-8", "replace")).get("pending"))


def _joined(answer: TurnAnswer, part_answers: Sequence[TurnAnswer], parts: Sequence[_Part]) -> TurnAnswer:
    """Return a turn's answer with what the traces of its invocations contain."""
    missing = next((item for item in part_answers if item.tools is None), None)
    if missing is not None:
        return replace(answer, tools=None, tools_state=missing.tools_state)
    tools: list[ToolUse] = []
    for number, (item, part) in enumerate(zip(part_answers, parts, strict=True)):
        waiting = [as_text(call.get("tool")) for call in part.pending]
        # A waiting call is repeated when its invocation continues, and counts once.
        completed_uses = [use for use in item.tools or () if number == len(parts) - 1 or use.name not in waiting]
        tools += completed_uses
    return replace(
        answer,
        tools=tuple(tools),
        tools_state=part_answers[-1].tools_state,
        input_tokens=_sum([item.input_tokens for item in part_answers]),
        output_tokens=_sum([item.output_tokens for item in part_answers]),
        model_calls=_sum([item.model_calls for item in part_answers]),
        cost=_total([item.cost for item in part_answers]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)


def _total(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else sum(cost for cost in costs if cost is not None)
