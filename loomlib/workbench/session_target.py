"""MCP and A2A sessions as the target of an evaluation or a latency study."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from ..agents import AgentEntry, InvocationRecord, new_session_id
from ..agents.entry import ServerEntry
from ..agents.protocols.measuring import CallOutcome
from ..aws.engine import shared_engine
from ..errors import InvocationFailedError, LoomError
from ..evals.evaluators.connecting import connected
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from ..evals.values.tool_use import ToolUse
from ..json_values import as_mapping, as_text, parse_object
from ..store import Store
from ..telemetry import AgentStart
from ..telemetry.session_starts import SessionStartRecord
from .capturing import stored_row
from .context import Context
from .liveness import accepts_connections
from .tracing import find_start, first_session_starts


class AskedSession(Protocol):
    """A session that answers prompts and payloads; `McpSession` and `A2aSession`."""

    async def open(self, *, timeout_s: float | None = None) -> CallOutcome | None:
        """Connect; return the outcome of the handshake if the protocol has one."""
        ...

    async def ask(
        self, prompt: str, payload: Mapping[str, Any] | None, *, timeout_s: float | None, labels: Sequence[str] = ()
    ) -> CallOutcome:
        """Send a request and return its outcome.

        Args:
            prompt: The prompt; stored with the invocation even when `payload` is sent instead.
            payload: The protocol's parameters, sent instead of the prompt.
            timeout_s: Timeout of the request in seconds; None for the client's.
            labels: Labels stored with the invocation.
        """
        ...

    async def close(self) -> None:
        """End the session."""
        ...


class SessionTarget:
    """An agent or server that is called in sessions of its protocol, one per case.

    Args:
        make_session: Creates a session that is not open yet, for a session id.
        entry: The agent or server.
        context: The workbench's resources.
        qualifier: The endpoint.
        tool: The MCP tool that every request calls; its arguments are the payload, or the prompt as JSON.
        end_session: Ends a runtime session; None where there is none.
    """

    concurrency = 4

    def __init__(
        self,
        make_session: Callable[[str], AskedSession],
        entry: AgentEntry | ServerEntry,
        context: Context,
        *,
        qualifier: str = "DEFAULT",
        tool: str | None = None,
        end_session: Callable[[str], object] | None = None,
    ) -> None:
        self._engine, self._make, self._tool, self._end_session = shared_engine(), make_session, tool, end_session
        self._context, self._entry, self._sessions = context, entry, dict[str, AskedSession]()
        self.name = f"{entry.name} {tool}" if tool else entry.name
        self.labels: tuple[str, ...] = context.labels
        self.scope, self.arn, self.qualifier = context.where, str(entry.arn), qualifier
        is_runtime = isinstance(entry, AgentEntry)
        self.platform_version = str(entry.raw_metadata.get("platformVersion") or "") if is_runtime else ""
        # A server outside AgentCore does not report a version, so its stored answers are not reused.
        version = str(entry.raw_metadata.get("agentRuntimeVersion", "")) if isinstance(entry, AgentEntry) else ""
        is_versioned = version and qualifier == "DEFAULT"
        self.key = (
            " ".join((self.arn, f"version {version}", qualifier, tool or "", *self.labels)) if is_versioned else ""
        )

    @property
    def store(self) -> Store:
        """The store for runs, studies and invocations."""
        return self._context.store

    def new_session(self) -> str:
        """Return a new session id."""
        return new_session_id()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Send the turn in the session; an MCP tool counts as the tool that was used."""
        payload = self._payload(turn.prompt, turn.payload)
        if state:
            payload = {**(payload or {}), "metadata": {"state": dict(state)}}
        _, outcome = await self._send(turn.prompt, payload, session_id, timeout_s, ("evaluation",))
        record = outcome.record
        if record.failure is not None:
            raise InvocationFailedError(record.error_message or record.failure, failure=record.failure)
        return TurnAnswer(
            text=record.response,
            tools=_tools(payload or parse_object(turn.prompt), outcome),
            tools_state="" if payload else "missing",
            duration_ms=record.client_duration_ms,
            ttft_ms=record.ttft_ms,
            session_id=session_id,
            invocation_id=record.id,
            trace_id=record.trace_id or "",
        )

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers unchanged."""
        return answers

    async def end(self, session_id: str) -> None:
        """End the session; if that fails, it ends at its idle timeout."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await asyncio.wrap_future(self._engine.submit(session.close()))
        if self._end_session is not None:
            with suppress(LoomError):
                await asyncio.to_thread(self._end_session, session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return connected(evaluator, self._context.clients, self._context.store)

    async def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> InvocationRecord:
        """Make one timed call; the first of a session includes the handshake, if the protocol has one.

        Args:
            prompt: The prompt; for MCP the arguments, or tool and arguments, as JSON.
            session_id: The runtime session.
            labels: Labels of the call, in addition to the workbench's.
            timeout_s: Timeout of each request in seconds.
        """
        payload = self._payload(prompt, None)
        opened, outcome = await self._send(prompt, payload, session_id, timeout_s, labels)
        return outcome.record if opened is None else _with_handshake(outcome.record, opened.record)

    def end_session(self, session_id: str) -> bool:
        """End a session; may block."""
        self._engine.submit(self.end(session_id)).result()
        return True

    def agent_start(self, invocation_id: int) -> AgentStart:
        """Find the agent's start for a stored call; wait as long as the settings allow."""
        row = stored_row(self._context, invocation_id)
        return find_start(self._context, self._context.catalog.get(row.agent_arn), invocation_id)

    def session_starts(self, session_ids: Sequence[str]) -> Mapping[str, SessionStartRecord]:
        """Return the first start of each session; none for a server outside AgentCore."""
        if not isinstance(self._entry, AgentEntry):
            return {}
        return first_session_starts(self._context, self._entry, session_ids, qualifier=self.qualifier)

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections; nothing is known about a server outside AgentCore."""
        return not self._entry.region or await accepts_connections(self._context.clients, self._entry.region)

    def _payload(self, prompt: str, payload: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if self._tool is None:
            return payload
        fields = payload or parse_object(prompt)
        return fields if "tool" in fields else {"tool": self._tool, "arguments": fields}

    async def _send(
        self,
        prompt: str,
        payload: Mapping[str, Any] | None,
        session_id: str,
        timeout_s: float | None,
        labels: Sequence[str],
    ) -> tuple[CallOutcome | None, CallOutcome]:
        opened: CallOutcome | None = None
        session = self._sessions.get(session_id)
        if session is None:
            session = self._make(session_id)
            opened = await asyncio.wrap_future(self._engine.submit(session.open(timeout_s=timeout_s)))
            self._sessions[session_id] = session
        work = session.ask(prompt, payload, timeout_s=timeout_s, labels=labels)
        return opened, await asyncio.wrap_future(self._engine.submit(work))


def _tools(fields: Mapping[str, Any], outcome: CallOutcome) -> tuple[ToolUse, ...] | None:
    """Return the MCP tool of a request; None for other protocols, whose tools only a trace shows."""
    tool = as_text(fields.get("tool"))
    if not tool:
        return None
    return (
        ToolUse(
            name=tool,
            arguments=as_mapping(fields.get("arguments")),
            result=outcome.result.get("structuredContent", outcome.record.response),
            status="success",
            duration_ms=outcome.record.client_duration_ms,
        ),
    )


def _with_handshake(record: InvocationRecord, handshake: InvocationRecord) -> InvocationRecord:
    """Return the record with the handshake's start, so that its duration covers both."""
    sent_s, done_s = handshake.client_invoke_time, record.client_done_time
    if sent_s is None or done_s is None:
        return record
    return replace(
        record,
        client_invoke_time=sent_s,
        client_duration_ms=(done_s - sent_s) * 1000,
        ttft_ms=handshake.ttft_ms,
        connect_ms=handshake.connect_ms,
        connection_reused=handshake.connection_reused,
    )
