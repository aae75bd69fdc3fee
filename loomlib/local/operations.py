"""AWS's own service model as the router: a request becomes an operation with parameters, a result its wire form.

Adding an operation is writing one method named after it on a room given to `Operations`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, cast

from moto.core.model import OperationModel
from moto.core.parse import RestJSONParser
from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.core.serialize import RestJSONSerializer
from werkzeug.exceptions import NotFound

from .moto_fallback import methods_behind
from .wire import Encoded, Receive, Refused, Scope, Send, invalid, not_implemented, read_body, send_body

Outcome = Literal["answered", "unknown", "behind"]
Operation = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | Encoded]]
_MODEL_BODY_LIMIT_BYTES = 6_000_000


class Operations:
    """The operations of one AWS service that this building answers itself.

    `rooms` are objects with methods such as `create_agent_runtime(parameters) -> result`; parameters are checked
    against the service model before the method sees them.
    """

    def __init__(self, service_name: str, *rooms: object) -> None:
        self._rooms, self._behind = rooms, methods_behind(service_name)
        self._router = get_service_router(service_name)

    def find(self, scope: Scope) -> tuple[OperationModel, dict[str, Any], Any] | None:
        """The operation that the request is for, its path parameters and the parsed head; None when it is another's."""
        raw_path: str = scope["raw_path"].decode("latin-1")
        request = Request(
            {
                "REQUEST_METHOD": scope["method"],
                "PATH_INFO": raw_path,
                "RAW_URI": raw_path,
                "QUERY_STRING": scope["query_string"].decode("latin-1"),
                "SERVER_NAME": "127.0.0.1",
                "SERVER_PORT": "80",
                "wsgi.url_scheme": "http",
                **{
                    "HTTP_" + name.decode("latin-1").upper().replace("-", "_"): value.decode("latin-1")
                    for name, value in scope["headers"]
                },
            }
        )
        try:
            operation, path_parameters = self._router.match(request)
        except NotFound:
            return None
        return operation, path_parameters, request

    async def answer(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> Outcome:
        """Answer the request, or say that the model does not know it or that moto implements it.

        An operation that neither implements raises `Refused` with 501.
        """
        found = self.find(scope)
        if found is None:
            return "unknown"
        operation, path_parameters, request = found
        name = str(operation.name)
        method = self._method(name)
        if method is None:
            if _snake(name) in self._behind:
                return "behind"
            raise not_implemented(name)
        body = await read_body(receive, _MODEL_BODY_LIMIT_BYTES, request.headers.get("Content-Length"))
        try:
            parsed = RestJSONParser(operation).parse(
                cast(
                    Any,
                    {
                        "body": body,
                        "headers": request.headers,
                        "method": request.method,
                        "url_params": path_parameters,
                        "url_path": request.path,
                        "values": request.args,
                    },
                )
            )
            parameters = _plain(parsed)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise Refused("SerializationException", 400, f"The request is not in {name}'s form: {error}") from error
        if operation.input_shape is not None and (faults := list(_faults(operation.input_shape, parameters, ""))):
            raise invalid(f"{len(faults)} validation error{'s' * (len(faults) > 1)} detected: {'; '.join(faults)}")
        result = await method(parameters)
        named = (b"x-amzn-requestid", request_id.encode())
        if isinstance(result, Encoded):
            status: int = operation.http["responseCode"]
            await send_body(send, result, status, [(b"content-type", b"application/json"), named])
            return "answered"
        response = RestJSONSerializer(operation).serialize(result)
        content = response["body"].encode() if isinstance(response["body"], str) else response["body"]
        headers = [(key.lower().encode(), str(value).encode()) for key, value in response["headers"].items()]
        if response["status_code"] == 204:
            content, headers = b"", []
        await send_body(send, content, response["status_code"], [*headers, named])
        return "answered"

    def _method(self, operation_name: str) -> Operation | None:
        return next((method for room in self._rooms if (method := getattr(room, _snake(operation_name), None))), None)


def _snake(operation_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation_name).lower()


def _plain(value: Any) -> Any:
    """moto's parsed mappings as plain dictionaries (and a proof that they are JSON); times as seconds since 1970."""
    return json.loads(json.dumps(value, default=_seconds))


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()  # moto parses to naive UTC
    raise TypeError(f"{type(value).__name__} is no JSON")


def _faults(shape: Any, value: Any, where: str) -> Iterator[str]:
    """What in `value` breaks the service model: required members, enums, lengths, ranges and patterns."""
    if shape.type_name == "structure" and shape.is_document_type:
        return  # any JSON
    rules = shape.metadata
    here = where or "the request"
    if shape.type_name == "structure":
        members: Mapping[str, Any] = shape.members
        for name in rules.get("required", ()):
            if value.get(name) is None:
                yield f"{_join(where, name)} is missing"
        if rules.get("union") and len(value) != 1:
            yield f"{here} must have exactly one of {', '.join(members)}"
        for name, item in value.items():
            if item is not None and name in members:
                yield from _faults(members[name], item, _join(where, name))
        return
    if shape.type_name == "list":
        for index, item in enumerate(value):
            yield from _faults(shape.member, item, f"{here}[{index}]")
    if shape.type_name == "map":
        for key, item in value.items():
            yield from _faults(shape.key, key, f"a key of {here}")
            yield from _faults(shape.value, item, f"{here}.{key}")
    size = value if shape.type_name in ("integer", "long", "float", "double") else _length(value)
    if size is not None and "min" in rules and size < rules["min"]:
        yield f"{here} must be at least {rules['min']}"
    if size is not None and "max" in rules and size > rules["max"]:
        yield f"{here} must be at most {rules['max']}"
    if isinstance(value, str):
        if (allowed := shape.metadata.get("enum")) and value not in allowed:
            yield f"{here} must be one of {', '.join(allowed)}"
        if (pattern := rules.get("pattern")) and not re.fullmatch(pattern, value):
            yield f"{here} must match {pattern}"


def _length(value: Any) -> int | None:
    return len(cast("str | list[Any] | dict[str, Any]", value)) if isinstance(value, str | list | dict) else None


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
