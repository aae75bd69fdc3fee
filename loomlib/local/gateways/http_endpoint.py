"""Forwards requests to the HTTP targets of gateways, and their responses to the callers.

A response is forwarded as it arrives, including event streams, unless the gateway has a RESPONSE interceptor, which
receives it whole. The content of a response is untrusted: browsers must not run it as a page of this service.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..access.bodies import largest_body
from ..gateway_paths import target_path
from ..otlp.caller_spans import CallerSpans
from ..protocols import SESSION_HEADER
from ..resources import ResourceRecord
from ..resources.store import ResourceStore
from ..wire import AsgiScope, Receive, RefusedError, Send, not_found, read_body, send_body, while_connected
from .callers import GatewayCaller, child_trace
from .http_interceptors import HttpInterceptors, HttpReply, HttpRequest
from .http_targets import http_target, target_url
from .interceptors import InterceptorError, interceptor_of
from .rate_limits import LimitedRequest, RateLimits
from .requests import LARGEST_ANSWER_BYTES, OpenAnswer
from .resources import shown_cause
from .routing import Route, Routing
from .targets import CALL_TIMEOUT_S, Targets, with_query
from .tools import TargetError, TargetTimeoutError

LARGEST_STREAM_BYTES: Final = 100_000_000
"""Largest streamed response of a target, in bytes; the limit of a runtime invocation."""

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "host", "expect", "content-length", "content-encoding", "accept-encoding"}
)
_NOT_PASSED_ON: Final = frozenset({*_HOP_BY_HOP, "authorization", "cookie", "origin", "referer"})
_NOT_PASSED_BACK: Final = frozenset(
    {*_HOP_BY_HOP, "clear-site-data", "content-security-policy", "date", "link", "location", "refresh", "server"}
    | {"service-worker-allowed", "set-cookie", "set-cookie2", "www-authenticate", "x-amzn-requestid"}
    | {"x-content-type-options"}
)
_NO_PAGE: Final = ((b"content-security-policy", b"sandbox"), (b"x-content-type-options", b"nosniff"))
_NO_BODY: Final = (204, 205, 304)
_log = logging.getLogger(__name__)


class HttpEndpoint:
    """Answers requests of HTTP targets.

    Args:
        store: The resources.
        targets: Sends requests to targets, with their credentials.
        interceptors: Runs the interceptors of gateways.
        limits: Counts requests.
        spans: Receives a span of each request.
    """

    def __init__(
        self,
        store: ResourceStore,
        targets: Targets,
        interceptors: HttpInterceptors,
        limits: RateLimits,
        spans: CallerSpans,
    ) -> None:
        self._store, self._client, self._credentials = store, targets.client, targets.credentials
        self._interceptors, self._limits, self._spans = interceptors, limits, spans
        self._routing = Routing(store)

    async def answer(
        self,
        gateway: ResourceRecord,
        caller: GatewayCaller,
        path: str,
        scope: AsgiScope,
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer one request, whose caller may call the gateway.

        Raises:
            RefusedError: There is no such target, it did not answer, or a rate limit is reached.
        """
        name, subpath = target_path(path)
        requested_target = self._target(gateway, name)
        if gateway.id in caller.fields.get("via", "").replace(",", " ").split():
            raise RefusedError(
                "LoopDetectedException", 508, f"The request has already passed through gateway {gateway.id}"
            )
        if scope["method"] not in _METHODS:
            raise RefusedError("UnknownOperationException", 405, f"Gateways do not forward {scope['method']} requests")
        limit = largest_body("bedrock-agentcore", path)
        body = await read_body(receive, limit, caller.fields.get("content-length"))
        route = self._routing.route(gateway, requested_target, caller)
        target = requested_target if route.target == requested_target.name else self._target(gateway, route.target)
        began_ns, span_id, is_error = time.time_ns(), secrets.token_hex(8), True
        extra_attributes: dict[str, str | int] = {}
        request = HttpRequest(
            method=scope["method"], path=path, headers=caller.fields, body=body, request_id=request_id
        )
        try:
            self._check_limits(gateway, target, caller, body, extra_attributes)
            url = target_url(target, subpath, scope["query_string"].decode("latin-1"))
            async with while_connected(receive):
                intercepted = await self._interceptors.request(gateway, request)
                if isinstance(intercepted, HttpReply):
                    status = intercepted.status
                    await _send_whole(intercepted, send, request_id)
                else:
                    status = await self._pass_on(
                        gateway, requested_target, target, route, intercepted, url, caller, span_id, send
                    )
            extra_attributes["http.response.status_code"] = status
            is_error = status >= 500
        except InterceptorError as error:
            _log.warning("Gateway %s: an interceptor failed: %s", gateway.id, error)
            raise RefusedError("InternalServerException", 500, shown_cause(gateway, error)) from error
        except TargetError as error:
            _log.warning("Gateway %s: target %s failed: %s", gateway.id, target.name, error)
            is_timeout = isinstance(error, TargetTimeoutError)
            code, error_status = ("GatewayTimeoutException", 504) if is_timeout else ("BadGatewayException", 502)
            raise RefusedError(code, error_status, shown_cause(gateway, error)) from error
        finally:
            gateway_attributes = {
                "gateway.id": gateway.id,
                "gateway.name": gateway.name,
                "target.name": requested_target.name,
            }
            self._spans.write(
                "InvokeGateway",
                caller.trace(),
                gateway.place,
                gateway.arn,
                began_ns=began_ns,
                attributes={
                    **gateway_attributes,
                    "http.request.method": request.method,
                    **route.attributes(),
                    **extra_attributes,
                },
                is_error=is_error,
                span_id=span_id,
            )

    def _target(self, gateway: ResourceRecord, name: str) -> ResourceRecord:
        target = http_target(self._store, gateway, name)
        if target is None:
            raise not_found(f"Target not found in {gateway.id}: {name}")
        if target.status != "READY":
            raise RefusedError("ConflictException", 409, f"Target {name} is {target.status}")
        return target

    def _check_limits(
        self,
        gateway: ResourceRecord,
        target: ResourceRecord,
        caller: GatewayCaller,
        body: bytes,
        further: dict[str, str | int],
    ) -> None:
        limited = LimitedRequest(
            target=target.name,
            tool="",
            principal=caller.principal,
            claims=caller.claims,
            headers=caller.fields,
            body=_object(body),
        )
        if (throttled := self._limits.throttled(gateway, limited)) is not None:
            further |= throttled.attributes()
            raise RefusedError("ThrottlingException", 429, throttled.message, **throttled.data())

    async def _pass_on(
        self,
        gateway: ResourceRecord,
        requested_target: ResourceRecord,
        target: ResourceRecord,
        route: Route,
        request: HttpRequest,
        url: str,
        caller: GatewayCaller,
        span_id: str,
        send: Send,
    ) -> int:
        """Send a request to its target and the response to the caller; return the response status."""
        auth_headers, query = await self._credentials.of(
            gateway, target, bearer=caller.bearer, method=request.method, url=url, body=request.body
        )
        headers = _passed_on(request.headers, route, child_trace(caller.trace(), span_id))
        headers["via"] = ", ".join(text for text in (headers.get("via"), f"1.1 {gateway.id}") if text)
        is_intercepted = interceptor_of(gateway, "RESPONSE") is not None
        async with self._client.open(
            request.method,
            with_query(url, query),
            headers={**headers, **auth_headers, "accept-encoding": "identity"},
            body=request.body or None,
            timeout_s=CALL_TIMEOUT_S,
            most_bytes=LARGEST_ANSWER_BYTES if is_intercepted else LARGEST_STREAM_BYTES,
        ) as answer:
            if 300 <= answer.status < 400 and answer.status != 304:
                raise TargetError(f"Target {target.name} returned a redirect, and gateways do not follow redirects")
            answer_headers = [(name, text) for name, text in answer.headers if _is_passed_back(name)]
            fields = dict(answer_headers)
            self._routing.began(requested_target, route, fields.get(SESSION_HEADER.decode(), ""))
            if not is_intercepted:
                await _stream(answer, answer_headers, request, send)
                return answer.status
            content = b"".join([part async for part in answer.parts])
        reply = await self._interceptors.response(
            gateway, request, HttpReply(status=answer.status, headers=fields, body=content)
        )
        await _send_whole(reply, send, request.request_id)
        return reply.status


async def _stream(answer: OpenAnswer, headers: Sequence[tuple[str, str]], request: HttpRequest, send: Send) -> None:
    """Send a response as it arrives; an aborted response ends without its last part, which the caller can detect."""
    first = await anext(answer.parts, b"")  # what fails before it still gets a status of the gateway's
    await send(
        {"type": "http.response.start", "status": answer.status, "headers": _encoded(headers, request.request_id)}
    )
    if answer.status in _NO_BODY or request.method == "HEAD":
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for part in answer.parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _send_whole(reply: HttpReply, send: Send, request_id: str) -> None:
    headers = [(name, text) for name, text in reply.headers.items() if _is_passed_back(name)]
    await send_body(send, b"" if reply.status in _NO_BODY else reply.body, reply.status, _encoded(headers, request_id))


def _encoded(headers: Sequence[tuple[str, str]], request_id: str) -> list[tuple[bytes, bytes]]:
    fields = [(name.encode("latin-1"), text.encode("utf-8", "surrogateescape")) for name, text in headers]
    return [*fields, *_NO_PAGE, (b"x-amzn-requestid", request_id.encode())]


def _passed_on(caller_headers: Mapping[str, str], route: Route, trace: Mapping[str, str]) -> dict[str, str]:
    """Return the header fields for a target: the caller's without its credentials, and the gateway's span."""
    left_out = {*_NOT_PASSED_ON, *(["x-amzn-trace-id"] if trace else [])}
    # SigV4's fields begin so; AgentCore's own begin with x-amzn-.
    headers = {
        name: text for name, text in caller_headers.items() if name not in left_out and not name.startswith("x-amz-")
    }
    baggage = route.baggage(headers.pop("baggage", ""))
    return {**headers, **({"baggage": baggage} if baggage else {}), **trace}


def _is_passed_back(name: str) -> bool:
    return name not in _NOT_PASSED_BACK and not name.startswith(("access-control-", "cross-origin-"))


def _object(body: bytes) -> Mapping[str, Any]:
    """Return a body as a JSON object; empty if the body is not one."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}
