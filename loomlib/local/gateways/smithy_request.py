"""Requests of the tools of Smithy models, in the protocols restJson1 and awsJson."""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final, cast
from urllib.parse import quote, urlencode

from .tools import GatewayTool, TargetError, argument_text

_LABEL: Final = re.compile(r"\{(\w+)(\+?)\}")
_DEEPEST: Final = 100
_CONTENT_TYPES: Final = {"awsJson1_0": "application/x-amz-json-1.0", "awsJson1_1": "application/x-amz-json-1.1"}


def smithy_request(tool: GatewayTool, arguments: Mapping[str, Any]) -> tuple[str, str, dict[str, str], bytes | None]:
    """Return the method, the path with its query, the headers and the body of a call.

    Args:
        tool: A tool from `smithy_tools`.
        arguments: Its arguments by name; those that the model does not define are left out.

    Raises:
        TargetError: A part of the path is missing, or an argument cannot be serialized.
    """
    request = tool.request
    members: Mapping[str, Mapping[str, Any]] = request["members"]
    inputs = {name: arguments[name] for name in members if arguments.get(name) is not None}
    inputs |= {
        name: str(uuid.uuid4()) for name, member in members.items() if member.get("generated") and name not in inputs
    }
    writer = _Writer(request["forms"])
    values = {name: writer.serialize(value, members[name]["form"], name) for name, value in inputs.items()}
    if request["protocol"] != "restJson1":
        headers = {"content-type": _CONTENT_TYPES[request["protocol"]], "x-amz-target": str(request["target"])}
        return "POST", "/", headers, json.dumps(values).encode()
    query, headers, body = list[tuple[str, str]](), dict[str, str](), dict[str, Any]()
    payload: bytes | None = None
    for name, value in values.items():
        wire, place = str(members[name]["wire"]), members[name]["in"]
        if place == "query":
            query += [(wire, argument_text(item)) for item in _listed(value)]
        elif place == "query_map":
            query += [(key, argument_text(item)) for key, items in _mapped(name, value) for item in _listed(items)]
        elif place == "header":
            headers[wire] = ", ".join(argument_text(item) for item in _listed(value))
        elif place == "header_map":
            headers |= {f"{wire}{key}": argument_text(item) for key, item in _mapped(name, value)}
        elif place == "payload":
            payload, headers["content-type"] = _payload(name, value, str(members[name]["type"]))
        elif place == "body":
            body[wire] = value
    if any(character in text for pair in headers.items() for text in pair for character in "\r\n\0"):
        raise TargetError("An argument that is sent as a header contains a line break")
    if payload is None and any(member["in"] == "body" for member in members.values()):
        payload, headers["content-type"] = json.dumps(body).encode(), "application/json"
    return str(request["method"]), _path(str(request["uri"]), values, query), headers, payload


def _path(uri: str, values: Mapping[str, Any], query: list[tuple[str, str]]) -> str:
    def filled(match: re.Match[str]) -> str:
        name, greedy = match.groups()
        text = argument_text(values.get(name, ""))
        parts = text.split("/") if greedy else [text]
        if not text or any(part in (".", "..") for part in parts):
            raise TargetError(f"The argument {name} is missing or cannot be part of a path")
        return quote(text, safe="/" if greedy else "")

    path, _, fixed_query = uri.partition("?")
    full_query = "&".join(part for part in (fixed_query, urlencode(query)) if part)
    return _LABEL.sub(filled, path) + (f"?{full_query}" if full_query else "")


def _payload(name: str, value: Any, kind: str) -> tuple[bytes, str]:
    if kind == "blob":
        try:
            return base64.b64decode(argument_text(value), validate=True), "application/octet-stream"
        except (ValueError, binascii.Error) as error:
            raise TargetError(f"The argument {name} is not base64") from error
    if kind in ("string", "enum"):
        return argument_text(value).encode(), "text/plain"
    return json.dumps(value).encode(), "application/json"


class _Writer:
    """Serializes values as the protocol requires: timestamps in their formats, members by their JSON names.

    Args:
        forms: The forms of shapes by their ids.
    """

    def __init__(self, forms: Mapping[str, Mapping[str, Any]]) -> None:
        self._forms = forms

    def serialize(self, value: Any, form: Mapping[str, str] | None, name: str, depth: int = 0) -> Any:
        """Return a value as it is sent; the service itself validates values that do not match their shape."""
        if form is None:
            return value
        if "time" in form:
            return _time(value, form["time"], name)
        shape = self._forms.get(form["shape"])
        if shape is None or depth > _DEEPEST:
            return value
        fields: Mapping[str, Mapping[str, Any]] = shape["members"]
        if shape["kind"] == "list" and isinstance(value, list):
            items = cast("list[Any]", value)
            return [self.serialize(item, fields["member"]["form"], name, depth + 1) for item in items]
        if not isinstance(value, dict):
            return value
        entries = cast("dict[str, Any]", value)
        if shape["kind"] == "map":
            return {
                key: self.serialize(item, fields["value"]["form"], name, depth + 1) for key, item in entries.items()
            }
        return {
            str(fields[key]["wire"]): self.serialize(item, fields[key]["form"], key, depth + 1)
            for key, item in entries.items()
            if key in fields
        }


def _time(value: Any, form: str, name: str) -> Any:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else datetime.fromtimestamp(float(value), UTC)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if form == "epoch-seconds":
            seconds = moment.timestamp()
            return int(seconds) if seconds.is_integer() else seconds
        if form == "http-date":
            return format_datetime(moment.astimezone(UTC), usegmt=True)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise TargetError(f"The argument {name} is not a time such as 2026-01-31T12:00:00Z") from error
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _mapped(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise TargetError(f"The argument {name} is not an object")
    return list(cast("dict[str, Any]", value).items())
