"""Opening requests of WebSockets: their authorization, their session, and the headers that the agent receives."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import parse_qsl, unquote, urlencode

from ...recovery import is_full_disk
from ..access.permissions import require
from ..browsers import BrowserStreams, StreamPath
from ..contract import AgentCall
from ..guard import TOKEN_SUBPROTOCOL, Caller, Guard
from ..identity.inbound import USER_HEADER
from ..protocols import SESSION_HEADER, agent_headers
from ..quotas import QuotaKeeper
from ..resources import Place
from ..runtimes.endpoints import OPERATION as PROXY_OPERATION
from ..runtimes.endpoints import SessionEndpoints
from ..runtimes.endpoints import connect as connect_to
from ..runtimes.invoke import Invoke, as_refusals, session_id_of
from ..runtimes.ports import PortAddress, passed_headers, passed_query, read_port_address
from ..sessions import SessionPool
from ..sessions.running import ProcessGoneError
from ..sessions.use import SessionUse
from ..tenancy import acting_for
from ..wire import AsgiMessage, AsgiScope, Receive, RefusedError, Send, invalid, not_implemented, send_refusal
from .protocol import largest
from .relay import ClientConnection, connect, relay
from .shells import OPERATION as SHELL_OPERATION
from .shells import Shells, serve_shell, shell_id_of

_OPERATION = "InvokeAgentRuntimeWithWebSocketStream"
_OPERATIONS = {"ws": _OPERATION, "ws/shells": SHELL_OPERATION}
# AWS's own samples write the ARN into the address as it is, or quote everything but its slash.
_UNQUOTED_ARN = re.compile(r"(/runtimes/arn(?::|%3A)[^/]+(?::|%3A)runtime)/", re.IGNORECASE)
_OPENS_WITHIN_S = 60.0
_OF_THE_HANDSHAKE = frozenset({"connection", "upgrade"})
_CUSTOM_PREFIX = "x-amzn-bedrock-agentcore-runtime-custom-"
_IN_QUERY = (SESSION_HEADER.decode(), "x-amzn-bedrock-agentcore-runtime-user-id")
_OF_THE_PLATFORM = ("qualifier", "accountid", *_IN_QUERY)

_log = logging.getLogger(__name__)


class WebSockets:
    """Answers opening requests and relays the messages.

    Args:
        guard: Admits or refuses callers.
        account_id: The account of callers whose key does not specify one.
        check_place: Refuses runtimes of another region or account than the caller's.
        invoke: Finds the version that an ARN and a qualifier refer to.
        endpoints: Admits callers to servers inside sessions.
        sessions: The sessions.
        browsers: Answers the automation of browsers.
        quotas: Counts an opening as an invocation.
        frame_bytes: Largest frame; None means no limit except that of a message.
        most_open: Largest number of open WebSockets.
        explain: Logs an error with the failed operation, and returns the message for the caller.
    """

    def __init__(
        self,
        *,
        guard: Guard,
        account_id: str,
        check_place: Callable[..., None],
        invoke: Invoke,
        endpoints: SessionEndpoints,
        sessions: SessionPool,
        browsers: BrowserStreams,
        quotas: QuotaKeeper,
        frame_bytes: int | None,
        most_open: int,
        explain: Callable[[BaseException, str], str],
    ) -> None:
        self._guard, self._account_id, self._check_place = guard, account_id, check_place
        self._invoke, self._endpoints = invoke, endpoints
        self._sessions, self._quotas, self._explain, self._browsers = sessions, quotas, explain, browsers
        self._largest, self._most_open, self._open = largest(frame_bytes), most_open, 0
        self._shells = Shells()

    async def answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket to its end; a refusal is an AWS error with its HTTP status."""
        request_id = str(uuid.uuid4())

        async def send_http(message: AsgiMessage) -> None:
            await send({**message, "type": f"websocket.{message['type']}"})

        try:
            caller = self._guard.admit(scope)
            if caller.signature is not None or caller.service != "bedrock-agentcore":
                caller.verify_handshake(scope)
            raw_path = scope["raw_path"].decode("latin-1")
            if unquoted := _UNQUOTED_ARN.match(raw_path):
                raw_path = f"{unquoted[1]}%2F{raw_path[unquoted.end() :]}"
            parts, to, stream = raw_path.split("/"), read_port_address(raw_path), StreamPath.of(raw_path)
            operation = _OPERATIONS.get("/".join(parts[3:])) if parts[1] == "runtimes" else None
            if caller.service != "bedrock-agentcore" or not (operation or to or stream):
                raise not_implemented(f"a WebSocket at {scope['path']}")
            arn, place = unquote(parts[2]), Place(caller.region, caller.account_id or self._account_id)
            tenant = self._invoke.inbound.tenant_for(caller.principal) if caller.key is not None else ""
            if stream is not None:
                with acting_for(tenant):
                    require(caller.principal, stream.action, [self._browsers.arn(stream, place)], caller.service)
            elif caller.key is not None:  # else the runtime's authorizer decides
                with acting_for(tenant):
                    self._check_place(arn, **place._asdict())
                if not self._invoke.inbound.has_policy(arn):  # else it is decided with the policy
                    action = f"bedrock-agentcore:{operation or PROXY_OPERATION}"
                    require(caller.principal, action, [arn], caller.service)
            if self._open >= self._most_open:
                raise RefusedError("ThrottlingException", 429, f"{self._open:,} WebSockets are open already")
            self._open += 1
            try:
                if stream is not None:
                    with acting_for(tenant):
                        await self._browsers.automate(stream, place, receive, send)
                elif to is not None:
                    await self._serve_port(to, caller, scope, receive, send, request_id)
                elif operation == SHELL_OPERATION:
                    await self._serve_shell(arn, caller, scope, receive, send, request_id)
                else:
                    await self._serve(arn, caller, scope, receive, send, request_id)
            finally:
                self._open -= 1
        except RefusedError as refused:
            await send_refusal(send_http, refused, request_id)
        except Exception as error:  # noqa: BLE001 - the client gets AWS's error form, the log the traceback
            if isinstance(error, OSError) and not is_full_disk(error):
                _log.debug("A client left before its WebSocket was open", exc_info=True)
                return
            message = await asyncio.to_thread(self._explain, error, "A WebSocket")
            await send_refusal(send_http, RefusedError("InternalServerException", 500, message), request_id)

    async def _serve(
        self, arn: str, caller: Caller, scope: AsgiScope, receive: Receive, send: Send, request_id: str
    ) -> None:
        call, agent_query = await self._authorized(_OPERATION, arn, caller, scope, request_id)
        if call.runtime.protocol not in ("HTTP", "AGUI"):
            raise invalid(
                f"{call.runtime.runtime_id} speaks {call.runtime.protocol}; only HTTP and AGUI agents have WebSockets"
            )
        target = "/ws" + (f"?{urlencode(agent_query)}" if agent_query else "")
        with as_refusals():
            self._quotas.admit_call(call.runtime.runtime_id, call.qualifier)
            use, agent = await self._connect(call, target, _offered(scope))
        try:
            await receive()  # websocket.connect
            await send(_acceptance(call, _chosen(scope, agent.subprotocol), request_id))
            await relay(receive, send, agent, use)
        finally:
            agent.transport.abort()
            use.close()

    async def _authorized(
        self, operation: str, arn: str, caller: Caller, scope: AsgiScope, request_id: str
    ) -> tuple[AgentCall, list[tuple[str, str]]]:
        """Return the call that an opening request describes, and the rest of its query."""
        qualifier, version = self._invoke.target_for(caller, arn, scope["query_string"])
        query_headers, agent_query = _from_query(scope["query_string"])
        headers: dict[bytes, bytes] = {**query_headers, **dict(scope["headers"])}
        session_id = session_id_of(headers) or str(uuid.uuid4())
        identity = await self._invoke.inbound.authorize(
            caller,
            version,
            qualifier=qualifier,
            operation=operation,
            request_id=request_id,
            session_id=session_id,
            user_id=headers.get(USER_HEADER.encode(), b"").decode("latin-1"),
        )
        forwarded_headers = agent_headers(
            headers, version.header_allowlist, session_id=session_id, request_id=request_id
        )
        self._invoke.tokens.pass_on(forwarded_headers, headers, version, identity, caller.bearer)
        if identity.kind == "jwt":
            forwarded_headers.pop(USER_HEADER, None)  # the token says who the user is
            if "authorization" in version.header_allowlist:
                forwarded_headers["authorization"] = f"Bearer {caller.bearer}"
        call = AgentCall(
            runtime=version,
            qualifier=qualifier,
            session_id=session_id,
            body=b"",
            headers=forwarded_headers,
            identity=identity,
        )
        return call, agent_query

    async def _serve_shell(
        self, arn: str, caller: Caller, scope: AsgiScope, receive: Receive, send: Send, request_id: str
    ) -> None:
        call, _ = await self._authorized(SHELL_OPERATION, arn, caller, scope, request_id)
        shell_id = shell_id_of(scope["query_string"])
        with as_refusals():
            self._quotas.admit_call(call.runtime.runtime_id, call.qualifier)
            use = await self._sessions.use(call)
        try:
            try:
                shell, is_reconnection = await self._shells.open(use, shell_id)
            except OSError as failure:
                message = f"The session's process does not start a shell: {failure}"
                raise RefusedError("RuntimeClientError", 424, message, error=message) from failure
            await receive()  # websocket.connect
            accept = _acceptance(call, _chosen(scope, None), request_id)
            await serve_shell(shell, use, receive, send, accept=accept, shell_id=shell_id, known=is_reconnection)
        finally:
            use.close()

    async def _serve_port(
        self, to: PortAddress, caller: Caller, scope: AsgiScope, receive: Receive, send: Send, request_id: str
    ) -> None:
        """Relay a WebSocket to a server at a port that the runtime allows."""
        headers = {
            name: value
            for name, value in passed_headers(dict(scope["headers"]), names_user=caller.bearer is None).items()
            if name not in _OF_THE_HANDSHAKE and not name.startswith("sec-websocket-")
        }
        use = await self._endpoints.begin(to, caller, headers, request_id)
        try:
            query = passed_query(scope["query_string"])
            target = to.path + (f"?{query}" if query else "")
            open_socket = partial(connect_to, use, use.session.runtime, to.port)
            with as_refusals():
                agent = await self._open_agent(use, open_socket, target, headers, _offered(scope))
            try:
                await receive()  # websocket.connect
                chosen = _chosen(scope, agent.subprotocol)
                await send({"type": "websocket.accept", "subprotocol": chosen, "headers": []})
                await relay(receive, send, agent, use)
            finally:
                agent.transport.abort()
        finally:
            use.close()

    async def _open_agent(
        self,
        use: SessionUse,
        open_socket: Callable[[], Awaitable[socket.socket]],
        target: str,
        headers: Mapping[str, str],
        subprotocols: list[str],
    ) -> ClientConnection:
        return await connect(
            use, open_socket, target, headers, subprotocols, largest=self._largest, within_s=_OPENS_WITHIN_S
        )

    async def _connect(
        self, call: AgentCall, target: str, subprotocols: list[str]
    ) -> tuple[SessionUse, ClientConnection]:
        """Open the agent's side, in a new process when the session's has just ended."""
        for is_last in (False, True):
            use = await self._sessions.use(call)
            try:
                agent = await self._open_agent(use, use.running.connect_socket, target, call.headers, subprotocols)
            except ProcessGoneError as failure:
                use.close()
                if is_last:
                    raise await use.explain(failure) from failure
            except BaseException:
                use.close()
                raise
            else:
                return use, agent
        raise AssertionError("the second attempt returns or raises")


def _offered(scope: AsgiScope) -> list[str]:
    """Return the subprotocols to offer to the agent, without the one that contains the caller's token."""
    return [name for name in scope["subprotocols"] if not name.startswith(TOKEN_SUBPROTOCOL)]


def _chosen(scope: AsgiScope, chosen: str | None) -> str | None:
    """Return the agent's subprotocol, else the token's if offered: a browser requires one of those that it offered."""
    return chosen or (TOKEN_SUBPROTOCOL if TOKEN_SUBPROTOCOL in scope["subprotocols"] else None)


def _acceptance(call: AgentCall, subprotocol: str | None, request_id: str) -> AsgiMessage:
    """Return the message that accepts a WebSocket to a session."""
    back = [(SESSION_HEADER, call.session_id.encode()), (b"x-amzn-requestid", request_id.encode())]
    return {"type": "websocket.accept", "subprotocol": subprotocol, "headers": back}


def _from_query(query: bytes) -> tuple[Mapping[bytes, bytes], list[tuple[str, str]]]:
    """Return the header fields in a query, where presigned addresses carry them, and the rest for the agent."""
    fields: dict[bytes, bytes] = {}
    agent_query: list[tuple[str, str]] = []
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        lower = name.lower()
        if lower in _IN_QUERY or lower.startswith(_CUSTOM_PREFIX):
            fields[lower.encode("latin-1", "replace")] = value.encode("latin-1", "replace")
        elif lower not in _OF_THE_PLATFORM and not lower.startswith("x-amz-"):
            agent_query.append((name, value))
    return fields, agent_query
