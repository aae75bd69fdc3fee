"""A router for the operations that are implemented here, based on botocore's service models.

A request becomes an operation with parameters, and a result its form on the wire. Adding an operation means writing a
method that is named after it in a component given to `Router`, or declaring a resource.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, cast

from moto.core.model import OperationModel
from moto.core.parse import RestJSONParser
from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.core.serialize import RestJSONSerializer
from werkzeug.exceptions import NotFound

from .error_forms import likeness
from .moto_fallback import moto_methods
from .patterns import matches_model
from .resources import Place
from .resources.engine import ResourceEngine
from .wire import (
    AsgiScope,
    Encoded,
    EncodedStream,
    LiveStream,
    Receive,
    RefusedError,
    Send,
    invalid,
    not_implemented,
    read_body,
    replayed,
    send_body,
    send_frames,
    send_json,
)

Handler = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
RegionalHandler = Callable[[Mapping[str, Any], Place], Awaitable[Mapping[str, Any]]]
_PATTERNS = {
    # Targets on this machine are reached over HTTP; AWS takes https only.
    "McpServerTargetConfigurationEndpointString": r"https://.*|http://(127\.0\.0\.1|localhost)[:/].*",
    "PassthroughEndpoint": r"https://[a-zA-Z0-9.-]+(:[0-9]{1,5})?(/.*)?|http://(127\.0\.0\.1|localhost)[:/].*",
    # The model's own lacks digits, and so excludes OAuth2 credential providers, which can be tagged.
    "TaggableResourcesArn": r"arn:[^:]*:bedrock(-agentcore)?:[a-z0-9-]+:[0-9]{12}:[a-z0-9-]+/[^/]+(/[a-z0-9-]+/[^/]+)*",
}
_BODY_LIMIT_BYTES = 6_000_000
_LARGE_BODY_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Match:
    """A request's operation, the parameters in its path, and its parsed head."""

    operation: OperationModel
    path_parameters: Mapping[str, Any]
    request: Request

    @property
    def name(self) -> str:
        """The operation's name in the service model."""
        return str(self.operation.name)


def best_match(routers: Iterable[Router], scope: AsgiScope) -> tuple[Router, Match] | None:
    """Return a request's router and operation: the first one whose path matches the request's most closely."""
    matched: tuple[Router, Match] | None = None
    best, raw_path = -1, scope["raw_path"].decode("latin-1")
    for router in routers:
        if (match := router.match(scope)) is not None:
            rank = likeness(match.operation.http["requestUri"], raw_path)
            if rank == 2:
                return router, match
            if rank > best:
                matched, best = (router, match), rank
    return matched


class Router:
    """Routes the operations of one AWS service to the components that answer them.

    Components have methods such as `create_event(parameters) -> result`. Parameters of AgentCore's operations are
    checked against the service model before a method sees them; those of CloudWatch Logs, whose methods check them with
    that service's own errors, are the request's JSON. A method of a JSON service, or of a service whose other
    operations moto answers, may return None: then moto answers. A method with a parameter `place` receives the caller's
    region and account.

    Args:
        service_name: The service as botocore names it.
        components: Objects that answer operations; the first one with the method is used.
        resources: The control plane's resources.
        regional: Further operations by name, which are called with the caller's region and account as well; they come
            before those of the resources.
        limit_bytes: Largest request body.
        large: Operations that take larger ones, by name.
        rest_to_moto: Whether moto answers all other operations, whatever names its methods have.
    """

    def __init__(
        self,
        service_name: str,
        *components: object,
        resources: ResourceEngine | None = None,
        regional: Mapping[str, RegionalHandler] | None = None,
        limit_bytes: int = _BODY_LIMIT_BYTES,
        large: Mapping[str, int] | None = None,
        rest_to_moto: bool = False,
    ) -> None:
        self._components, self._resources, self._limit_bytes = components, resources, limit_bytes
        self._service_name, self._regional = service_name, regional or {}
        self._rest_to_moto, self._large = rest_to_moto, large or {}

    @cached_property
    def _moto_methods(self) -> frozenset[str]:
        return moto_methods(self._service_name)

    @cached_property
    def _router(self) -> Any:  # reading a service's model takes 50 ms, so it is deferred until the first request
        return get_service_router(self._service_name)

    def match(self, scope: AsgiScope) -> Match | None:
        """Return the operation of a request, or None when the service model does not have it.

        Raises:
            RefusedError: The service has no protocol with the request's content type.
        """
        raw_path: str = scope["raw_path"].decode("latin-1")
        headers = {
            name.decode("latin-1").upper().replace("-", "_"): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        request = Request(
            {
                "REQUEST_METHOD": scope["method"],
                "PATH_INFO": raw_path,
                "RAW_URI": raw_path,
                "QUERY_STRING": scope["query_string"].decode("latin-1"),
                "SERVER_NAME": "127.0.0.1",
                "SERVER_PORT": "80",
                "wsgi.url_scheme": "http",
                "CONTENT_TYPE": headers.get("CONTENT_TYPE", ""),
                **{f"HTTP_{name}": value for name, value in headers.items()},
            }
        )
        try:
            operation, path_parameters = self._router.match(request)
        except NotFound:
            return None
        except NotImplementedError:  # a form, sent to a service that takes JSON
            message = f"No operation of {self._service_name} takes the content type {request.content_type}"
            raise RefusedError("UnknownOperationException", 404, message) from None
        return Match(operation, path_parameters, request)

    async def answer(
        self, match: Match, receive: Receive, send: Send, *, region: str, request_id: str, account_id: str = ""
    ) -> Receive | None:
        """Answer a matched request.

        Args:
            match: The operation.
            receive: Where the body comes from.
            send: Where the answer goes.
            region: The caller's region.
            request_id: Id of the request, returned in the response.
            account_id: The caller's account; empty for the service's own.

        Returns:
            None if the request was answered; otherwise the body, to be passed to moto, which implements the operation.

        Raises:
            RefusedError: The answer is an AWS error; 501 for an operation that nothing implements.
        """
        handler = self._handler(match.name, region, account_id)
        if handler is None:
            if self._rest_to_moto or _snake(match.name) in self._moto_methods:
                return receive
            raise not_implemented(match.name)
        limit_bytes = self._large.get(match.name, self._limit_bytes)
        body = await read_body(receive, limit_bytes, match.request.headers.get("Content-Length"))
        request_id_header = (b"x-amzn-requestid", request_id.encode())
        metadata = match.operation.service_model.metadata
        if metadata["protocol"] == "json":
            result = await handler(_json(body))
            if result is None:
                return replayed(body)
            await send_json(send, result, headers=(request_id_header,))
            return None
        if len(body) > _LARGE_BODY_BYTES:  # parsing takes long enough to hold up other requests
            result = await handler(await asyncio.to_thread(_parameters, match, body))
        else:
            result = await handler(_parameters(match, body))
        if result is None and (self._rest_to_moto or "json" in metadata.get("protocols", ())):
            return replayed(body)
        if isinstance(result, LiveStream):
            await send_frames(send, result.frames, [request_id_header, *result.headers])
            return None
        if isinstance(result, EncodedStream):
            kind = (b"content-type", b"application/vnd.amazon.eventstream")
            await send_body(send, result, 200, [kind, request_id_header, *result.headers])
            return None
        if isinstance(result, Encoded):
            code: int = match.operation.http["responseCode"]
            await send_body(send, result, code, [(b"content-type", b"application/json"), request_id_header])
            return None
        response = RestJSONSerializer(match.operation).serialize(result)
        content = response["body"].encode() if isinstance(response["body"], str) else response["body"]
        headers = [(key.lower().encode(), str(value).encode()) for key, value in response["headers"].items()]
        status = _status(match.operation, result) or response["status_code"]
        if status == 204:
            content, headers = b"", []
        await send_body(send, content, status, [*headers, request_id_header])
        return None

    def _handler(self, operation: str, region: str, account_id: str) -> Handler | None:
        if regional := self._regional.get(operation):
            return lambda parameters: regional(parameters, Place(region, account_id))
        if self._resources is not None and operation in self._resources.handlers:
            return partial(self._resources.call, operation, region=region, account_id=account_id)
        name = _snake(operation)
        method = next((method for item in self._components if (method := getattr(item, name, None))), None)
        if method is not None and "place" in inspect.signature(method).parameters:
            return partial(method, place=Place(region, account_id))
        return method


def _status(operation: OperationModel, result: Mapping[str, Any] | None) -> int:
    """Return the HTTP status from the result's member for it in the service model; 0 if there is none."""
    shape: Any = operation.output_shape
    members: Mapping[str, Any] = shape.members if shape is not None else {}
    status_members = (name for name, member in members.items() if member.serialization.get("location") == "statusCode")
    return int((result or {}).get(next(status_members, ""), 0))


def _json(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise RefusedError("SerializationException", 400, "The request is not JSON") from error
    if not isinstance(document, dict):
        raise RefusedError("SerializationException", 400, "The request is not a JSON object")
    return cast("dict[str, Any]", document)


def _parameters(match: Match, body: bytes) -> dict[str, Any]:
    """Parse a REST request by the service model and check the parameters against it."""
    request, operation = match.request, match.operation
    parts: Any = {
        "body": body,
        "headers": request.headers,
        "method": request.method,
        "url_params": match.path_parameters,
        "url_path": request.path,
        "values": request.args,
    }
    try:
        parameters = _plain(RestJSONParser(operation).parse(parts))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise RefusedError(
            "SerializationException", 400, f"The request does not have the form of {match.name}: {error}"
        ) from error
    check_parameters(operation.input_shape, parameters)
    return parameters


def check_parameters(shape: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the service model does not allow.

    Args:
        shape: The operation's input in the service model; None without one.
        parameters: The parameters.

    Raises:
        RefusedError: A ValidationException with every violation.
    """
    if shape is not None and (faults := list(_faults(shape, parameters, ""))):
        raise invalid(f"{len(faults)} validation error{'s' * (len(faults) > 1)} detected: {'; '.join(faults)}")


def _snake(operation_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation_name).lower()


def _plain(value: Any) -> Any:
    """Return moto's parsed mappings as plain dictionaries, proven to be JSON.

    Times are seconds since 1970, and blobs base64.
    """
    return json.loads(json.dumps(value, default=_as_json))


def _as_json(value: Any) -> float | str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()  # moto parses to naive UTC
    raise TypeError(f"{type(value).__name__} is not JSON")


def _faults(shape: Any, value: Any, where: str) -> Iterator[str]:
    """Yield violations of the service model: required members, enumerations, lengths, ranges and patterns."""
    if shape.type_name == "structure" and shape.is_document_type:
        return  # any JSON
    rules = shape.metadata
    subject = where or "the request"
    if shape.type_name == "structure":
        members: Mapping[str, Any] = shape.members
        for name in rules.get("required", ()):
            if value.get(name) is None:
                yield f"{_join(where, name)} is missing"
        if rules.get("union") and len(value) != 1:
            yield f"{subject} must have exactly one of {', '.join(members)}"
        for name, item in value.items():
            if item is not None and name in members:
                yield from _faults(members[name], item, _join(where, name))
        return
    if shape.type_name == "list":
        for index, item in enumerate(value):
            if item is None:
                yield f"{subject}[{index}] is missing"
                continue
            yield from _faults(shape.member, item, f"{subject}[{index}]")
    if shape.type_name == "map":
        for key, item in value.items():
            yield from _faults(shape.key, key, f"a key of {subject}")
            if item is None:
                yield f"{subject}.{key} is missing"
                continue
            yield from _faults(shape.value, item, f"{subject}.{key}")
    size = value if shape.type_name in ("integer", "long", "float", "double") else _length(value)
    if size is not None and "min" in rules and size < rules["min"]:
        yield f"{subject} must be at least {rules['min']}"
    if size is not None and "max" in rules and size > rules["max"]:
        yield f"{subject} must be at most {rules['max']}"
    if isinstance(value, str):
        if (allowed := shape.metadata.get("enum")) and value not in allowed:
            yield f"{subject} must be one of {', '.join(allowed)}"
        if (pattern := _PATTERNS.get(shape.name) or rules.get("pattern")) and not matches_model(pattern, value):
            yield f"{subject} must match {pattern}"


def _length(value: Any) -> int | None:
    return len(cast("str | list[Any] | dict[str, Any]", value)) if isinstance(value, str | list | dict) else None


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
