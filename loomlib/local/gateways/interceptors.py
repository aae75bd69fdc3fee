"""Interceptors of gateways: Lambda functions that receive a request before its target, or a response before its caller.

The events and the results are those of AgentCore's developer guide, "Types of interceptors". An interceptor that fails,
or returns a result of another form, ends the request: a gateway forwards only what its interceptors have allowed.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Mapping
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
    """Response of a gateway.

    Attributes:
        status: HTTP status.
        headers: Header fields beside the usual ones.
        body: The JSON-RPC message; None for a response without one.
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
        """Return the request as the REQUEST interceptor changes it, or the response that it returns instead.

        Raises:
            InterceptorError: The interceptor failed.
        """
        output = await self._run(gateway, "REQUEST", request, None)
        if output is None:
            return request
        if "transformedGatewayResponse" in output:
            return _reply(output["transformedGatewayResponse"], GatewayReply(body=None))
        changed = as_object(output.get("transformedGatewayRequest", {}), "transformedGatewayRequest")
        return replace(request, body=as_object(changed["body"], "body")) if "body" in changed else request

    async def response(self, gateway: ResourceRecord, request: InterceptedRequest, reply: GatewayReply) -> GatewayReply:
        """Return the response as the RESPONSE interceptor changes it.

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
        interceptor = interceptor_of(gateway, point)
        if interceptor is None:
            return None
        event = _event(request, reply, passes_headers=interceptor.passes_headers)
        return await interceptor.run(self._functions, gateway, "mcp", event)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredInterceptor:
    """The interceptor at one interception point of a gateway.

    Attributes:
        arn: The ARN of its function.
        passes_headers: Whether it receives the request's header fields.
        leaves_out: The fields of HTTP targets' messages that it does not receive.
    """

    arn: str
    passes_headers: bool
    leaves_out: frozenset[str]

    async def run(
        self,
        functions: FunctionPool,
        gateway: ResourceRecord,
        form: str,
        content: Mapping[str, Any],
        context: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        """Call the function and return its result.

        Args:
            functions: Runs Lambda functions.
            gateway: The gateway.
            form: The member of the event and the result: `mcp` or `http`.
            content: The value of that member in the event.
            context: Custom values of the client context.

        Raises:
            InterceptorError: The function failed, or its result has another form.
        """
        event = json.dumps({"interceptorInputVersion": _VERSION, form: content})
        if len(event) > _LARGEST_BYTES:
            raise InterceptorError(f"The event of {self.arn} is larger than {_LARGEST_BYTES:,} bytes")
        try:
            function = await asyncio.to_thread(find_version, self.arn, None, gateway.place)
            client_context = {"custom": dict(context)} if context else None
            result = await functions.call(function, event, client_context=client_context)
        except RefusedError as refused:
            raise InterceptorError(f"{self.arn} cannot be run: {refused.message}") from refused
        if result.failed:
            raise InterceptorError(f"{self.arn} failed: {result.payload[:500]}")
        try:
            document = as_object(json.loads(result.payload), "the result")
        except (ValueError, RecursionError) as error:
            raise InterceptorError(f"{self.arn} did not return JSON") from error
        if document.get("interceptorOutputVersion") != _VERSION:
            raise InterceptorError(f'{self.arn} returned a result without "interceptorOutputVersion": "{_VERSION}"')
        return as_object(document.get(form), form)


def interceptor_of(gateway: ResourceRecord, point: str) -> ConfiguredInterceptor | None:
    """Return a gateway's interceptor at a point, `REQUEST` or `RESPONSE`; None without one."""
    for item in gateway.document.get("interceptorConfigurations") or ():
        if point in item["interceptionPoints"]:
            options: Mapping[str, Any] = item.get("inputConfiguration") or {}
            payload: Mapping[str, Any] = options.get("payloadFilter") or {}
            return ConfiguredInterceptor(
                arn=str(item["interceptor"]["lambda"]["arn"]),
                passes_headers=options.get("passRequestHeaders") is True,
                leaves_out=frozenset(str(entry["field"]) for entry in payload.get("exclude") or ()),
            )
    return None


def check_interceptors(configured: list[Mapping[str, Any]] | None) -> None:
    """Refuse a gateway with two interceptors for one point.

    Raises:
        RefusedError: There are two.
    """
    points = [point for item in configured or () for point in item["interceptionPoints"]]
    for point in ("REQUEST", "RESPONSE"):
        if points.count(point) > 1:
            raise invalid(f"A gateway can have at most one {point} interceptor")


def _event(request: InterceptedRequest, reply: GatewayReply | None, *, passes_headers: bool) -> dict[str, Any]:
    gateway_request: dict[str, Any] = {"path": "/mcp", "httpMethod": "POST", "body": request.body}
    if passes_headers:
        gateway_request["headers"] = dict(request.headers)
    mcp: dict[str, Any] = {"rawGatewayRequest": {"body": request.raw}, "gatewayRequest": gateway_request}
    if reply is not None:
        headers = {"Content-Type": "application/json", **reply.headers}
        mcp["gatewayResponse"] = {"statusCode": reply.status, "headers": headers, "body": reply.body}
    return mcp


def _reply(value: Any, former: GatewayReply) -> GatewayReply:
    """Return a response with the changes of an interceptor."""
    changes = as_object(value, "transformedGatewayResponse")
    headers = {**former.headers, **changed_headers(changes)}
    body = as_object(changes["body"], "body") if changes.get("body") is not None else former.body
    return GatewayReply(status=changed_status(changes, former.status), headers=headers, body=body)


def changed_status(result: Mapping[str, Any], former: int) -> int:
    """Return the HTTP status that an interceptor returned.

    Raises:
        InterceptorError: It is not an HTTP status.
    """
    status: Any = former if result.get("statusCode") is None else result["statusCode"]
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        raise InterceptorError("The interceptor's statusCode is not an integer between 200 and 599")
    return status


def changed_headers(result: Mapping[str, Any], own: Collection[str] = _OWN_HEADERS) -> dict[str, str]:
    """Return the header fields that an interceptor returned.

    Args:
        result: The header fields in the interceptor's result.
        own: Lower-case names of the gateway's own fields, which are left out.

    Raises:
        InterceptorError: A field is not a single line of text.
    """
    headers: dict[str, str] = {}
    for name, text in as_object(result.get("headers") or {}, "headers").items():
        if not _HEADER_NAME.fullmatch(name) or not isinstance(text, str) or any(sign in text for sign in "\r\n\0"):
            raise InterceptorError("A header that the interceptor returned is not a single line of text")
        if name.lower() not in own:
            headers[name] = text
    return headers


def as_object(value: Any, name: str) -> dict[str, Any]:
    """Return a member of an interceptor's result that must be an object.

    Raises:
        InterceptorError: It is something else.
    """
    if not isinstance(value, dict):
        raise InterceptorError(f"The interceptor returned {name} that is not an object")
    return cast("dict[str, Any]", value)
