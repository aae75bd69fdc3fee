"""The body of an operation as parameters: one for each member of an object, flattened as in Bedrock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loomlib.json_values import as_list, as_mapping, as_text

from ..model import ToolParameter
from .references import References, schema_type


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationBody:
    """The body of an operation.

    Attributes:
        parameters: Its parameters.
        content_type: Its content type, "" without a body.
        is_whole: Whether it is a single value in its only parameter.
    """

    parameters: tuple[ToolParameter, ...] = ()
    content_type: str = ""
    is_whole: bool = False


def body_of(references: References, request_body: object) -> OperationBody:
    """Return the body of a `requestBody`.

    Args:
        references: The document's references.
        request_body: The `requestBody`, None without one.
    """
    body = references.target(request_body)
    contents = as_mapping(body.get("content"))
    if not contents:
        return OperationBody()
    content_type = _preferred(contents)
    schema = references.schema(as_mapping(contents[content_type]).get("schema"))
    kind, needed = schema_type(schema), body.get("required") is True
    properties = as_mapping(schema.get("properties"))
    if kind == "object" and properties:
        required = {as_text(name) for name in as_list(schema.get("required"))} if needed else set[str]()
        members = tuple(_member(name, as_mapping(inner), name in required) for name, inner in properties.items())
        return OperationBody(parameters=members, content_type=content_type)
    whole = ToolParameter(
        name="body",
        type=kind,
        description=as_text(body.get("description")) or as_text(schema.get("description")),
        is_required=needed,
        place="body",
        schema={"type": kind, **schema},
    )
    return OperationBody(parameters=(whole,), content_type=content_type, is_whole=True)


def _preferred(contents: Mapping[str, Any]) -> str:
    names = list(contents)
    exact = [name for name in names if name.partition(";")[0].strip().lower() == "application/json"]
    return (exact or [name for name in names if "json" in name.lower()] or names)[0]


def _member(name: str, schema: Mapping[str, Any], is_required: bool) -> ToolParameter:
    kind = schema_type(schema)
    return ToolParameter(
        name=name,
        type=kind,
        description=as_text(schema.get("description")),
        is_required=is_required,
        place="body",
        schema={"type": kind, **schema},
    )
