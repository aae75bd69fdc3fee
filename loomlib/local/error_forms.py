"""AWS's error form in each of its protocols, and the operation of a request.

moto is imported where a service's model is read: the service's own processes, such as the one that extracts memories,
import this module for its errors, and moto would double the start-up time of each.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

_REST_XML: Final = frozenset({"s3", "s3-object-lambda", "s3-outposts", "route53", "cloudfront"})
_JSON: Final = "application/json"
_XML: Final = "text/xml"
_ACTION: Final = re.compile(r"(?:^|&)Action=")

_SERVICES: Final[Mapping[str, tuple[str, ...]]] = {
    "apigateway": ("apigateway", "apigatewayv2"),
    "bedrock": ("bedrock", "bedrock-runtime", "bedrock-agent", "bedrock-agent-runtime"),
    "monitoring": ("cloudwatch",),
    "ses": ("sesv2", "ses"),
    "states": ("stepfunctions",),
    "aoss": ("opensearchserverless",),
    "aps": ("amp",),
    "aws-marketplace": ("meteringmarketplace",),
    "elasticfilesystem": ("efs",),
    "elasticloadbalancing": ("elbv2", "elb"),
    "elasticmapreduce": ("emr",),
    "execute-api": ("apigatewaymanagementapi",),
    "lex": ("lexv2-models",),
    "tagging": ("resourcegroupstaggingapi",),
    "awsssoportal": ("sso",),
    "sso-oauth": ("sso-oidc",),
}
"""botocore's names of services by their signing names, where these differ."""


def has_form(headers: Mapping[str, str]) -> bool:
    """Return whether a request's body is a form, by its content type.

    Args:
        headers: Its headers, with lower-case names.
    """
    return headers.get("content-type", "").strip().lower().startswith("application/x-www-form-urlencoded")


def protocol_of(service: str, headers: Mapping[str, str], query: str = "") -> str:
    """Return the protocol of a request: `cbor`, `json`, `query`, `ec2`, `rest-xml` or `rest-json`.

    A header or a parameter that belongs to a protocol which the service does not have is ignored.

    Args:
        service: The service that the request is signed for.
        headers: Its headers, with lower-case names.
        query: Its query string.
    """
    is_form = has_form(headers)
    if "x-amz-target" in headers and not is_form and _has_protocol(service, "json"):
        return "json"
    if headers.get("smithy-protocol") == "rpc-v2-cbor" and _has_protocol(service, "smithy-rpc-v2-cbor"):
        return "cbor"
    form_protocol = "ec2" if service == "ec2" else "query"
    if (is_form or _ACTION.search(query)) and _has_protocol(service, form_protocol):
        return form_protocol
    return "rest-xml" if service in _REST_XML else "rest-json"


@cache
def protocols_of(service_name: str) -> frozenset[str]:
    """Return the protocols of a service; none for a service that botocore does not have.

    Args:
        service_name: The service as botocore names it.
    """
    from botocore.exceptions import DataNotFoundError, UnknownServiceError
    from moto.core.utils import get_service_model

    try:
        metadata = get_service_model(service_name).metadata
    except (DataNotFoundError, UnknownServiceError):
        return frozenset()
    return frozenset(metadata.get("protocols") or [metadata["protocol"]])


@cache
def members_of(service: str, operation: str) -> frozenset[str]:
    """Return the names of an operation's parameters; none for an operation that botocore does not have.

    Args:
        service: The service that requests are signed for.
        operation: The operation's name.
    """
    from botocore.exceptions import DataNotFoundError, UnknownServiceError
    from botocore.model import OperationNotFoundError
    from moto.core.utils import get_service_model

    names: set[str] = set()
    for name in _SERVICES.get(service, (service,)):
        with suppress(DataNotFoundError, OperationNotFoundError, UnknownServiceError):
            shape: Any = get_service_model(name).operation_model(operation).input_shape
            names.update(shape.members if shape is not None else ())
    return frozenset(names)


def _has_protocol(service: str, protocol: str) -> bool:
    """Return whether one of the services that sign with a name has a protocol; True if none of them is known."""
    protocols = frozenset[str]().union(*(protocols_of(name) for name in _SERVICES.get(service, (service,))))
    return protocol in protocols or not protocols


def content_type_of(protocol: str) -> str:
    """Return the content type of answers in a protocol (see `protocol_of`)."""
    if protocol == "cbor":
        return "application/cbor"
    return _JSON if protocol in ("json", "rest-json") else _XML


def error_form(
    protocol: str, code: str, message: str, request_id: str, members: Mapping[str, Any] | None = None
) -> tuple[list[tuple[str, str]], bytes]:
    """Return the headers and the body of an error.

    Args:
        protocol: One of those of `protocol_of`.
        code: The error's code, such as `ValidationException`.
        message: A sentence.
        request_id: Id of the request.
        members: Further members, for JSON.
    """
    headers = [("x-amzn-requestid", request_id)]
    if protocol == "cbor":
        body = _cbor({"__type": code, "message": message})
        return [("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor"), *headers], body
    if protocol in ("json", "rest-json"):
        # REST services spell the member "message"; boto3 reads either case, other SDKs only their own.
        body = json.dumps({"__type": code, "message": message, **(members or {})}).encode()
        return [("content-type", _JSON), ("x-amzn-errortype", code), *headers], body
    error = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    request = f"<RequestId>{escape(request_id)}</RequestId>"
    if protocol == "ec2":
        request = request.replace("RequestId", "RequestID")
        text = f"<Response><Errors><Error>{error}</Error></Errors>{request}</Response>"
    elif protocol == "query":
        text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>{request}</ErrorResponse>"
    else:
        text = f"<Error>{error}{request}</Error>"
    return [("content-type", _XML), *headers], f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()


def operation_of(
    service: str, protocol: str, *, method: str, raw_path: str, query: str, headers: Mapping[str, str], form: str = ""
) -> str:
    """Return the operation of a request as IAM writes it (`iam:CreateRole`), or its method and path.

    Args:
        service: The service that the request is signed for.
        protocol: One of those of `protocol_of`.
        method: The HTTP method.
        raw_path: The path as it was sent.
        query: The query string.
        headers: The headers, with lower-case names.
        form: The body, if it is a form (see `has_form`).
    """
    if protocol == "json":
        name = headers["x-amz-target"].rpartition(".")[2]
    elif protocol == "cbor":
        name = raw_path.rpartition("/")[2]
    elif protocol in ("query", "ec2"):
        name = parse_qs(form or query).get("Action", [""])[0]
    else:
        name = _rest_operation(service, method, raw_path, query, headers)
    return f"{service}:{name}" if name else f"{method} {raw_path} of {service or 'an unnamed service'}"


def _rest_operation(service: str, method: str, raw_path: str, query: str, headers: Mapping[str, str]) -> str:
    from moto.core.request import Request
    from werkzeug.exceptions import HTTPException

    request = Request(
        {
            "REQUEST_METHOD": method,
            "PATH_INFO": raw_path,
            "RAW_URI": raw_path,
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),  # used where no content type identifies the protocol
            **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        }
    )
    matched, best = "", -1
    for name in _SERVICES.get(service, (service,)):
        if (router := _router(name)) is not None:
            try:
                operation = router.match(request)[0]
            except HTTPException:
                continue
            if (rank := likeness(operation.http["requestUri"], raw_path)) > best:
                matched, best = str(operation.name), rank
    return matched


def likeness(template: str, raw_path: str) -> int:
    """Return how closely a path matches an operation's template, to choose between operations of two services.

    moto lets the last label of every template match several parts, because some clients leave slashes unencoded, and
    ignores a trailing slash, the only difference between PrepareAgent and InvokeInlineAgent.

    Args:
        template: Such as `/datasets/{datasetId}?version`.
        raw_path: The path as it was sent.

    Returns:
        2 if both have the same number of parts and the same trailing slash, 1 if only the number of parts is the same,
        otherwise 0.
    """
    path = template.partition("?")[0]
    if "+}" in path:
        return 2
    if path.rstrip("/").count("/") != raw_path.rstrip("/").count("/"):
        return 0
    return 2 if path.endswith("/") == raw_path.endswith("/") else 1


@cache
def _router(service: str) -> Any:
    from moto.core.routing import get_service_router

    try:
        return get_service_router(service)
    except Exception:  # noqa: BLE001 - whatever botocore's loader raises: the service has no model
        return None


def _cbor(document: Mapping[str, str]) -> bytes:
    """Encode a map of strings (RFC 8949, major types 5 and 3)."""
    return bytes([0xA0 + len(document)]) + b"".join(_cbor_text(text) for pair in document.items() for text in pair)


def _cbor_text(text: str) -> bytes:
    raw = text.encode()
    length = len(raw)
    if length < 24:
        return bytes([0x60 + length]) + raw
    size = 1 if length < 1 << 8 else 2 if length < 1 << 16 else 4
    return bytes([{1: 0x78, 2: 0x79, 4: 0x7A}[size]]) + length.to_bytes(size, "big") + raw
