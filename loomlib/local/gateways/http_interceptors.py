"""Interceptors of requests to HTTP targets; bodies are base64-encoded in their events and results.

Source: AgentCore developer guide, "Types of interceptors", the part on HTTP targets. As at the MCP endpoint, an
interceptor that fails ends the request.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..functions import FunctionPool
from ..resources import ResourceRecord
from .interceptors import (
    ConfiguredInterceptor,
    InterceptorError,
    as_object,
    changed_headers,
    changed_status,
    interceptor_of,
)

_RESPONSE_BODY: Final = "RESPONSE_BODY"
_KEPT_OF_REQUESTS: Final = ("connection", "content-length", "host", "transfer-encoding")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request to an HTTP target.

    Attributes:
        method: Its method.
        path: Its path below the gateway.
        headers: Its header fields by lower-case names.
        body: Its body.
        request_id: Its id.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """A complete response to such a request.

    Attributes:
        status: HTTP status.
        headers: Header fields; their names are in lower case.
        body: The body.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = field(default=b"", repr=False)


class HttpInterceptors:
    """Runs the interceptors of gateways around HTTP targets.

    Args:
        functions: Runs Lambda functions.
    """

    def __init__(self, functions: FunctionPool) -> None:
        self._functions = functions

    async def request(self, gateway: ResourceRecord, request: HttpRequest) -> HttpRequest | HttpReply:
        """Return the request as the REQUEST interceptor changes it, or the response that it returns instead.

        Raises:
            InterceptorError: The interceptor failed.
        """
        interceptor = interceptor_of(gateway, "REQUEST")
        if interceptor is None:
            return request
        gateway_request: dict[str, Any] = {
            "path": request.path,
            "httpMethod": request.method,
            "body": base64.b64encode(request.body).decode(),
        }
        if interceptor.passes_headers:
            gateway_request["headers"] = {name.title(): text for name, text in request.headers.items()}
        output = await self._run(interceptor, gateway, {"gatewayRequest": gateway_request}, request)
        if output.get("transformedGatewayResponse") is not None:
            reply_changes = as_object(output["transformedGatewayResponse"], "transformedGatewayResponse")
            return _replied(reply_changes, HttpReply(status=200))
        request_changes = as_object(output.get("transformedGatewayRequest") or {}, "transformedGatewayRequest")
        headers = {name.lower(): text for name, text in changed_headers(request_changes, _KEPT_OF_REQUESTS).items()}
        return replace(request, headers={**request.headers, **headers}, body=_body(request_changes, request.body))

    async def response(self, gateway: ResourceRecord, request: HttpRequest, reply: HttpReply) -> HttpReply:
        """Return the response as the RESPONSE interceptor changes it.

        Raises:
            InterceptorError: The interceptor failed.
        """
        interceptor = interceptor_of(gateway, "RESPONSE")
        if interceptor is None:
            return reply
        body = None if _RESPONSE_BODY in interceptor.leaves_out else base64.b64encode(reply.body).decode()
        gateway_response = {
            "statusCode": reply.status,
            "headers": dict(reply.headers),
            "contentType": reply.headers.get("content-type"),
            "body": body,
        }
        event = {"gatewayRequest": None, "gatewayResponse": gateway_response}
        output = await self._run(interceptor, gateway, event, request)
        reply_changes = as_object(output.get("transformedGatewayResponse") or {}, "transformedGatewayResponse")
        return _replied(reply_changes, reply)

    async def _run(
        self,
        interceptor: ConfiguredInterceptor,
        gateway: ResourceRecord,
        event: Mapping[str, Any],
        request: HttpRequest,
    ) -> Mapping[str, Any]:
        context = {
            "GATEWAY_ARN": gateway.arn,
            "GATEWAY_ACCOUNT_ID": gateway.place.account_id,
            "REQUEST_ID": request.request_id,
            "SOURCE_IP": "127.0.0.1",
        }
        return await interceptor.run(self._functions, gateway, "http", event, context)


def _replied(changes: Mapping[str, Any], former: HttpReply) -> HttpReply:
    headers = {**former.headers, **{name.lower(): text for name, text in changed_headers(changes).items()}}
    if changes.get("contentType") is not None:
        headers |= changed_headers({"headers": {"content-type": changes["contentType"]}}, ())
    return HttpReply(status=changed_status(changes, former.status), headers=headers, body=_body(changes, former.body))


def _body(changes: Mapping[str, Any], former: bytes) -> bytes:
    body: Any = changes.get("body")
    if body is None:
        return former
    try:
        return base64.b64decode(body, validate=True)
    except (TypeError, ValueError) as error:
        raise InterceptorError("The interceptor returned a body that is not valid base64") from error
