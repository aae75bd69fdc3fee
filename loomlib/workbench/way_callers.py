"""Callers of one agent over HTTP, WebSocket, MCP, A2A and AG-UI, with the times and bytes at the socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ..agents import AgentEntry, Chunk
from ..agents.agui import read_event as read_agui
from ..agents.agui import run_input
from ..agents.outcome import failure_of
from ..agents.protocols.a2a_session import A2aSession
from ..agents.protocols.a2a_values import fold_task, message_params
from ..agents.protocols.a2a_values import read_event as read_a2a
from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks, result_text
from ..agents.protocols.measuring import CallOutcome
from ..agents.protocols.socket_session import SocketMessage, SocketSession
from ..agents.protocols.transcript import RECEIVED, read_transcript
from ..agents.protocols.ways import (
    A2A_STREAM,
    AGUI_SSE,
    AGUI_WEBSOCKET,
    HTTP_JSON,
    MCP_STATEFUL,
    SERVERS,
    WayAnswer,
    WayCaller,
    http_payload,
    server_of,
    way_answer,
)
from ..aws.bearer import Bearer, token_of
from ..aws.engine import shared_engine
from ..errors import AwsError, LoomError
from ..json_values import as_mapping
from ..presentation.formats import time_limit
from .agent_sessions import agent_a2a, agent_mcp, check_protocol
from .context import Context

T = TypeVar("T")


def way_caller(
    context: Context,
    entry: AgentEntry,
    qualifier: str,
    way: str,
    session_id: str,
    *,
    bearer: Bearer | None = None,
    tool: str = "ask",
) -> WayCaller:
    """Return an unopened caller of an agent.

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint.
        way: One of `loomlib.agents.protocols.ways`.
        session_id: The runtime session.
        bearer: The bearer token to send, or a function that returns it.
        tool: The MCP tool, which takes the argument `prompt`.

    Raises:
        ProtocolError: The agent speaks another protocol.
        ValueError: The way is unknown.
    """
    server = server_of(way)
    check_protocol(entry, SERVERS[server][0])
    if server in ("HTTP", "AG-UI") and "WebSocket" not in way:
        return _HttpCaller(context, entry, qualifier, way, session_id, bearer)
    if "WebSocket" in way:
        return _SocketCaller(context, entry, qualifier, way, session_id, bearer)
    if server == "A2A":
        return _A2aCaller(agent_a2a(context, entry, qualifier, bearer, session_id), way)
    return _McpCaller(agent_mcp(context, entry, qualifier, bearer, session_id, Callbacks()), way, tool)


class _HttpCaller:
    """One POST for each prompt: JSON, server-sent events, or AG-UI's events."""

    def __init__(
        self,
        context: Context,
        entry: AgentEntry,
        qualifier: str,
        way: str,
        session_id: str,
        bearer: Bearer | None,
    ) -> None:
        self._context, self._entry, self._qualifier, self._way = context, entry, qualifier, way
        self._session_id, self._bearer = session_id, bearer

    async def open(self) -> None:
        """Do nothing: the connection is opened by the first request and reused."""

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        stream = self._context.invoker.astream(
            self._entry,
            payload=run_input(prompt) if self._way == AGUI_SSE else http_payload(self._way, prompt),
            session_id=self._session_id,
            qualifier=self._qualifier,
            timeout_s=timeout_s,
            bearer=token_of(self._bearer),
            labels=(*self._context.labels, *labels),
        )
        events: list[tuple[float, bool]] = []
        async with stream:
            async for event in stream:
                if isinstance(event, Chunk):
                    events.append((event.offset_ms, bool(event.text)))
        record = stream.record
        assert record is not None  # the stream has ended
        is_stream = (record.content_type or "").startswith("text/event-stream")
        wrong = record.ok and is_stream == (self._way == HTTP_JSON)
        failure = ("agent_error", f"{self._way}: the agent answered with {record.content_type}") if wrong else None
        return way_answer(record, events, failure=failure)

    async def close(self) -> None:
        """Do nothing: connections are shared."""


class _SessionCaller:
    """A caller whose session runs on the engine's loop."""

    def __init__(self) -> None:
        self._engine = shared_engine()

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._engine.submit(work))


class _McpCaller(_SessionCaller):
    """An MCP tool call for each prompt; a stateful server requires a handshake first."""

    def __init__(self, session: McpSession, way: str, tool: str) -> None:
        super().__init__()
        self._session, self._way, self._tool = session, way, tool

    async def open(self) -> None:
        await self._run(self._session.open() if self._way == MCP_STATEFUL else self._session.connect())

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        payload = {"tool": self._tool, "arguments": {"prompt": prompt}}
        outcome = await self._run(self._session.ask(prompt, payload, timeout_s=timeout_s, labels=labels))
        return _of_outcome(outcome, lambda message: bool(result_text(as_mapping(message.get("result")))))

    async def close(self) -> None:
        await self._run(self._session.close())


class _A2aCaller(_SessionCaller):
    """A message for each prompt."""

    def __init__(self, session: A2aSession, way: str) -> None:
        super().__init__()
        self._session, self._method = session, "message/stream" if way == A2A_STREAM else "message/send"

    async def open(self) -> None:
        await self._run(self._session.open())

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        call = self._session.call(
            self._method, message_params(prompt), prompt=prompt, timeout_s=timeout_s, labels=labels
        )
        return _of_outcome(await self._run(call), _has_a2a_text)

    async def close(self) -> None:
        await self._run(self._session.close())


class _SocketCaller(_SessionCaller):
    """A message of an open WebSocket for each prompt, answered by messages until the last one of the answer."""

    def __init__(
        self,
        context: Context,
        entry: AgentEntry,
        qualifier: str,
        way: str,
        session_id: str,
        bearer: Bearer | None,
    ) -> None:
        super().__init__()
        self._context, self._way, self._bearer = context, way, bearer
        self._entry, self._qualifier, self._session_id = entry, qualifier, session_id
        self._session: SocketSession | None = None
        self._messages: asyncio.Queue[SocketMessage | None] = asyncio.Queue()

    async def open(self) -> None:
        self._messages = asyncio.Queue()
        session = SocketSession(
            self._engine,
            self._context.clients,
            entry=self._entry,
            writer=self._context.invoker.writer,
            session_id=self._session_id,
            qualifier=self._qualifier,
            labels=self._context.labels,
            bearer=token_of(self._bearer),
            on_message=self._messages.put_nowait,
        )
        await self._run(session.open())
        self._session = session

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        del labels  # the connection is one invocation, which is stored when it is closed
        return await self._run(self._ask(prompt, timeout_s or self._context.settings.read_timeout_s))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(LoomError):
                await self._run(session.close())

    async def _ask(self, prompt: str, timeout_s: float) -> WayAnswer:
        session = self._session
        if session is None:
            return WayAnswer(failure="transport", error="The WebSocket is not open")
        payload = run_input(prompt) if self._way == AGUI_WEBSOCKET else http_payload(self._way, prompt)
        read = _read_agui if self._way == AGUI_WEBSOCKET else _read_piece
        before, texts, times = session.wire(), list[str](), list[tuple[float, bool]]()
        try:
            async with asyncio.timeout(timeout_s):
                await session.send(json.dumps(payload, ensure_ascii=False))
                while True:
                    message = await self._messages.get()
                    if message is None:
                        reason = session.outcome.record.error_message if session.outcome else None
                        return WayAnswer(failure="transport", error=reason or "The agent closed the WebSocket")
                    text, is_last, error = read(message)
                    if error is not None:
                        return WayAnswer(failure="agent_error", error=error)
                    texts.append(text)
                    times.append((message.after_ms or 0.0, bool(text)))
                    if is_last:
                        break
        except TimeoutError:
            return WayAnswer(failure="timeout", error=f"The answer was not complete within {time_limit(timeout_s)}")
        except AwsError as problem:
            return WayAnswer(failure=failure_of(problem), error=str(problem))
        except LoomError as problem:
            return WayAnswer(failure="transport", error=str(problem))
        after = session.wire()
        return WayAnswer(
            text="".join(texts),
            duration_ms=times[-1][0],
            first_byte_ms=times[0][0],
            first_event_ms=times[0][0],
            first_text_ms=next((at_ms for at_ms, has_text in times if has_text), None),
            events=len(times),
            wire=after - before if before is not None and after is not None else None,
            connection_reused=True,
        )


def _of_outcome(outcome: CallOutcome, has_text: Callable[[Any], bool]) -> WayAnswer:
    received = [entry for entry in read_transcript(outcome.events) if entry.direction == RECEIVED]
    return way_answer(outcome.record, [(entry.at_ms, has_text(entry.message)) for entry in received])


def _has_a2a_text(message: Any) -> bool:
    result = as_mapping(message.get("result"))
    event = read_a2a(result)
    return bool(event.text if event.kind in ("artifact-update", "message") else fold_task([result]).artifacts)


def _read_piece(message: SocketMessage) -> tuple[str, bool, str | None]:
    """Return the text of a message, whether the answer ends with it, and the agent's error."""
    try:
        value: Any = message.json()
    except (ValueError, RecursionError):
        return message.text, False, None
    if isinstance(value, str):
        return value, False, None
    fields = as_mapping(value)
    error = fields.get("error")
    return "", bool(fields.get("done")), None if error is None else str(error)


def _read_agui(message: SocketMessage) -> tuple[str, bool, str | None]:
    """Return the text of an AG-UI event, whether the run ends with it, and the run's error."""
    event = read_agui(message.data)
    if event is None:
        return "", False, None
    if event.type == "RUN_ERROR":
        return "", True, event.text("message") or "The run failed"
    is_text = event.type in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK")
    return event.text("delta") if is_text else "", event.type == "RUN_FINISHED", None
