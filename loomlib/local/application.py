"""The one ASGI application: every request passes the guard and goes to the room that answers it."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol
from urllib.parse import unquote

from .admin import AdminRoutes
from .contract import AgentBroke, SessionEnded
from .guard import Guard
from .invoke import Invoke
from .log_operations import REQUEST_LIMIT_BYTES, LogOperations
from .models import ModelRefused
from .models.tokens import count_request
from .moto_fallback import MotoFallback
from .operations import Operations
from .otlp import PREFIX as OTLP_PATHS
from .otlp import OtlpIntake
from .wire import Receive, Refused, Scope, Send, not_implemented, read_body, replayed, send_json, send_refusal

_log = logging.getLogger(__name__)
_MODEL_REQUEST_LIMIT_BYTES = 25_000_000
_EVENT_STREAM = (b"content-type", b"application/vnd.amazon.eventstream")


class Models(Protocol):
    """What answers Converse and ConverseStream."""

    async def converse(self, model_id: str, request: dict[str, Any]) -> dict[str, Any]: ...

    def converse_stream(self, model_id: str, request: dict[str, Any]) -> AsyncIterator[bytes]: ...


class Application:
    """Routes by the credential scope's service and the raw path (an ARN in a path is percent-encoded)."""

    def __init__(
        self,
        *,
        guard: Guard,
        invoke: Invoke,
        models: Models,
        operations: tuple[Operations, ...],
        behind: MotoFallback,
        logs: LogOperations,
        house: AdminRoutes,
        otlp: OtlpIntake,
    ) -> None:
        self._guard, self._invoke, self._models = guard, invoke, models
        self._operations, self._behind, self._logs, self._house = operations, behind, logs, house
        self._otlp = otlp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        request_id = str(uuid.uuid4())
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            headers: dict[bytes, bytes] = dict(scope["headers"])
            caller = self._guard.admit(headers, scope["path"], scope["query_string"])
            await self._route(caller.service, scope, headers, receive, sending, request_id)
        except Refused as refused:
            if not begun:
                await send_refusal(send, refused, request_id)
        except ConnectionAbortedError:
            return  # the client went away while sending; nobody is left to answer
        except (AgentBroke, SessionEnded) as broke:
            # Headers are out: all that can be said now is an end without the last chunk. uvicorn closes the connection
            # when an application returns in mid-body.
            _log.warning("An answer was cut off: %s", broke)
        except Exception:  # noqa: BLE001 - the last wall: whatever went wrong, the client gets AWS's form and the log the trace
            _log.exception("%s failed", scope["method"])
            if not begun:
                refused = Refused("InternalServerException", 500, "The local AgentCore failed; see its service.log")
                await send_refusal(send, refused, request_id)

    async def _route(
        self, service: str, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send, request_id: str
    ) -> None:
        path = scope["raw_path"].decode("latin-1")
        if service == "bedrock-agentcore":
            parts = path.split("/")
            if len(parts) == 4 and parts[1] == "runtimes" and scope["method"] == "POST":
                if parts[3] == "invocations":
                    await self._invoke.invoke(unquote(parts[2]), scope, headers, receive, send, request_id)
                    return
                if parts[3] == "stopruntimesession":
                    await self._invoke.stop_session(unquote(parts[2]), scope, headers, receive, send, request_id)
                    return
            for operations in self._operations:
                outcome = await operations.answer(scope, receive, send, request_id)
                if outcome == "answered":
                    return
                if outcome == "behind":
                    break
            else:
                raise not_implemented(f"{scope['method']} {path}")
        elif service == "bedrock" and path.startswith("/model/"):
            await self._converse(path, headers, receive, send, request_id)
            return
        elif service == "logs" and self._logs.answers(target := headers.get(b"x-amz-target", b"")):
            body = await read_body(receive, REQUEST_LIMIT_BYTES, headers.get(b"content-length", b"").decode())
            found = await self._logs.answer(target, body)
            if found is not None:
                await send_json(send, found, headers=_named(request_id))
                return
            receive = replayed(body)
        elif service == "loom":
            if path.startswith(OTLP_PATHS):
                await self._otlp.answer(path, scope["method"], headers, receive, send)
            else:
                await self._house.answer(path, scope["method"], receive, send)
            return
        scope["loom.service"] = service
        await self._behind(scope, receive, send)

    async def _converse(
        self, path: str, headers: Mapping[bytes, bytes], receive: Receive, send: Send, request_id: str
    ) -> None:
        named = _named(request_id)
        model_id, _, operation = path.removeprefix("/model/").rpartition("/")
        body = await read_body(receive, _MODEL_REQUEST_LIMIT_BYTES, headers.get(b"content-length", b"").decode())
        try:
            request = json.loads(body or b"{}")
        except ValueError as error:
            raise Refused("ValidationException", 400, f"The request is no JSON: {error}") from error
        try:
            if operation == "converse":
                await send_json(send, await self._models.converse(unquote(model_id), request), headers=named)
            elif operation == "converse-stream":
                frames = self._models.converse_stream(unquote(model_id), request)
                first = await anext(aiter(frames))  # a refusal shows here, while a status can still say so
                await send({"type": "http.response.start", "status": 200, "headers": [_EVENT_STREAM, *named]})
                await send({"type": "http.response.body", "body": first, "more_body": True})
                async for frame in frames:
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            elif operation == "count-tokens":
                await send_json(send, count_request(request), headers=named)
            else:
                raise not_implemented(f"{operation} of models")
        except ModelRefused as refused:
            raise Refused(refused.code, refused.status, refused.message) from refused


def _named(request_id: str) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"x-amzn-requestid", request_id.encode()),)
