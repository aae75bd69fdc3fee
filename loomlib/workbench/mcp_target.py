"""An MCP server as the target of an evaluation, and as a latency study measures it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, new_session_id
from ..agents.protocols import Callbacks
from ..agents.protocols.mcp_session import McpOutcome, McpSession
from ..errors import InvalidArgumentsError, InvocationFailedError, LoomError
from ..evals.evaluators.connecting import connected
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from ..evals.values.tool_use import ToolUse
from ..json_values import as_mapping, as_text, parse_object
from .context import Context

if TYPE_CHECKING:
    from ..agents.entry import ServerEntry


class McpTarget:
    """Calls of an MCP server's tools, one MCP session for each case; made by `McpClient.eval_target`.

    Args:
        make_session: Makes sessions.
        entry: The agent or server.
        context: The workbench's resources.
        tool: The tool that every case calls; None when each case names its own.
        end_session: Ends a runtime session; None where there is none.
    """

    concurrency = 4

    def __init__(
        self,
        make_session: Callable[[str | None, Callbacks], McpSession],
        entry: AgentEntry | ServerEntry,
        context: Context,
        *,
        tool: str | None,
        end_session: Callable[[str], object] | None,
    ) -> None:
        from ..aws.engine import shared_engine

        self._engine, self._make, self._tool, self._end_session = shared_engine(), make_session, tool, end_session
        self._context, self._sessions = context, dict[str, McpSession]()
        self.name = f"{entry.name} {tool}" if tool else entry.name
        self.labels: tuple[str, ...] = context.labels
        self.store, self.scope, self.arn, self.qualifier = context.store, context.where, str(entry.arn), "DEFAULT"
        self.key = ""  # a server outside AgentCore states no version, so its answers are not used again

    def new_session(self) -> str:
        """Return a new session id."""
        return new_session_id()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Call the turn's tool in the session; the tool counts as the one that was used."""
        tool, arguments = self._call_of(turn.prompt or "", as_mapping(turn.payload))
        outcome = await self._send(tool, arguments, session_id, timeout_s)
        record = outcome.record
        if record.failure is not None:
            raise InvocationFailedError(record.error_message or record.failure, failure=record.failure)
        use = ToolUse(
            name=tool,
            arguments=arguments,
            result=outcome.result.get("structuredContent", record.response),
            status="success",
            duration_ms=record.client_duration_ms,
        )
        return TurnAnswer(
            text=record.response,
            tools=(use,),
            duration_ms=record.client_duration_ms,
            ttft_ms=record.ttft_ms,
            session_id=session_id,
            invocation_id=record.id,
            trace_id=record.trace_id or "",
        )

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers; their tool calls are known already."""
        return answers

    async def end(self, session_id: str) -> None:
        """End the session."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await asyncio.wrap_future(self._engine.submit(session.close()))
            if self._end_session is not None:
                with suppress(LoomError):
                    await asyncio.to_thread(self._end_session, session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return connected(evaluator, self._context.clients, self._context.store)

    def _call_of(self, prompt: str, payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        fields = payload or parse_object(prompt)
        if self._tool is not None and "tool" not in fields:
            return self._tool, fields
        tool = as_text(fields.get("tool"))
        if not tool:
            raise InvalidArgumentsError(
                "The case names no tool",
                on=json.dumps(dict(fields))[:200] if fields else repr(prompt[:200]),
                try_='the payload {"tool": "add", "arguments": {"a": 1, "b": 2}}, or mcp.eval_target("add")',
                field="tool",
            )
        return tool, as_mapping(fields.get("arguments"))

    async def _send(
        self, tool: str, arguments: Mapping[str, Any], session_id: str, timeout_s: float | None
    ) -> McpOutcome:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._make(session_id, Callbacks())
            await asyncio.wrap_future(self._engine.submit(session.open(timeout_s=timeout_s)))
            self._sessions[session_id] = session
        params = {"name": tool, "arguments": dict(arguments)}
        prompt = json.dumps({"tool": tool, "arguments": dict(arguments)}, ensure_ascii=False)
        work = session.call("tools/call", params, prompt=prompt, timeout_s=timeout_s)
        return await asyncio.wrap_future(self._engine.submit(work))
