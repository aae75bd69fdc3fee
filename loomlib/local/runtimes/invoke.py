"""InvokeAgentRuntime, GetAgentCard and StopRuntimeSession: from the HTTP request to the session and back."""

from __future__ import annotations

import json
import re
import uuid
from collections import OrderedDict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs

from ...recovery import is_full_disk
from ..access.errors import refusal
from ..contract import AgentAnswer, AgentCall, AgentProcessError, RuntimeVersion, SessionEndedError, SessionLimitError
from ..guard import Caller
from ..identity.inbound import USER_HEADER, InboundAuthorizer
from ..identity.outbound import WorkloadTokens
from ..protocols import (
    MCP_SESSION,
    SESSION_HEADER,
    TRACE_HEADERS,
    AgentStatusError,
    McpSessionIds,
    agent_headers,
    check_accept,
    json_rpc_method,
    keeps_aws_form,
    protocol_error,
)
from ..quotas import QuotaKeeper
from ..resources import ResourceRecord
from ..resources.store import ResourceStore
from ..sessions import SessionPool
from ..wire import (
    AsgiScope,
    Receive,
    RefusedError,
    Send,
    invalid,
    not_found,
    read_body,
    send_body,
    send_json,
    while_connected,
)
from .application_logs import ApplicationLogs
from .deployments import Deployments
from .ports import ENDPOINT_HEADER, endpoint_url
from .resource import AGENT_RUNTIME, DEFAULT_ENDPOINT, endpoint_of

PAYLOAD_LIMIT_BYTES = 100_000_000  # botocore's model of InvokeAgentRuntime: payload max
CARD_PATH = "/.well-known/agent-card.json"
_SESSION_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{32,255}")
_PASSED_OUT = ("content-type", MCP_SESSION, "mcp-protocol-version", "a2a-version", "a2a-extensions")
_ERROR_TEXT_LIMIT = 2_000
_LOG_LINES_SHOWN = 20
_STOPS_REMEMBERED = 10_000


class Invoke:
    """The operations on sessions of deployed runtimes."""

    def __init__(
        self,
        resources: ResourceStore,
        deployments: Deployments,
        sessions: SessionPool,
        quotas: QuotaKeeper,
        inbound: InboundAuthorizer,
        tokens: WorkloadTokens,
        url: str,
        application_logs: ApplicationLogs,
    ) -> None:
        self._application_logs = application_logs
        self._resources, self._deployments, self._sessions, self._quotas = resources, deployments, sessions, quotas
        self._mcp_sessions = McpSessionIds()
        self._stops: OrderedDict[tuple[str, str, str, str], None] = OrderedDict()
        self.inbound, self.tokens, self._url = inbound, tokens, url

    async def invoke(
        self,
        arn: str,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer `POST /runtimes/{arn}/invocations`, streaming the agent's response."""
        qualifier, version = self.target_for(caller, arn, scope["query_string"])
        body = b""
        try:
            requested_session_id = session_id_of(headers)
            session_id = self._routed(version, qualifier, requested_session_id, headers)
            identity = await self.inbound.authorize(
                caller,
                version,
                qualifier=qualifier,
                operation="InvokeAgentRuntime",
                request_id=request_id,
                session_id=session_id,
            )
            if version.protocol == "MCP":
                check_accept(headers)
            body = await read_body(receive, PAYLOAD_LIMIT_BYTES, headers.get(b"content-length", b"").decode())
            self.target(arn, scope["query_string"])  # again: it may have been deleted while the body arrived
            forwarded_headers = agent_headers(
                headers, version.header_allowlist, session_id=session_id, request_id=request_id
            )
            if identity.kind == "jwt":
                forwarded_headers.pop(USER_HEADER, None)  # the token says who the user is
            self.tokens.pass_on(forwarded_headers, headers, version, identity, caller.bearer)
            if (
                version.protocol == "MCP"
                and MCP_SESSION not in forwarded_headers
                and json_rpc_method(body) != "initialize"
            ):
                forwarded_headers[MCP_SESSION] = session_id
            call = AgentCall(
                runtime=version,
                qualifier=qualifier,
                session_id=session_id,
                body=body,
                headers=forwarded_headers,
                identity=identity,
            )
            async with while_connected(receive):
                await self._pass_on(call, send, request_id)
        except RefusedError as refused:
            if keeps_aws_form(version.protocol, refused):
                raise
            status, error_headers, content = protocol_error(version.protocol, refused, body, request_id)
            await send_body(send, content, status, error_headers)

    async def agent_card(
        self,
        arn: str,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer GetAgentCard with the card of the agent's server."""
        qualifier, version = self.target_for(caller, arn, scope["query_string"])
        session_id = session_id_of(headers) or str(uuid.uuid4())
        identity = await self.inbound.authorize(
            caller,
            version,
            qualifier=qualifier,
            operation="GetAgentCard",
            request_id=request_id,
            session_id=session_id,
        )
        if version.protocol != "A2A":
            raise invalid(f"{version.runtime_id} speaks {version.protocol}; only A2A agents have an agent card")
        forwarded_headers = agent_headers(
            headers, version.header_allowlist, session_id=session_id, request_id=request_id
        )
        self.tokens.pass_on(forwarded_headers, headers, version, identity, caller.bearer)
        call = AgentCall(
            runtime=version,
            qualifier=qualifier,
            session_id=session_id,
            body=b"",
            headers=forwarded_headers,
            method="GET",
            path=CARD_PATH,
            identity=identity,
        )
        async with while_connected(receive):
            await self._pass_on(call, send, request_id)

    def _routed(
        self, version: RuntimeVersion, qualifier: str, requested_session_id: str | None, headers: Mapping[bytes, bytes]
    ) -> str:
        """Return the session id of a request: its runtime session id, or the one that belongs to its MCP session id."""
        mcp_id = headers.get(MCP_SESSION.encode(), b"").decode("latin-1") if version.protocol == "MCP" else ""
        if mcp_id:
            return self._mcp_sessions.session_of(version.runtime_id, qualifier, mcp_id, requested_session_id)
        return requested_session_id or str(uuid.uuid4())

    async def _pass_on(self, call: AgentCall, send: Send, request_id: str) -> None:
        forwarded_headers, session_id = call.headers, call.session_id
        with as_refusals():
            self._quotas.admit_call(call.runtime.runtime_id, call.qualifier)
            answer = await self._sessions.invoke(call)
        if not 200 <= answer.status < 300:
            raise await _agent_answered(answer)
        if call.runtime.protocol == "MCP" and call.method == "POST":
            mcp_id = answer.headers.get(MCP_SESSION) or forwarded_headers.get(MCP_SESSION) or session_id
            self._mcp_sessions.remember(call.runtime.runtime_id, call.qualifier, mcp_id, session_id)
            answer = replace(answer, headers={**answer.headers, MCP_SESSION: mcp_id})
        response_headers = [(SESSION_HEADER, session_id.encode()), (b"x-amzn-requestid", request_id.encode())]
        response_headers += [
            (name.encode(), forwarded_headers[name].encode("latin-1"))
            for name in TRACE_HEADERS
            if name in forwarded_headers
        ]
        if call.runtime.allowed_ports:
            response_headers.append((ENDPOINT_HEADER, endpoint_url(self._url, call).encode()))
        for name in _PASSED_OUT:
            if value := answer.headers.get(name):
                response_headers.append((name.encode(), value.encode("latin-1")))
        await send({"type": "http.response.start", "status": answer.status, "headers": response_headers})
        response_log = self._application_logs.begin(call, request_id)
        try:
            async for chunk in answer.chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if response_log is not None:
                    response_log.add(chunk)
        finally:
            if response_log is not None:
                response_log.end()
        await send({"type": "http.response.body", "body": b""})

    async def stop_session(
        self,
        arn: str,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer `POST /runtimes/{arn}/stopruntimesession`."""
        qualifier, version = self.target_for(caller, arn, scope["query_string"])
        session_id = session_id_of(headers)
        await self.inbound.authorize(
            caller,
            version,
            qualifier=qualifier,
            operation="StopRuntimeSession",
            request_id=request_id,
            session_id=session_id or "",
        )
        body = await read_body(receive, 10_000, headers.get(b"content-length", b"").decode())
        if session_id is None:
            raise invalid("runtimeSessionId is missing")
        stop = (version.runtime_id, qualifier, session_id, _client_token(body))
        if stop not in self._stops:  # else a repetition, such as boto3's after a lost answer
            if not await self._sessions.stop(version.runtime_id, qualifier, session_id):
                raise not_found(f"No active session {session_id} of {version.runtime_id} on endpoint {qualifier}")
            if stop[-1]:
                self._stops[stop] = None
            if len(self._stops) > _STOPS_REMEMBERED:
                self._stops.popitem(last=False)
        back = ((SESSION_HEADER, session_id.encode()), (b"x-amzn-requestid", request_id.encode()))
        await send_json(send, {}, 200, back)

    async def resource_metadata(self, arn: str, caller: Caller, scope: AsgiScope, send: Send) -> None:
        """Answer `GET /runtimes/{arn}/invocations/.well-known/oauth-protected-resource`.

        Anyone may read it for a runtime that has an authorizer.
        """
        qualifier, version = self.target_for(caller, arn, scope["query_string"])
        document = self.inbound.metadata(version, caller.header("host"), qualifier)
        if document is None:
            raise refusal("missing", "bedrock-agentcore", "Missing Authentication Token")
        await send_json(send, document)

    def _runtime(self, arn: str, query: bytes) -> tuple[ResourceRecord, str]:
        parameters = parse_qs(query.decode("latin-1")) if query else {}
        qualifier = parameters.get("qualifier", [DEFAULT_ENDPOINT])[0]
        # An id instead of the ARN is allowed together with accountId.
        runtime = self._resources.of_arn(arn) or self._resources.of_id(AGENT_RUNTIME.noun, arn)
        if runtime is None or runtime.kind != AGENT_RUNTIME.noun:
            raise not_found(f"No runtime {arn}")
        account_id = parameters.get("accountId", [""])[0]
        if account_id and f":{account_id}:" not in runtime.arn:
            raise not_found(f"No runtime {arn} in account {account_id}")
        return runtime, qualifier

    def target_for(self, caller: Caller, arn: str, query: bytes) -> tuple[str, RuntimeVersion]:
        """Return the name of the endpoint and the version that a call addresses.

        Args:
            caller: The caller; without credentials it does not learn which runtimes exist.
            arn: The runtime's ARN, or its id.
            query: The query string, with `qualifier` and, for an id, `accountId`.

        Raises:
            RefusedError: There is no such runtime or endpoint, or it cannot be called yet.
        """
        try:
            return self.target(arn, query)
        except RefusedError:
            if caller.key is None and caller.bearer is None:
                raise refusal("missing", "bedrock-agentcore", "Missing Authentication Token") from None
            raise

    def target(self, arn: str, query: bytes) -> tuple[str, RuntimeVersion]:
        """Return the qualifier and the version that a request addresses.

        Raises:
            RefusedError: The endpoint does not exist or is not ready.
        """
        runtime, qualifier = self._runtime(arn, query)
        endpoint = endpoint_of(self._resources, runtime, qualifier)
        if endpoint is None:
            raise not_found(f"{runtime.id} has no endpoint {qualifier}")
        live = endpoint.document.get("liveVersion")
        version = self._resources.version(runtime, int(live)) if live else None
        if version is None:
            if endpoint.status == "CREATING":
                raise RefusedError(
                    "RetryableConflictException", 409, f"{runtime.id} is CREATING; wait until it is READY"
                )
            raise invalid(f"Endpoint {qualifier} of {runtime.id} is {endpoint.status}: {endpoint.failure}")
        return qualifier, self._deployments.runnable(version)


@contextmanager
def as_refusals() -> Generator[None]:
    """Raise the failures of sessions as AWS's errors."""
    try:
        yield
    except SessionLimitError as limit:
        throttled = limit.kind == "throttle"
        code, status = ("ThrottlingException", 429) if throttled else ("ServiceQuotaExceededException", 402)
        raise RefusedError(code, status, limit.message) from limit
    except SessionEndedError as ended:
        raise RefusedError("RetryableConflictException", 409, str(ended) or "The session is ending") from ended
    except AgentProcessError as broke:
        if (cause := broke.__cause__) is not None and is_full_disk(cause):
            raise cause from cause.__cause__  # the agent is not at fault
        raise RefusedError("RuntimeClientError", 424, _with_log(broke.reason, broke.log_tail)) from broke


def session_id_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the runtime session id of a request, checked; None without one."""
    value = headers.get(SESSION_HEADER)
    if value is None:
        return None
    text = value.decode("latin-1")
    if not 33 <= len(text) <= 256:
        raise invalid(f"runtimeSessionId must have 33 to 256 characters, not {len(text)}")
    if not _SESSION_ID.fullmatch(text):
        raise invalid("runtimeSessionId must consist of letters, digits, hyphens and underscores")
    return text


async def _agent_answered(answer: AgentAnswer) -> RefusedError:
    """Return the 424 error for an agent that responded with an error status."""
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in answer.chunks:
            if size < _ERROR_TEXT_LIMIT:
                parts.append(chunk)
                size += len(chunk)
        tail: tuple[str, ...] = ()
    except AgentProcessError as broke:
        tail = broke.log_tail
    text = b"".join(parts)[:_ERROR_TEXT_LIMIT].decode("utf-8", "replace").strip()
    reason = _with_log(f"The agent answered {answer.status}: {text or '(empty body)'}", tail)
    return AgentStatusError(reason, answer.status)


def _with_log(reason: str, log_tail: tuple[str, ...]) -> str:
    log = "\n".join(log_tail[-_LOG_LINES_SHOWN:])
    return f"{reason}\nLast log lines:\n{log}" if log else reason


def _client_token(body: bytes) -> str:
    """Return the client token in the body of a request to stop a session, "" without one."""
    try:
        document: Any = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RefusedError("SerializationException", 400, "The request is not JSON") from error
    return str(cast("dict[str, Any]", document).get("clientToken") or "") if isinstance(document, dict) else ""
