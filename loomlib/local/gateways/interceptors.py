"""Interceptors of gateways: Lambda functions that see a request before its target, or an answer before its caller.

The events and the answers are those of AgentCore's developer guide, "Types of interceptors". An interceptor that fails,
or answers in another form, ends the request: nothing passes a gateway whose interceptor has not allowed it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from ..functions import FunctionPool, find_version
from ..resources import ResourceRecord
from ..wire import RefusedError, invalid

_VERSION: Final = "1.0"
_LARGEST_BYTES: Final = 6_000_000
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.1
_OWN_HEADERS: Final = ("connection", "content-length", "content-type", "transfer-encoding", "x-amzn-requestid")


class InterceptorError(Exception):
    """An interceptor failed; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayReply:
    """What a gateway answers.

    Attributes:
        status: HTTP status.
        headers: Header fields beside the usual ones.
        body: The JSON-RPC message; None for an answer without one.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterceptedRequest:
    """A request to a gateway.

    Attributes:
        raw: The body as it was sent.
        headers: Its header fields.
        body: The JSON-RPC message.
    """

    raw: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class Interceptors:
    """Runs the interceptors of gateways.

    Args:
        functions: Runs Lambda functions.
    """

    def __init__(self, functions: FunctionPool) -> None:
        self._functions = functions

    async def request(self, gateway: ResourceRecord, request: InterceptedRequest) -> InterceptedRequest | GatewayReply:
        """Return the request as the REQUEST interceptor wants it, or the answer that it gives in the target's place.

        Raises:
            InterceptorError: The interceptor failed.
        """
        output = await self._run(gateway, "REQUEST", request, None)
        if output is None:
            return request
        if "transformedGatewayResponse" in output:
            return _reply(output["transformedGatewayResponse"], GatewayReply(body=None))
        changed = _object(output.get("transformedGatewayRequest", {}), "transformedGatewayRequest")
        return replace(request, body=_object(changed["body"], "body")) if "body" in changed else request

    async def response(self, gateway: ResourceRecord, request: InterceptedRequest, reply: GatewayReply) -> GatewayReply:
        """Return the answer as the RESPONSE interceptor wants it.

        Raises:
            InterceptorError: The interceptor failed.
        """
        output = await self._run(gateway, "RESPONSE", request, reply)
        if output is None or "transformedGatewayResponse" not in output:
            return reply
        return _reply(output["transformedGatewayResponse"], reply)

    async def _run(
        self, gateway: ResourceRecord, point: str, request: InterceptedRequest, reply: GatewayReply | None
    ) -> Mapping[str, Any] | None:
        """Return the member `mcp` of what the interceptor of a point answers; None if the gateway has none."""
        configured: list[Mapping[str, Any]] = gateway.document.get("interceptorConfigurations") or []
        found = next((item for item in configured if point in item["interceptionPoints"]), None)
        if found is None:
            return None
        arn = str(found["interceptor"]["lambda"]["arn"])
        options: Mapping[str, Any] = found.get("inputConfiguration") or {}
        event = json.dumps(_event(request, reply, passes_headers=options.get("passRequestHeaders") is True))
        if len(event) > _LARGEST_BYTES:
            raise InterceptorError(f"The event of {arn} is larger than {_LARGEST_BYTES:,} bytes")
        try:
            function = await asyncio.to_thread(find_version, arn, None, gateway.place)
            result = await self._functions.call(function, event)
        except RefusedError as refused:
            raise InterceptorError(f"{arn} cannot be run: {refused.message}") from refused
        if result.failed:
            raise InterceptorError(f"{arn} failed: {result.payload[:500]}")
        try:
            document = _object(json.loads(result.payload), "the result")
        except (ValueError, RecursionError) as error:
            raise InterceptorError(f"{arn} answered no JSON") from error
        if document.get("interceptorOutputVersion") != _VERSION:
            raise InterceptorError(f'{arn} answered without "interceptorOutputVersion": "{_VERSION}"')
        return _object(document.get("mcp"), "mcp")


def check_interceptors(configured: list[Mapping[str, Any]] | None) -> None:
    """Refuse a gateway with two interceptors for one point.

    Raises:
        RefusedError: There are two.
    """
    points = [point for item in configured or () for point in item["interceptionPoints"]]
    for point in ("REQUEST", "RESPONSE"):
        if points.count(point) > 1:
            raise invalid(f"A gateway has at most one {point} interceptor")


def _event(request: InterceptedRequest, reply: GatewayReply | None, *, passes_headers: bool) -> dict[str, Any]:
    gateway_request: dict[str, Any] = {"path": "/mcp", "httpMethod": "POST", "body": request.body}
    if passes_headers:
        gateway_request["headers"] = dict(request.headers)
    mcp: dict[str, Any] = {"rawGatewayRequest": {"body": request.raw}, "gatewayRequest": gateway_request}
    if reply is not None:
        headers = {"Content-Type": "application/json", **reply.headers}
        mcp["gatewayResponse"] = {"statusCode": reply.status, "headers": headers, "body": reply.body}
    return {"interceptorInputVersion": _VERSION, "mcp": mcp}


def _reply(value: Any, former: GatewayReply) -> GatewayReply:
    """Return an answer with what an interceptor changes of it."""
    given = _object(value, "transformedGatewayResponse")
    status: Any = given.get("statusCode", former.status)
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        raise InterceptorError("The interceptor's statusCode is no number between 200 and 599")
    headers = dict(former.headers)
    for name, text in _object(given.get("headers") or {}, "headers").items():
        if not _HEADER_NAME.fullmatch(name) or not isinstance(text, str) or any(sign in text for sign in "\r\n\0"):
            raise InterceptorError("A header of the interceptor is not one line of text")
        if name.lower() not in _OWN_HEADERS:
            headers[name] = text
    body = _object(given["body"], "body") if given.get("body") is not None else former.body
    return GatewayReply(status=status, headers=headers, body=body)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InterceptorError(f"The interceptor answered {name} that is not an object")
    return cast("dict[str, Any]", value)
