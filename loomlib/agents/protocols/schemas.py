"""Checking values against a JSON schema, with the first wrong field named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from loomlib.errors import InvalidArgumentsError


def check_arguments(values: Mapping[str, Any], schema: Mapping[str, Any], *, what: str, on: str) -> None:
    """Check values against a schema (JSON Schema 2020-12, or the draft that its `$schema` names).

    Args:
        values: The values.
        schema: The schema; an invalid one accepts everything, since the server then checks on its own.
        what: What is checked, for the error: "The arguments".
        on: Whose they are.

    Raises:
        InvalidArgumentsError: A value does not fit; `field` names it.
    """
    from jsonschema import exceptions, validators
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    registry: Registry[Any] = Registry()  # without it, jsonschema would fetch remote references
    try:
        kind = validators.validator_for(dict(schema), default=validators.Draft202012Validator)
        kind.check_schema(dict(schema))
        violations = kind(dict(schema), registry=registry).iter_errors(dict(values))
        errors = sorted(violations, key=lambda error: (len(error.path), str(error.path)))
    # RecursionError: a schema that refers to itself; TypeError: a `$schema` that is not text.
    except (exceptions.SchemaError, Unresolvable, RecursionError, TypeError):
        return
    if not errors:
        return
    first = errors[0]
    path = [str(part) for part in first.absolute_path]
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    if first.validator == "required" and first.validator_value is not True:  # True: draft 3, of the field itself
        missing = [
            name
            for name in cast("list[str]", first.validator_value)
            if name not in cast("Mapping[str, Any]", first.instance)
        ]
        path += missing[:1]
        reason = "it is required"
    elif first.validator == "additionalProperties":
        extra = sorted(set(cast("Mapping[str, Any]", first.instance)) - set(properties)) if not path else []
        path += extra[:1]
        reason = "there is no such field"
    else:
        reason = str(first.message)
    field = ".".join(path)
    raise InvalidArgumentsError(
        f"{what} do not match the schema: {f'{field}: ' if field else ''}{reason}",
        on=on,
        try_=", ".join(f"{name} ({_type(part)})" for name, part in properties.items()) or "no arguments",
        field=field,
    )


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    fields = cast("Mapping[str, Any]", schema)
    if "enum" in fields:
        return " | ".join(repr(value) for value in cast("list[Any]", fields["enum"]))
    kind = fields.get("type", "any")
    return " | ".join(map(str, cast("list[object]", kind))) if isinstance(kind, list) else str(kind)
