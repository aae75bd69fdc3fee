"""InvokeAgentRuntimeCommand: a shell command inside a session, its output as an event stream."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from ..contract import AgentCall, AgentProcessError
from ..guard import Caller
from ..models.reply import encode_event, encode_exception
from ..protocols import SESSION_HEADER, TRACE_HEADERS, agent_headers
from ..quotas import QuotaKeeper
from ..sessions import SessionPool
from ..sessions.commands import Exit, Output, run_command
from ..sessions.use import SessionUse
from ..sessions.wire import ConnectionClosedError
from ..wire import AsgiScope, Receive, RefusedError, Send, invalid, read_body, while_connected
from .invoke import Invoke, as_refusals, session_id_of

# botocore's model of InvokeAgentRuntimeCommand.
_COMMAND_CHARACTERS = 65_536
_TIMEOUT_S, _LONGEST_S = 300, 3_600
_BODY_BYTES = 4 * _COMMAND_CHARACTERS + 1_000

_log = logging.getLogger(__name__)


class Commands:
    """Runs commands in sessions, which it starts if needed, as an invocation does."""

    def __init__(self, invoke: Invoke, sessions: SessionPool, quotas: QuotaKeeper) -> None:
        self._invoke, self._sessions, self._quotas = invoke, sessions, quotas

    async def run(
        self,
        arn: str,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer `POST /runtimes/{arn}/commands`; a client that disconnects ends its command."""
        qualifier, version = self._invoke.target_for(caller, arn, scope["query_string"])
        session_id = session_id_of(headers) or str(uuid.uuid4())
        identity = await self._invoke.inbound.authorize(
            caller,
            version,
            qualifier=qualifier,
            operation="InvokeAgentRuntimeCommand",
            request_id=request_id,
            session_id=session_id,
        )
        length = headers.get(b"content-length", b"").decode()
        command, timeout_s = _checked(await read_body(receive, _BODY_BYTES, length))
        forwarded_headers = agent_headers(
            headers, version.header_allowlist, session_id=session_id, request_id=request_id
        )
        call = AgentCall(
            runtime=version,
            qualifier=qualifier,
            session_id=session_id,
            body=b"",
            headers=forwarded_headers,
            identity=identity,
        )
        async with while_connected(receive):
            with as_refusals():
                self._quotas.admit_call(version.runtime_id, qualifier)
                use = await self._sessions.use(call)
            try:
                response_headers = [
                    (b"content-type", b"application/vnd.amazon.eventstream"),
                    (SESSION_HEADER, session_id.encode()),
                    (b"x-amzn-requestid", request_id.encode()),
                ]
                response_headers += [
                    (name.encode(), forwarded_headers[name].encode("latin-1"))
                    for name in TRACE_HEADERS
                    if name in forwarded_headers
                ]
                await send({"type": "http.response.start", "status": 200, "headers": response_headers})
                async for frame in _frames(use, command, timeout_s):
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            finally:
                use.close()


async def _frames(use: SessionUse, command: str, timeout_s: float) -> AsyncGenerator[bytes]:
    parts = run_command(use.running.process, command, timeout_s=timeout_s)
    ended: Exit | None = None
    try:
        yield encode_event("chunk", {"contentStart": {}})
        async for part in parts:
            if isinstance(part, Output):
                yield encode_event("chunk", {"contentDelta": {part.stream: part.text}})
            else:
                ended = part
    except OSError as failure:
        _log.info("A command could not be run: %s", failure)
    finally:
        await parts.aclose()
    if ended is not None and (ended.code >= 0 or ended.timed_out or not use.ended.is_set()):
        status = "TIMED_OUT" if ended.timed_out else "COMPLETED"
        yield encode_event("chunk", {"contentStop": {"exitCode": ended.code, "status": status}})
        return
    explained = await use.explain(ConnectionClosedError("the session has ended"))
    reason = explained.reason if isinstance(explained, AgentProcessError) else str(explained)
    yield encode_exception("runtimeClientError", reason)


def _checked(body: bytes) -> tuple[str, float]:
    """Return the command and its time-out in seconds."""
    try:
        document: Any = json.loads(body)
    except ValueError as error:
        raise RefusedError("SerializationException", 400, "The request is not JSON") from error
    if not isinstance(document, dict):
        raise RefusedError("SerializationException", 400, "The request is not a JSON object")
    parameters = cast("Mapping[str, Any]", document)
    command, timeout_s = parameters.get("command"), parameters.get("timeout", _TIMEOUT_S)
    if not isinstance(command, str) or not 1 <= len(command) <= _COMMAND_CHARACTERS:
        raise invalid(f"body.command must be a string of 1 to {_COMMAND_CHARACTERS:,} characters")
    if "\0" in command:
        raise invalid("body.command must not contain a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in command):
        raise invalid("body.command must not contain half of a surrogate pair")
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int) or not 1 <= timeout_s <= _LONGEST_S:
        raise invalid(f"body.timeout must be an integer from 1 to {_LONGEST_S:,}, in seconds")
    return command, timeout_s
