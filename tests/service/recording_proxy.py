"""A server that passes requests on to the local AgentCore and keeps each, and what AWS's models say of a kept one.

To clients it is AWS: they find it by `AWS_ENDPOINT_URL` alone.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree.ElementTree import Element, fromstring

import botocore.session
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.validate import ParamValidator

_SCOPE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, SignedHeaders=(\S+),"
)
_PASSED_ON = frozenset({"transfer-encoding", "connection", "keep-alive"})


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """A request as it was received, header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    status: int


@contextmanager
def recording_proxy(
    to: str,
    *,
    before_request: Callable[[Mapping[str, str]], None] | None = None,
    before_answer: Callable[[SentRequest], None] | None = None,
) -> Iterator[tuple[str, list[SentRequest]]]:
    """Serve on a free port; yield the address and the list of requests, oldest first.

    `before_request` is called with the headers of a request before it is passed on.
    `before_answer` is called once the service has answered a request, and its client has no answer yet.
    """
    requests: list[SentRequest] = []
    host = urlsplit(to).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body waits up to 40 ms for the client to acknowledge the head

        def _pass_on(self) -> None:
            body = self._body()
            if before_request is not None:
                before_request({name.lower(): value for name, value in self.headers.items()})
            connection = HTTPConnection(host, timeout=120)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _PASSED_ON and name.lower() != "content-length":
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in self.headers.items()}
            requests.append(
                SentRequest(method=self.command, target=self.path, headers=headers, body=body, status=answer.status)
            )
            content = answer.read()
            connection.close()
            if before_answer is not None:
                before_answer(requests[-1])
            with suppress(ConnectionError):  # the client may have been killed
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in _PASSED_ON and name.lower() != "content-length":
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts: list[bytes] = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _pass_on

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()


def operation_of(request: SentRequest, services: tuple[str, ...], *, region: str) -> str:
    """Return `service.Operation` of a signed request, after checking it against that operation's model.

    Checked are the signature's scope and headers, the method, the address, and every parameter by its shape.
    """
    scope = _SCOPE.match(request.headers.get("authorization", ""))
    assert scope is not None, f"{request.method} {request.target} is not signed"
    assert scope[1] == region
    assert {"host", "x-amz-date"} <= set(scope[3].split(";"))
    candidates = [
        (name, operation, values)
        for name in services
        if (model := _model(name)).signing_name == scope[2]
        for operation, values in _matches(model, request)
    ]
    assert candidates, f"no operation of {services} is {request.method} {request.target}, signed for {scope[2]}"
    name, operation, values = max(candidates, key=lambda candidate: _fixed_length(candidate[1]))
    if operation.input_shape is not None:
        parameters = _parameters(operation, request, values)
        report = ParamValidator().validate(parameters, operation.input_shape)
        assert not report.has_errors(), f"{name}.{operation.name}: {report.generate_report()}"
    return f"{name}.{operation.name}"


@cache
def _model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def _uri(operation: OperationModel) -> str:
    return str(operation.http.get("requestUri", "/")).partition("?")[0]


def _fixed_length(operation: OperationModel) -> tuple[int, int]:
    """Return the length of an operation's path without its parameters, and of its fixed query, such as `?tagging`."""
    path, _, query = str(operation.http.get("requestUri", "/")).partition("?")
    return len(re.sub(r"\{.*?\}", "", path)), len(query)


def _matches(model: ServiceModel, request: SentRequest) -> Iterator[tuple[OperationModel, dict[str, str]]]:
    path, _, query = request.target.partition("?")
    if model.protocol in ("json", "query") or "x-amz-target" in request.headers:
        name = request.headers.get("x-amz-target", "").rpartition(".")[2]
        name = name or parse_qs(request.body.decode("utf-8", "replace")).get("Action", [""])[0]
        if name in model.operation_names:
            yield model.operation_model(name), {}
        return
    query_values = parse_qs(query, keep_blank_values=True)
    for name in model.operation_names:
        operation = model.operation_model(name)
        fixed = parse_qs(str(operation.http["requestUri"]).partition("?")[2], keep_blank_values=True)
        parts = re.split(r"\{(\w+)(\+?)\}", _uri(operation))
        pattern = "".join(
            re.escape(text) + (f"(?P<{label}>{'.+' if more else '[^/]+'})" if label else "")
            for text, label, more in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True)
        )
        match = re.fullmatch(pattern.rstrip("/") + "/?", path)
        if operation.http["method"] != request.method or not match or not set(fixed) <= set(query_values):
            continue
        if _has_required(operation, request, query_values):
            yield operation, {label: unquote(value) for label, value in match.groupdict().items()}


def _has_required(operation: OperationModel, request: SentRequest, query: Mapping[str, Any]) -> bool:
    """Return whether a request has the required headers and query parameters, which tell operations of S3 apart."""
    shape = operation.input_shape
    members = [shape.members[name] for name in shape.required_members] if shape is not None else []
    locations = [(member.serialization.get("location"), member.serialization.get("name", "")) for member in members]
    return all(
        (place != "header" or name.lower() in request.headers) and (place != "querystring" or name in query)
        for place, name in locations
    )


def _parameters(operation: OperationModel, request: SentRequest, values: Mapping[str, str]) -> dict[str, Any]:
    shape = operation.input_shape
    protocol = operation.service_model.protocol
    if protocol == "query":
        form = {name: value[0] for name, value in parse_qs(request.body.decode()).items()}
        return {name: _typed(shape.members[name], value) for name, value in form.items() if name in shape.members}
    if protocol == "json" or "x-amz-target" in request.headers:
        return json.loads(request.body or b"{}")
    query = parse_qs(request.target.partition("?")[2], keep_blank_values=True)
    payload = shape.serialization.get("payload")
    parameters: dict[str, Any] = {}
    if payload is None and protocol == "rest-json" and request.body:
        content = json.loads(request.body)
        names = {member.serialization.get("name", name): name for name, member in shape.members.items()}
        unknown = set(content) - set(names)
        assert not unknown, f"{operation.name} has no {', '.join(unknown)}"
        parameters = {names[name]: _plain(shape.members[names[name]], value) for name, value in content.items()}
    for name, member in shape.members.items():
        wire = member.serialization.get("name", name)
        match member.serialization.get("location"):
            case "uri":
                parameters[name] = _typed(member, values[wire])
            case "querystring" if wire in query:
                parameters[name] = query[wire] if member.type_name == "list" else _typed(member, query[wire][0])
            case "header" if wire.lower() in request.headers:
                parameters[name] = _typed(member, request.headers[wire.lower()])
            case _:
                pass
    if payload is not None and request.body:
        is_blob = shape.members[payload].type_name == "blob"
        parameters[payload] = request.body if is_blob else _of_xml(shape.members[payload], fromstring(request.body))
    return parameters


def _of_xml(shape: Shape, element: Element) -> Any:
    """Return a value of an XML body by its shape."""
    match shape.type_name:
        case "structure":
            members = {member.serialization.get("name", name): (name, member) for name, member in shape.members.items()}
            parts: dict[str, Any] = {}
            for part in element:
                tag = part.tag.rpartition("}")[2]
                assert tag in members, f"{shape.name} has no {tag}"
                name, member = members[tag]
                if member.type_name == "list" and member.serialization.get("flattened"):
                    parts.setdefault(name, []).append(_of_xml(member.member, part))
                else:
                    parts[name] = _of_xml(member, part)
            return parts
        case "list":
            return [_of_xml(shape.member, part) for part in element]
        case _:
            return _typed(shape, element.text or "")


def _typed(shape: Shape, text: str) -> Any:
    """Return a value of an address, a header or a form by its shape."""
    match shape.type_name:
        case "integer" | "long":
            return int(text)
        case "boolean":
            return text == "true"
        case _:
            return text


def _plain(shape: Shape, value: Any) -> Any:
    """Return a value of a JSON body as clients give it: blobs as bytes."""
    match shape.type_name:
        case "structure" if isinstance(value, dict) and not getattr(shape, "is_document_type", False):
            names = {member.serialization.get("name", name): name for name, member in shape.members.items()}
            return {names.get(name, name): _plain(shape.members[names[name]], item) for name, item in value.items()}
        case "list":
            return [_plain(shape.member, item) for item in value]
        case "blob":
            return base64.b64decode(value)
        case _:
            return value
