"""Read an OpenAPI document from JSON or YAML, as plain JSON values within limits."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, cast

from loomlib.errors import LoomError
from loomlib.json_values import as_list, encodable, mapping_or_none
from loomlib.presentation.formats import number

from .yaml_nodes import parse_yaml

MOST_VALUES: Final = 200_000
"""Largest number of values in a document, with YAML aliases expanded: ten times a schema at Bedrock's size limit."""

DEEPEST: Final = 100
"""Deepest nesting level."""


class ApiDocumentError(LoomError):
    """The input is not an OpenAPI document that Loom can read."""


def parse_document(text: str) -> dict[str, Any]:
    """Parse an object from a text in JSON or YAML.

    JSON is parsed as JSON, since YAML does not support surrogate pairs as escapes of characters beyond the basic plane.
    A JSON text that contains a document as a string is parsed as that document.

    Args:
        text: The document.

    Raises:
        ApiDocumentError: It is neither JSON nor YAML, not an object, or too large.
    """
    value = _parsed(text)
    if isinstance(value, str):
        value = _parsed(value)
    return plain_json(value)


def plain_json(document: object) -> dict[str, Any]:
    """Return an object as plain JSON values: names are strings, and strings can be encoded in UTF-8.

    Args:
        document: A mapping of any values.

    Raises:
        ApiDocumentError: It is not a mapping, has too many values, or is nested too deeply.
    """
    if mapping_or_none(document) is None:
        raise ApiDocumentError("The document is not an object")
    budget = [MOST_VALUES]
    return cast("dict[str, Any]", _plain(document, 0, budget))


def _plain(value: object, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise ApiDocumentError(f"The document has more than {number(MOST_VALUES)} values")
    if depth > DEEPEST:
        raise ApiDocumentError(f"The document is nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)  # NaN also fails the comparison
    if (mapping := mapping_or_none(value)) is not None:
        return {
            encodable(name if isinstance(cast("object", name), str) else str(name)): _plain(item, depth + 1, budget)
            for name, item in mapping.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1, budget) for item in as_list(cast("object", value))]
    return encodable(str(value))


def _parsed(text: str) -> Any:
    cleaned = text.lstrip("\ufeff \t\r\n")
    if not cleaned:
        raise ApiDocumentError("The document is empty")
    try:
        return json.loads(cleaned, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    try:
        return parse_yaml(cleaned, most_values=MOST_VALUES, deepest=DEEPEST)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ApiDocumentError(f"The document is neither JSON nor YAML: {reason}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
