"""Forms for JSON schemas: the fields that a page draws, and the values that their texts represent."""

# pyright: basic

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from loomlib.errors import InvalidArgumentsError
from loomlib.json_values import as_list, as_mapping, as_text

from .texts import short_text

_MOST_FIELDS: Final = 60
_MOST_CHOICES: Final = 200
_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_VARIABLE: Final = re.compile(r"\+?[A-Za-z0-9_.]+")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_WHOLE: Final = "URI"


def fields_of(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of an object's schema: name, kind (text, number, flag, choice, json), hint and first value."""
    required = as_list(schema.get("required"))
    fields: list[dict[str, Any]] = []
    for name, property_schema in list(as_mapping(schema.get("properties")).items())[:_MOST_FIELDS]:
        part = _only(as_mapping(property_schema))
        kind = _kind(part)
        default = part.get("default")
        hint = [kind if kind in ("number", "json") else "", as_text(part.get("description"))]
        fields.append(
            {
                "name": str(name),
                "label": f"{short_text(str(name))}{'' if name in required else ' (optional)'}",
                "kind": kind,
                "hint": short_text(": ".join(filter(None, hint))) if any(hint) else "",
                "choices": [short_text(_text(value)) for value in as_list(part.get("enum"))[:_MOST_CHOICES]],
                "value": default is True if kind == "flag" else "" if default is None else short_text(_text(default)),
                "required": name in required,
            }
        )
    return fields


def values_of(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a filled form; an empty optional field is left out.

    Raises:
        InvalidArgumentsError: A number or a JSON value cannot be read.
    """
    values: dict[str, Any] = {}
    for field in fields_of(schema):
        name, kind, value = field["name"], field["kind"], given.get(field["name"])
        if kind == "flag":
            if field["required"] or value is True or field["value"] is True:
                values[name] = value is True
        elif isinstance(value, str) and (value.strip() or (field["required"] and kind == "text")):
            values[name] = _value(_only(as_mapping(as_mapping(schema.get("properties")).get(name))), kind, name, value)
    return values


def template_fields(template: str) -> list[dict[str, Any]]:
    """Return the fields of a resource template (RFC 6570): one for each variable, or one with the whole URI.

    Expressions beyond `{variable}` and `{+variable}` are left to the user.
    """
    names = _EXPRESSION.findall(template)
    if not names or not all(map(_VARIABLE.fullmatch, names)):
        return fields_of({"properties": {_WHOLE: {"type": "string", "default": template}}, "required": [_WHOLE]})
    plain = list(dict.fromkeys(name.removeprefix("+") for name in names))
    return fields_of({"properties": {name: {"type": "string"} for name in plain}, "required": plain})


def template_uri(template: str, given: Mapping[str, Any]) -> str:
    """Return the URI of a resource, or that of a template with the values of its form."""
    if not given:
        return template
    if isinstance(whole := given.get(_WHOLE), str) and not all(map(_VARIABLE.fullmatch, _EXPRESSION.findall(template))):
        return whole
    return _EXPRESSION.sub(lambda match: _expanded(match.group(1), given), template)


def _expanded(expression: str, values: Mapping[str, Any]) -> str:
    value = values.get(expression.removeprefix("+"))
    safe = _RESERVED if expression.startswith("+") else ""
    return quote(value, safe=safe, errors="replace") if isinstance(value, str) else ""


def _value(part: Mapping[str, Any], kind: str, name: str, text: str) -> Any:
    if kind == "choice":
        return next((choice for choice in as_list(part.get("enum")) if short_text(_text(choice)) == text), text)
    if kind not in ("number", "json"):
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        expected = "a number" if kind == "number" else 'JSON, such as ["a", "b"] or {"a": 1}'
        raise InvalidArgumentsError(f"{name} is not {expected}", on=text[:80], try_=expected, field=name) from None
    return value


def _only(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional value (`anyOf` with null) without the null."""
    options = [as_mapping(one) for one in as_list(part.get("anyOf")) if as_mapping(one).get("type") != "null"]
    return {**part, **options[0]} if len(options) == 1 else part


def _kind(part: Mapping[str, Any]) -> str:
    if part.get("enum"):
        return "choice"
    kind = part.get("type")
    return {"string": "text", "integer": "number", "number": "number", "boolean": "flag"}.get(str(kind), "json")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
