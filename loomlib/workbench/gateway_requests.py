"""Requests to the HTTP targets of a gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aws.bearer import Bearer, token_of
from ..aws.engine import shared_engine
from ..aws.errors import error_from_response
from ..aws.gateways import Gateway
from ..aws.signing import SignedRequest, plain_request, sign_request
from ..json_values import as_mapping, as_text
from .context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResponse:
    """The response of an HTTP target.

    Attributes:
        status: HTTP status.
        headers: Header fields by lower-case names.
        body: The body.
        duration_ms: From sending the request to the last byte, in milliseconds.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    duration_ms: float

    @property
    def ok(self) -> bool:
        """Whether the status indicates success."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")

    @property
    def value(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: The body is not JSON.
        """
        return json.loads(self.body)


def send_to_target(
    context: Context,
    gateway: Gateway,
    path: str,
    payload: Any,
    *,
    method: str,
    headers: Mapping[str, str],
    bearer: Bearer | None,
) -> TargetResponse:
    """Send a request to an HTTP target of a gateway and return the whole answer.

    Args:
        context: The workbench's resources.
        gateway: The gateway.
        path: The target's name and the path below it.
        payload: Bytes and text are sent unchanged, None sends no body, anything else is sent as JSON.
        method: The HTTP method.
        headers: Further header fields.
        bearer: A token that is sent instead of a signature.

    Raises:
        AwsError: AgentCore refused the request.
    """
    url = f"{gateway.url.removesuffix('/mcp')}/{path}"
    if payload is None or isinstance(payload, bytes):
        body, kind = payload or b"", "application/octet-stream"
    elif isinstance(payload, str):
        body, kind = payload.encode(), "text/plain"
    else:
        body, kind = json.dumps(payload).encode(), "application/json"
    request_headers = {"Content-Type": kind, **headers}
    if gateway.authorizer == "AWS_IAM" or bearer is not None:
        token = token_of(bearer)
        request = sign_request(context.clients, url, gateway.region, method, body, request_headers, bearer=token)
    else:
        request = plain_request(url, {}, method, body, request_headers)
    answer = shared_engine().submit(_answer(request, context.settings.read_timeout_s)).result()
    if code := answer.headers.get("x-amzn-errortype", "").partition(":")[0]:
        try:
            message = as_text(as_mapping(answer.value).get("message"))
        except (ValueError, RecursionError):
            message = answer.text
        request_id = answer.headers.get("x-amzn-requestid", "")
        raise error_from_response(
            answer.status,
            what="The request to the target",
            on=f"{path} of gateway {gateway.name}",
            code=code,
            message=message,
            request_id=request_id,
        )
    return answer


async def _answer(request: SignedRequest, read_timeout_s: float) -> TargetResponse:
    from ..aws.transport import stream_invocation

    began = time.perf_counter()
    async with stream_invocation(shared_engine(), request, read_timeout_s=read_timeout_s) as response:
        body = b"".join([arrival.data async for arrival in response.arrivals()])
        took_ms = (time.perf_counter() - began) * 1_000
        return TargetResponse(status=response.status, headers=response.headers, body=body, duration_ms=took_ms)
