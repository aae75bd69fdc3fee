"""A Bedrock agent as the target of evaluations and latency studies: InvokeAgent, with its trace."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from ..agents import InvocationRecord
from ..agents.outcome import failure_of
from ..aws import bedrock_agents
from ..aws.bedrock_agents import TEST_ALIAS, BedrockAgent, BedrockAgentAnswer
from ..errors import AwsError, InvocationFailedError, LoomError
from ..evals.evaluators.connecting import connected
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from ..evals.values.tool_use import ToolUse
from ..imports.bedrock_agents.parity.names import ToolNames
from ..imports.bedrock_agents.parity.returned_calls import RETURN_CONTROL, GivenResults
from ..store import Store
from ..telemetry import AgentStart
from ..telemetry.cost import CallUsage, cost_of_calls
from .context import Context
from .liveness import accepts_connections

SCOPE: Final = "bedrock-agents"
"""The scope under which these agents are stored; the catalog of AgentCore's agents has others."""
MOST_RETURNS: Final = 20
"""How many times an agent may return control in one turn before the turn counts as failed."""
_CONCURRENCY: Final = {"local": 4, "aws": 4}


class BedrockAgentTarget:
    """An agent of Bedrock Agents as the target of evaluations and of latency studies (`loomlib.latency.MeasuredAgent`).

    Every turn is stored as an invocation. Tools, tokens and cost are those of InvokeAgent's trace; the cost
    covers tokens only, since Bedrock does not charge for the agent itself. A call that the agent returns is answered
    with the result in the case (see `GivenResults`). If the case has none, the turn fails as "return_control".

    Args:
        context: The workbench's resources.
        agent: The agent.
        alias: An alias's name or id.
        names: The names of tools; by default the agent's own.
        stream: Whether the final answer is streamed.

    Raises:
        ResourceNotFoundError: There is no such alias.
    """

    def __init__(
        self,
        context: Context,
        agent: BedrockAgent,
        *,
        alias: str = TEST_ALIAS,
        names: ToolNames | None = None,
        stream: bool = False,
    ) -> None:
        clients = context.clients
        self._context, self._agent, self._stream = context, agent, stream
        self._names = names or ToolNames()
        self._alias_id = bedrock_agents.find_alias(clients, agent, alias)
        self.version = bedrock_agents.served_agent_version(clients, agent, self._alias_id)
        self.arn = bedrock_agents.bedrock_agent_arn(clients, agent)
        self.name = agent.name if alias == TEST_ALIAS else f"{agent.name} ({alias})"
        self.qualifier, self.scope = alias, context.where
        self.labels: tuple[str, ...] = context.labels
        self.concurrency = _CONCURRENCY.get(context.where, 4)
        # A version never changes; the working draft differs after each change.
        state = self.version if self.version != "DRAFT" else f"DRAFT of {agent.updated_at.isoformat()}"
        key = " ".join((self.arn, f"version {state}", self._names.digest, *self.labels))
        self.key = f"{key} streamed" if stream else key
        self._control_results: dict[str, GivenResults] = {}
        row = context.store.agents.upsert(
            scope=SCOPE,
            arn=self.arn,
            runtime_id=agent.id,
            region=agent.region,
            account_id=self.arn.split(":")[4],
            name=agent.name,
            status=agent.status,
        )
        self._row_id = row.id

    @property
    def store(self) -> Store:
        """The store for runs, studies and invocations."""
        return self._context.store

    def new_session(self) -> str:
        """Return a new session id."""
        return str(uuid.uuid4())

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Ask the agent in the session and return its answer.

        Args:
            turn: The turn. Results of its expected tools answer calls that the agent returns.
            session_id: The session.
            timeout_s: Seconds for the whole turn, returned calls included; None for no limit.
            state: The case's initial state: `sessionAttributes`, `promptSessionAttributes`, and `returnControl`, which
                has the result of each call that the agent returns, by the call's name.
        """
        given_results = self._control_results.get(session_id, GivenResults())
        if state:
            given_results = self._control_results[session_id] = GivenResults.of_state(state)
        given_results = given_results.with_expected(turn.expected_tools or (), self._names)
        record, answer = await asyncio.to_thread(
            self._turn, turn.prompt, session_id, given_results, _session_state(state), timeout_s, ("evaluation",)
        )
        if record.failure == RETURN_CONTROL:
            return CaseFailure(stage="answer", kind=RETURN_CONTROL, message=record.error_message or "")
        if answer is None or record.failure is not None:
            raise InvocationFailedError(
                record.error_message or "The agent did not answer", failure=record.failure or ""
            )
        return answer

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers unchanged: they already contain the trace."""
        return answers

    async def end(self, session_id: str) -> None:
        """End the session; if that fails, it ends at its idle timeout."""
        self._control_results.pop(session_id, None)
        await asyncio.to_thread(self.end_session, session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return connected(evaluator, self._context.clients, self._context.store)

    async def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> InvocationRecord:
        """Make one timed call; a failed call is a record with status "error".

        Args:
            prompt: The prompt.
            session_id: The session.
            labels: Labels of the call, in addition to the workbench's.
            timeout_s: Seconds for the whole call.
        """
        record, _ = await asyncio.to_thread(self._turn, prompt, session_id, GivenResults(), {}, timeout_s, labels)
        return record

    def end_session(self, session_id: str) -> bool:
        """End a session; return False if it could not be ended."""
        with suppress(LoomError):
            bedrock_agents.end_bedrock_session(self._context.clients, self._agent, session_id, alias_id=self._alias_id)
            return True
        return False

    def agent_start(self, invocation_id: int) -> AgentStart:
        """Return an unknown start: Bedrock Agents does not log a start line.

        Args:
            invocation_id: The stored invocation.
        """
        return AgentStart(state="no_logs")

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections."""
        return await accepts_connections(self._context.clients, self._agent.region)

    def stored_prompts(self) -> list[str]:
        """Return the prompts of the agent's stored invocations, the oldest first, each once."""
        rows = self._context.store.invocations.list(self._row_id, limit=None)
        return list(dict.fromkeys(row.prompt for row in reversed(rows) if row.prompt))

    def _turn(
        self,
        prompt: str,
        session_id: str,
        given_results: GivenResults,
        state: Mapping[str, Any],
        timeout_s: float | None,
        labels: Sequence[str],
    ) -> tuple[InvocationRecord, TurnAnswer | None]:
        """Ask one turn, answer the calls that it returns, store it, and return its record and its answer."""
        labels = (*self.labels, *labels)
        store = self._context.store
        id = store.invocations.begin(
            agent_id=self._row_id, session_id=session_id, qualifier=self.qualifier, prompt=prompt, labels=labels
        )
        asked_turn = _AskedTurn(began_at=time.time(), began=time.perf_counter(), timeout_s=timeout_s)
        failure, message = None, None
        try:
            asked_turn.add(self._ask(prompt, session_id, state, asked_turn))
            while requests := asked_turn.parts[-1].requests:
                missing = [request.name for request in requests if not given_results.knows(request)]
                if missing or len(asked_turn.parts) > MOST_RETURNS:
                    failure = RETURN_CONTROL
                    message = _why_not_answered(missing)
                    break
                results = [given_results.answer(request) for request in requests]
                more = {
                    "invocationId": asked_turn.parts[-1].invocation_id,
                    "returnControlInvocationResults": results,
                }
                asked_turn.add(self._ask("", session_id, more, asked_turn))
        except AwsError as error:
            failure, message = failure_of(error), str(error)
        ended = time.perf_counter()
        answer = (
            None
            if failure
            else self._answer(asked_turn, given_results, session_id, id, (ended - asked_turn.began) * 1_000)
        )
        last = asked_turn.parts[-1] if asked_turn.parts else None
        values: dict[str, Any] = {
            "status": "error" if failure else "complete",
            "response": last.text if last else "",
            "client_invoke_time": asked_turn.began_at,
            "client_done_time": asked_turn.began_at + ended - asked_turn.began,
            "client_duration_ms": (ended - asked_turn.began) * 1_000,
            "ttft_ms": asked_turn.ttft_ms,
            "chunk_offsets_ms": asked_turn.chunk_offsets_ms,
            "bytes_received": len(last.text.encode()) if last else 0,
            "failure": failure,
            "error_message": message,
            "request_id": last.request_id if last else None,
        }
        store.invocations.finish(id, **values)
        record = InvocationRecord(
            id=id,
            agent_arn=self.arn,
            agent_name=self._agent.name,
            session_id=session_id,
            qualifier=self.qualifier,
            prompt=prompt,
            labels=labels,
            **values,
        )
        return record, answer

    def _ask(
        self, prompt: str, session_id: str, state: Mapping[str, Any], asked_turn: _AskedTurn
    ) -> tuple[float, BedrockAgentAnswer]:
        offset_ms = (time.perf_counter() - asked_turn.began) * 1_000
        return offset_ms, bedrock_agents.ask_bedrock_agent(
            self._context.clients,
            self._agent,
            prompt,
            alias_id=self._alias_id,
            session_id=session_id,
            state=state or None,
            stream=self._stream,
            timeout_s=asked_turn.left_s(),
            read_timeout_s=asked_turn.read_timeout_s(),
        )

    def _answer(
        self,
        asked_turn: _AskedTurn,
        given_results: GivenResults,
        session_id: str,
        invocation_id: int,
        duration_ms: float,
    ) -> TurnAnswer:
        steps = [step for part in asked_turn.parts for step in part.steps]
        models = [step for step in steps if step.kind == "model"]
        calls = [
            CallUsage(
                span_id=str(number),
                model=step.name or None,
                input_tokens=step.input_tokens,
                output_tokens=step.output_tokens,
                state="missing" if step.input_tokens is None or step.output_tokens is None else "stated",
            )
            for number, step in enumerate(models)
        ]
        total = cost_of_calls(calls, prices=self._context.prices).total if calls else None
        tools: list[ToolUse] = []
        for part in asked_turn.parts:
            tools += self._names.tools_of(part.steps)
            # A refused call is one that the agent made: its successor must make it as well.
            tools += [
                replace(self._names.tool_of_request(request), result=given_results.text_of(request))
                for request in part.requests
                if not request.agent
            ]
        return TurnAnswer(
            text=asked_turn.parts[-1].text,
            tools=tuple(tools),
            tools_state="found",
            duration_ms=duration_ms,
            ttft_ms=asked_turn.ttft_ms,
            input_tokens=_sum([call.input_tokens for call in calls]),
            output_tokens=_sum([call.output_tokens for call in calls]),
            model_calls=len(calls),
            cost=total.value if total is not None and total.state == "known" else None,
            session_id=session_id,
            invocation_id=invocation_id,
        )


class _AskedTurn:
    """The InvokeAgent calls of one turn: the first, and one for each return of control."""

    def __init__(self, *, began_at: float, began: float, timeout_s: float | None) -> None:
        self.began_at, self.began, self._timeout_s = began_at, began, timeout_s
        self.parts: list[BedrockAgentAnswer] = []
        self.ttft_ms: float | None = None
        self.chunk_offsets_ms: tuple[float, ...] = ()

    def add(self, timed_answer: tuple[float, BedrockAgentAnswer]) -> None:
        """Add a call's answer.

        Args:
            timed_answer: The start of the call, in milliseconds after the first one, and its answer.
        """
        offset_ms, answer = timed_answer
        self.parts.append(answer)
        self.chunk_offsets_ms += tuple(offset_ms + at for at in answer.chunk_offsets_ms)
        if self.ttft_ms is None and answer.ttft_ms is not None:
            self.ttft_ms = offset_ms + answer.ttft_ms

    def left_s(self) -> float | None:
        """Return the number of seconds left for the turn; None if there is no limit."""
        if self._timeout_s is None:
            return None
        return max(0.001, self._timeout_s - (time.perf_counter() - self.began))

    def read_timeout_s(self) -> float | None:
        """Return the number of seconds to wait for each event; None if there is no limit.

        The turn's limit is halved until it is less than twice the remaining time: calls of different turns share a
        client and its connections only if they wait equally long.
        """
        left_s, wait_s = self.left_s(), self._timeout_s
        while left_s is not None and wait_s is not None and left_s <= wait_s / 2 < wait_s:
            wait_s /= 2
        return wait_s


def _session_state(state: Mapping[str, Any] | None) -> dict[str, Any]:
    names = ("sessionAttributes", "promptSessionAttributes")
    return {name: dict(state[name]) for name in names if state and state.get(name)}


def _why_not_answered(missing: Sequence[str]) -> str:
    if not missing:
        return f"The agent returned control {MOST_RETURNS} times in one turn"
    names = ", ".join(missing)
    return f"The agent returned calls without a result in the case: {names}; add returnControl to its initial state"


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum, or None where a count is missing or there is none."""
    return None if None in counts or not counts else sum(count for count in counts if count is not None)
