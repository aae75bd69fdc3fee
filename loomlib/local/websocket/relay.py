"""The agent's side of a WebSocket, and the relay between both sides."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from websockets.asyncio.client import ClientConnection
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import CloseCode
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from ..contract import AgentProcessError, SessionEndedError
from ..sessions.use import SessionUse
from ..sessions.wire import ConnectionClosedError
from ..wire import Receive, Send

_CLOSE_WITHIN_S = 5.0
_REASON_BYTES = 123  # RFC 6455, section 5.5: a control frame has at most 125 bytes, two of which are the code
_NOT_SENT = (CloseCode.NO_STATUS_RCVD, CloseCode.ABNORMAL_CLOSURE, CloseCode.TLS_HANDSHAKE)
_MESSAGES_AHEAD = 16
"""Maximum number of agent messages waiting for a slow client before the agent itself has to wait."""

_log = logging.getLogger("loomlib.local.websocket")
# `websockets` reports each connection at INFO, and a refused one with its traceback.
_log_of_connections = logging.getLogger("loomlib.local.websocket.connections")
_log_of_connections.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Close:
    """How a side ended a WebSocket; `code` is None when its connection broke."""

    code: int | None
    reason: str = ""


async def connect(
    use: SessionUse,
    open_socket: Callable[[], Awaitable[socket.socket]],
    target: str,
    headers: Mapping[str, str],
    subprotocols: Sequence[str],
    *,
    largest: tuple[int, int],
    within_s: float,
) -> ClientConnection:
    """Open a WebSocket to the agent of a session.

    Args:
        use: The use of the session.
        open_socket: Connects to the server that accepts it.
        target: The path with its query.
        headers: Header fields that the agent sees.
        subprotocols: What the client offers.
        largest: Largest message and frame, in bytes.
        within_s: Time for the agent to accept.

    Raises:
        ProcessGoneError: The process had ended.
        AgentProcessError: The agent refused, or did not answer.
        SessionEndedError: The session is ending.
    """
    loop = asyncio.get_running_loop()
    protocol = ClientProtocol(
        parse_uri(f"ws://127.0.0.1:8080{target}"),
        subprotocols=[Subprotocol(name) for name in subprotocols] or None,
        max_size=largest,
        logger=_log_of_connections,
    )

    def make() -> ClientConnection:
        return ClientConnection(protocol, ping_interval=None, close_timeout=_CLOSE_WITHIN_S, max_queue=_MESSAGES_AHEAD)

    connection: ClientConnection | None = None
    try:
        async with asyncio.timeout(within_s):
            sock = await open_socket()
            if sock.family == socket.AF_UNIX:
                _, connection = await loop.create_unix_connection(make, sock=sock)
            else:
                _, connection = await loop.create_connection(make, sock=sock)
            await connection.handshake(additional_headers=dict(headers), user_agent_header=None)
    except InvalidStatus as refused:
        _abort(connection)
        raise AgentProcessError(
            f"The agent refused the WebSocket with HTTP {refused.response.status_code}; it accepts one with a handler "
            "for /ws (@app.websocket)",
            use.log_tail(),
        ) from refused
    except InvalidHandshake as failure:
        _abort(connection)
        raise AgentProcessError(f"The agent's answer does not open a WebSocket: {failure}", use.log_tail()) from failure
    except (OSError, EOFError, TimeoutError) as failure:
        _abort(connection)
        cause = failure if isinstance(failure, TimeoutError) else ConnectionClosedError(str(failure))
        raise await use.explain(cause) from failure
    except BaseException:
        _abort(connection)
        raise
    return connection


async def relay(receive: Receive, send: Send, agent: ClientConnection, use: SessionUse) -> None:
    """Pass messages both ways until a side closes, and close the other side in the same way.

    Each direction waits until the other side has taken what was sent, so a slow reader slows its writer.

    Args:
        receive: The client's messages (ASGI).
        send: Sends to the client (ASGI).
        agent: The agent's side.
        use: The use of the session; its end closes both sides.
    """
    from_client = asyncio.ensure_future(_to_agent(receive, agent))
    from_agent = asyncio.ensure_future(_to_client(send, agent))
    ended = asyncio.ensure_future(use.ended.wait())
    tasks = (from_client, from_agent, ended)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if from_client.done() and (close := from_client.result()) is not None:
            await _close_agent(agent, close)
            return
        if from_agent.done() or not ended.done():
            close = await from_agent
        else:
            close = Close(None)
        client_close = await _close_for_client(close, agent, use)
        with contextlib.suppress(OSError, RuntimeError):  # the client has disconnected as well
            await send({"type": "websocket.close", "code": client_close.code, "reason": _cut(client_close.reason)})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _abort(agent)


async def _to_agent(receive: Receive, agent: ClientConnection) -> Close | None:
    """Pass the client's messages on; return how the client closed, None when the agent did."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return Close(cast("int", message.get("code", CloseCode.NO_STATUS_RCVD)), message.get("reason") or "")
        text = message.get("text")
        try:
            await agent.send(message["bytes"] if text is None else text)
        except ConnectionClosed:
            return None


async def _to_client(send: Send, agent: ClientConnection) -> Close:
    """Pass the agent's messages on; return how the agent closed."""
    try:
        while True:
            data = await agent.recv()
            await send({"type": "websocket.send", "text" if isinstance(data, str) else "bytes": data})
    except ConnectionClosed as closed:
        if closed.sent is not None and closed.sent.code == CloseCode.MESSAGE_TOO_BIG:
            return Close(CloseCode.MESSAGE_TOO_BIG, f"The agent's {closed.sent.reason}")
        if closed.rcvd is not None:
            return Close(closed.rcvd.code, closed.rcvd.reason)
        return Close(None)
    except OSError:  # uvicorn's ClientDisconnected: `receive` says how
        await asyncio.get_running_loop().create_future()
        raise


async def _close_for_client(close: Close, agent: ClientConnection, use: SessionUse) -> Close:
    """Return the reason for the client."""
    if close.code is not None:
        return Close(CloseCode.NORMAL_CLOSURE, close.reason) if close.code in _NOT_SENT else close
    explained = await use.explain(ConnectionClosedError("the agent's side broke"))
    if isinstance(explained, SessionEndedError):
        return Close(CloseCode.GOING_AWAY, str(explained))
    _log.info("A WebSocket was closed: %s", explained.reason)
    return Close(CloseCode.INTERNAL_ERROR, explained.reason)


async def _close_agent(agent: ClientConnection, close: Close) -> None:
    if close.code is None or close.code in _NOT_SENT:
        _abort(agent)
    else:
        await agent.close(close.code, _cut(close.reason))


def _abort(connection: ClientConnection | None) -> None:
    if connection is not None:
        connection.transport.abort()


def _cut(reason: str) -> str:
    return reason.encode()[:_REASON_BYTES].decode(errors="ignore")
