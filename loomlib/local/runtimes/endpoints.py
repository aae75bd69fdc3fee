"""Session endpoints: requests to the servers inside a session, at the ports that its runtime allows."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from ..contract import AgentCall, RuntimeVersion
from ..guard import Caller
from ..protocols import SESSION_HEADER
from ..quotas import QuotaKeeper
from ..sessions import SessionPool
from ..sessions.commands import connect_port
from ..sessions.use import SessionUse
from ..sessions.wire import AgentConnection, ConnectionClosedError, NotHttpError
from ..wire import AsgiScope, Receive, RefusedError, Send, read_body, while_connected
from .invoke import PAYLOAD_LIMIT_BYTES, Invoke, as_refusals, session_id_of
from .ports import PortAddress, passed_headers, passed_query

OPERATION: Final = "InvokeAgentRuntimeProxy"

_ANSWERS_WITHIN_S = 60.0


async def connect(use: SessionUse, version: RuntimeVersion, port: int) -> socket.socket:
    """Return a socket that is connected to a port of a session.

    Raises:
        OSError: Nothing listens there.
        ProcessGoneError: The process had ended.
    """
    if port == version.port:
        return await use.running.connect_socket()
    return await connect_port(use.running.process, port)


class SessionEndpoints:
    """Passes requests on to the servers inside sessions."""

    def __init__(self, invoke: Invoke, sessions: SessionPool, quotas: QuotaKeeper) -> None:
        self._invoke, self._sessions, self._quotas = invoke, sessions, quotas

    async def begin(self, to: PortAddress, caller: Caller, headers: Mapping[str, str], request_id: str) -> SessionUse:
        """Authorize the caller of a request, and start to use its session.

        Raises:
            RefusedError: The port is not allowed, or the session cannot be used.
        """
        return await self._use(await self._authorized(to, caller, headers, request_id))

    async def _authorized(
        self, to: PortAddress, caller: Caller, headers: Mapping[str, str], request_id: str
    ) -> AgentCall:
        qualifier, version = self._invoke.target_for(caller, to.arn, f"qualifier={quote(to.qualifier)}".encode())
        session_id = session_id_of({SESSION_HEADER: to.session_id.encode()}) or ""
        identity = await self._invoke.inbound.authorize(
            caller, version, qualifier=qualifier, operation=OPERATION, request_id=request_id, session_id=session_id
        )
        allowed = any(first <= to.port <= last for first, last in version.allowed_ports)
        if not version.allowed_ports or not (allowed or to.port == version.port):
            raise RefusedError("AccessDeniedException", 403, f"{version.runtime_id} does not allow port {to.port}")
        return AgentCall(
            runtime=version, qualifier=qualifier, session_id=session_id, body=b"", headers=headers, identity=identity
        )

    async def _use(self, call: AgentCall) -> SessionUse:
        with as_refusals():
            self._quotas.admit_call(call.runtime.runtime_id, call.qualifier)
            return await self._sessions.use(call)

    async def answer(
        self,
        to: PortAddress,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Pass a request on and stream the answer."""
        passed = passed_headers(headers, names_user=caller.bearer is None)
        call = await self._authorized(to, caller, passed, request_id)  # before the body, whose sender may be anyone
        body = await read_body(receive, PAYLOAD_LIMIT_BYTES, headers.get(b"content-length", b"").decode())
        use = await self._use(call)
        try:
            async with while_connected(receive):
                await _pass_on(use, to, scope, passed, body, send)
        finally:
            use.close()


async def _pass_on(
    use: SessionUse, to: PortAddress, scope: AsgiScope, headers: Mapping[str, str], body: bytes, send: Send
) -> None:
    query = passed_query(scope["query_string"])
    connection: AgentConnection | None = None
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            sock = await connect(use, use.session.runtime, to.port)
            loop = asyncio.get_running_loop()
            make = loop.create_unix_connection if sock.family == socket.AF_UNIX else loop.create_connection
            _, connection = await make(AgentConnection, sock=sock)
            assert connection is not None
            head = await connection.ask(scope["method"], to.path + (f"?{query}" if query else ""), headers, body)
    except (OSError, TimeoutError, ConnectionClosedError, NotHttpError, ValueError) as failure:
        if connection is not None:
            connection.close()
        raise RefusedError(
            "RuntimeClientError",
            424,
            f"Port {to.port} of the session does not answer: {failure or 'timed out'}",
        ) from failure
    try:
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers.items()]
        has_body = scope["method"] != "HEAD" and head.status not in (204, 304)
        await send({"type": "http.response.start", "status": head.status, "headers": fields})
        while has_body and (chunk := await connection.next_chunk()) is not None:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except (ConnectionClosedError, NotHttpError) as broke:
        raise ConnectionAbortedError("the server in the session ended its answer") from broke
    finally:
        connection.close()
