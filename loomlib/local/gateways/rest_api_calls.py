"""Calls of methods of REST APIs: Lambda proxy integrations, HTTP back ends, and mock integrations."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import re
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ..access.keys import SessionPrincipal
from ..access.permissions import require
from ..functions import FunctionPool, find_version
from ..resources import Place
from ..wire import RefusedError
from .requests import LARGEST_ANSWER_BYTES, TargetAnswer, TargetClient
from .rest_apis import FUNCTION_URI, MAPPING, SOURCE, ApiMethod, find_method, mapping
from .tools import GatewayTool, TargetError, argument_text

HttpRequest = tuple[str, str, dict[str, str], bytes | None]
"""The method, the URL, the headers and the body of a request."""

_TIMEOUT_MS: Final = 29_000  # API Gateway developer guide, "Quotas": default integration timeout
_INTERNAL: Final = "Internal server error"
_log = logging.getLogger(__name__)


class RestApis:
    """Answers requests to stages of the local API Gateway.

    Args:
        functions: Runs Lambda functions.
        client: Sends requests to HTTP back ends.
    """

    def __init__(self, functions: FunctionPool, client: TargetClient) -> None:
        self._functions, self._client = functions, client

    async def answer(
        self,
        configuration: Mapping[str, Any],
        place: Place,
        tool: GatewayTool,
        arguments: Mapping[str, Any],
        request: HttpRequest,
        *,
        signer: SessionPrincipal | bool | None,
    ) -> TargetAnswer:
        """Call a method and return its response.

        Args:
            configuration: The member `apiGateway` of a target's configuration.
            place: Region and account of the API.
            tool: A tool from `rest_api_tools`.
            arguments: Its arguments.
            request: The request as a client of the API sends it.
            signer: The principal whose policies apply to a signed request; None for an unrestricted role, False for
                a request without a signature.

        Raises:
            TargetError: The method cannot be called, or its back end failed or exceeded a limit.
        """
        name, url, headers, body = request
        method = find_method(configuration, place, str(tool.request["path"]), name)
        if refused := _unauthorized(method, place, url, headers, signer):
            return refused
        kind = method.integration.integration_type
        if kind == "MOCK":
            return _mocked(method)
        if kind == "HTTP_PROXY":
            address, forwarded_headers = _forwarded(method, url, headers, arguments)
            verb = method.integration.http_method
            return await self._client.request(
                name if verb in (None, "ANY") else str(verb),
                address,
                headers=forwarded_headers,
                body=body,
                timeout_s=_timeout_s(method),
            )
        names: list[str] = tool.request["path_names"]
        parameters = {name: argument_text(arguments[name]) for name in names}
        return await self._function(method, place, proxy_event(method, place, request, parameters))

    async def _function(self, method: ApiMethod, place: Place, event: Mapping[str, Any]) -> TargetAnswer:
        match = FUNCTION_URI.fullmatch(method.filled(method.integration.uri))
        arn = match[1] if match else ""
        try:
            function = await asyncio.to_thread(find_version, arn, None, place)
            async with asyncio.timeout(_timeout_s(method)):
                result = await self._functions.call(function, json.dumps(event))
        except TimeoutError as error:
            raise TargetError(f"{arn} did not answer within {_timeout_s(method):g} s") from error
        except RefusedError as refused:
            raise TargetError(f"{arn} cannot be run: {refused.message}") from refused
        answer = None if result.failed else _proxy_answer(result.payload)
        if answer is None:
            _log.warning("%s did not return a proxy response: %s", arn, result.payload[:500])
            return _message(502, _INTERNAL)
        if len(answer.body) > LARGEST_ANSWER_BYTES:
            raise TargetError(f"{arn} returned more than {LARGEST_ANSWER_BYTES:,} bytes")
        return answer


def proxy_event(
    method: ApiMethod, place: Place, request: HttpRequest, path_parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return the event of a Lambda proxy integration (API Gateway developer guide, "Input format").

    Args:
        method: The method that is called.
        place: Region and account of the API.
        request: The request as a client of the API sends it.
        path_parameters: The parts of the path by their names.
    """
    name, url, headers, body = request
    parts, moment = urlsplit(url), time.time()
    query = parse_qsl(parts.query, keep_blank_values=True)
    lists: dict[str, list[str]] = {}
    for key, value in query:
        lists.setdefault(key, []).append(value)
    event_headers = {"Host": parts.netloc, **headers}
    stage = str(method.stage.name)
    path = parts.path.removeprefix(f"/{stage}") or "/"
    return {
        "resource": method.path,
        "path": path,
        "httpMethod": name,
        "headers": event_headers,
        "multiValueHeaders": {key: [value] for key, value in event_headers.items()},
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": lists or None,
        "pathParameters": dict(path_parameters) or None,
        "stageVariables": mapping(method.stage.variables) or None,
        "requestContext": {
            "accountId": place.account_id,
            "apiId": method.api.id,
            "domainName": parts.netloc,
            "domainPrefix": method.api.id,
            "httpMethod": name,
            "identity": {"sourceIp": "127.0.0.1", "userAgent": None, "apiKey": _key_of(headers)},
            "path": parts.path,
            "protocol": "HTTP/1.1",
            "requestId": str(uuid.uuid4()),
            "requestTime": datetime.fromtimestamp(moment, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "requestTimeEpoch": int(moment * 1000),
            "resourceId": method.resource.id,
            "resourcePath": method.path,
            "stage": stage,
        },
        "body": body.decode("utf-8", "replace") if body else None,
        "isBase64Encoded": False,
    }


def _unauthorized(
    method: ApiMethod, place: Place, url: str, headers: Mapping[str, str], signer: SessionPrincipal | bool | None
) -> TargetAnswer | None:
    """Return API Gateway's error for a request without a required signature, permission or API key; None otherwise."""
    if method.method.authorization_type == "AWS_IAM":
        if isinstance(signer, bool):
            return _message(403, "Missing Authentication Token")
        stage = str(method.stage.name)
        path = urlsplit(url).path.removeprefix(f"/{stage}")
        where = f"arn:aws:execute-api:{place.region}:{place.account_id}:{method.api.id}/{stage}/{method.name}{path}"
        try:
            require(signer, "execute-api:Invoke", [where], "execute-api")
        except RefusedError as refused:
            return _message(403, refused.message)
    if method.method.api_key_required and not _is_key(method, place, _key_of(headers)):
        return _message(403, "Forbidden")
    return None


def _key_of(headers: Mapping[str, str]) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == "x-api-key"), None)


def _is_key(method: ApiMethod, place: Place, value: str | None) -> bool:
    """Return whether a usage plan of the stage has an enabled API key with this value."""
    from moto.apigateway.models import apigateway_backends

    backend: Any = apigateway_backends[place.account_id][place.region]
    enabled = {
        key.id for key in mapping(backend.keys).values() if str(key.enabled).lower() == "true" and key.value == value
    }
    for plan in mapping(backend.usage_plans).values():
        stages = [(stage.get("apiId"), stage.get("stage")) for stage in plan.api_stages]
        if (method.api.id, method.stage.name) in stages and enabled & set(
            mapping(mapping(backend.usage_plan_keys).get(plan.id))
        ):
            return value is not None
    return False


def _forwarded(
    method: ApiMethod, url: str, headers: Mapping[str, str], arguments: Mapping[str, Any]
) -> tuple[str, dict[str, str]]:
    """Return the URL and the headers of the request to an HTTP back end."""
    places: dict[str, dict[str, str]] = {"path": {}, "querystring": {}, "header": {}}
    for to, source in mapping(method.integration.request_parameters).items():
        target, origin = MAPPING.fullmatch(to), SOURCE.fullmatch(source)
        if target and origin and (origin[3] is not None or origin[2] in arguments):
            value = origin[3] if origin[3] is not None else argument_text(arguments[origin[2]])
            places[target[1]][target[2]] = value

    def filled(match: re.Match[str]) -> str:
        value = places["path"].get(match[1], "")
        if value in ("", ".", ".."):
            raise TargetError(f"{{{match[1]}}} in the address of {method.name} {method.path} has no value")
        return quote(value, safe="")

    address = re.sub(r"\{([\w.-]+)\}", filled, method.filled(method.integration.uri))
    mapped = places["querystring"]
    query = [pair for pair in parse_qsl(urlsplit(url).query, keep_blank_values=True) if pair[0] not in mapped]
    query += list(mapped.items())
    separator = "&" if "?" in address else "?"
    forwarded_headers = {
        name: value for name, value in headers.items() if name.lower() not in ("x-api-key", "authorization")
    }
    return address + (f"{separator}{urlencode(query)}" if query else ""), {**forwarded_headers, **places["header"]}


def _mocked(method: ApiMethod) -> TargetAnswer:
    """Return the response of a mock integration; its request template names the status."""
    template = mapping(method.integration.request_templates).get("application/json")
    try:
        status = str(cast("dict[str, Any]", json.loads(template or "")).get("statusCode"))
    except (ValueError, AttributeError, RecursionError):
        return _message(500, _INTERNAL)
    answers = list(mapping(method.integration.integration_responses).values())
    default = [answer for answer in answers if not answer.selection_pattern]
    for answer in [item for item in answers if item.selection_pattern] + default:
        if not answer.selection_pattern or re.fullmatch(answer.selection_pattern, status):
            text = mapping(answer.response_templates).get("application/json") or ""
            return TargetAnswer(status=int(answer.status_code), headers={}, body=text.encode())
    return _message(500, _INTERNAL)


def _proxy_answer(payload: str) -> TargetAnswer | None:
    """Return the response that a function's result describes; None if the result is not a proxy response."""
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    response = cast("dict[str, Any]", document)
    status, body = response.get("statusCode"), response.get("body")
    if not str(status).isdecimal() or not isinstance(body, str | None):
        return None
    content = (body or "").encode()
    if response.get("isBase64Encoded") is True:
        try:
            content = base64.b64decode(content, validate=True)
        except (ValueError, binascii.Error):
            return None
    return TargetAnswer(status=int(str(status)), headers={}, body=content)


def _message(status: int, text: str) -> TargetAnswer:
    return TargetAnswer(status=status, headers={}, body=json.dumps({"message": text}).encode())


def _timeout_s(method: ApiMethod) -> float:
    return int(method.integration.timeout_in_millis or _TIMEOUT_MS) / 1000
