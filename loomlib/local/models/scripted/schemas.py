"""JSON schemas of tool inputs: following references, checking values, and default values.

The check covers the keywords that tool schemas use. A schema with any other keyword (`if`, `contains`…) accepts
nothing: the scripted model does not call a tool with arguments that may be invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from ...patterns import Pattern, PatternError
from ..json_values import as_integer, as_list, as_number, as_object, as_text, as_texts

Schema = Mapping[str, object]

_ANNOTATIONS = frozenset([
    "title", "description", "default", "examples", "example", "$schema", "$id", "$defs", "definitions", "$comment",
    "deprecated", "readOnly", "writeOnly", "format", "contentMediaType", "contentEncoding", "nullable", "strict",
    "discriminator",
])  # fmt: skip
_TYPES = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
_MAX_DEPTH = 12
MAX_VALUE_DEPTH = 6
"""Maximum nesting depth of values for a schema."""
_LONGEST = 100_000
_FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "ipv4": "127.0.0.1",
    "hostname": "localhost",
}


def resolve(schema: object, root: Schema) -> Schema:
    """Follow the `$ref`s of a schema and merge its `allOf` into one object; `{}` for anything that is not an object."""
    resolved = as_object(schema)
    for _ in range(_MAX_DEPTH):
        reference = as_text(resolved.get("$ref"))
        if not reference.startswith("#"):
            break
        own = {key: value for key, value in resolved.items() if key != "$ref"}
        resolved = {**as_object(_target(reference, root)), **own}
    parts = as_list(resolved.get("allOf"))
    if not parts:
        return resolved
    merged = {key: value for key, value in resolved.items() if key != "allOf"}
    for part in parts:
        inner = resolve(part, root)
        properties = {**as_object(merged.get("properties")), **as_object(inner.get("properties"))}
        required = [*as_texts(merged.get("required")), *as_texts(inner.get("required"))]
        merged = {**inner, **merged, **({"properties": properties} if properties else {})}
        merged |= {"required": required} if required else {}
    return merged


def kinds(schema: Schema) -> tuple[str, ...]:
    """Return the types that a resolved schema allows; `()` if it does not restrict them."""
    declared = schema.get("type")
    names = (declared,) if isinstance(declared, str) else as_texts(declared)
    return names or (("object",) if "properties" in schema else ())


def is_valid(value: object, schema: object, root: Schema, depth: int = 0) -> bool:
    """Return whether `value` is certainly valid; also False if the schema has a keyword that is not checked.

    Args:
        value: A JSON value.
        schema: The schema to check against.
        root: The schema that its references point into.
        depth: The nesting depth of the schema below the initial one.
    """
    if isinstance(schema, bool):
        return schema
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return False
    rules = as_object(cast(object, schema))

    def valid(part: object, inner: object) -> bool:
        return is_valid(part, inner, root, depth + 1)

    def fitting(rule: object) -> int:
        return sum(valid(value, option) for option in as_list(rule))

    checks: dict[str, Callable[[object], bool]] = {
        "$ref": lambda rule: as_text(rule).startswith("#") and valid(value, _target(as_text(rule), root)),
        "const": lambda rule: _equal(value, rule),
        "enum": lambda rule: any(_equal(value, allowed) for allowed in as_list(rule)),
        "anyOf": lambda rule: fitting(rule) >= 1,
        "allOf": lambda rule: fitting(rule) == len(as_list(rule)),
        # `oneOf` and `not` need certainty in both directions, which False from an unknown keyword is not.
        "oneOf": lambda rule: fitting(rule) == 1 and _is_known(rule),
        "not": lambda rule: _is_known(rule) and not valid(value, rule),
    }
    if not all(
        key in _ANNOTATIONS or key in _BY_TYPE or (key in checks and checks[key](rule)) for key, rule in rules.items()
    ):
        return False
    return _fits_type(value, rules) and _fits_scalar(value, rules) and _fits_parts(value, rules, valid)


def default_value(declared: object, root: Schema, depth: int = 0) -> object:
    """Return the simplest value of a schema: its default, an example, an enum entry, an empty list, the minimum.

    Args:
        declared: The schema.
        root: The schema that its references point into.
        depth: Its nesting depth.
    """
    schema = resolve(declared, root)
    suggested = [schema.get("default"), *as_list(schema.get("examples")), schema.get("const")]
    for value in (*suggested, *as_list(schema.get("enum"))):
        if value is not None and is_valid(value, declared, root):
            return value
    options = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    if options and not kinds(schema) and depth < MAX_VALUE_DEPTH:
        values = (default_value(option, root, depth + 1) for option in options)
        return next((value for value in values if is_valid(value, declared, root)), None)
    kind = next(iter(kinds(schema)), "string")
    if kind == "object":
        properties = as_object(schema.get("properties"))
        required = as_texts(schema.get("required")) if depth < MAX_VALUE_DEPTH else ()
        return {name: default_value(properties.get(name, {}), root, depth + 1) for name in required}
    if kind == "array":
        count = min(as_integer(schema.get("minItems")) or 0, 20) if depth < MAX_VALUE_DEPTH else 0
        return [default_value(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    if kind in ("number", "integer"):
        return _default_number(schema, root)
    if kind == "string":
        return _default_text(schema, root)
    return False if kind == "boolean" else None


_BY_TYPE = frozenset([
    "type", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems",
    "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minProperties", "maxProperties",
])  # fmt: skip
_CHECKED = _BY_TYPE | {"$ref", "const", "enum", "anyOf", "allOf", "oneOf", "not"}


def _target(reference: str, root: Schema) -> object:
    target: object = root
    for step in filter(None, reference[1:].strip("/").split("/")):
        target = as_object(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _equal(one: object, other: object) -> bool:
    """Compare JSON values: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        left, right = as_list(cast(object, one)), as_list(cast(object, other))
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = as_object(cast(object, one)), as_object(cast(object, other))
        return first.keys() == second.keys() and all(_equal(first[key], second[key]) for key in first)
    return one == other


def _fits_type(value: object, rules: Schema) -> bool:
    declared = rules.get("type")
    names = (declared,) if isinstance(declared, str) else as_texts(declared)
    return declared is None or any(_is_of_type(value, name) for name in names)


def _is_of_type(value: object, name: str) -> bool:
    if name == "integer":
        return as_integer(value) is not None or (isinstance(value, float) and value.is_integer())
    if name == "number":
        return as_number(value) is not None
    return name in _TYPES and isinstance(value, _TYPES[name])


def _fits_scalar(value: object, rules: Schema) -> bool:
    if isinstance(value, str):
        pattern = rules.get("pattern")
        try:
            matches = not isinstance(pattern, str) or Pattern(pattern).occurs_in(value)
        except PatternError:
            return False
        return matches and _within(len(value), rules, "minLength", "maxLength")
    number = as_number(value)
    if number is None:
        return True
    above, below = as_number(rules.get("exclusiveMinimum")), as_number(rules.get("exclusiveMaximum"))
    step = as_number(rules.get("multipleOf"))
    return (
        _within(number, rules, "minimum", "maximum")
        and (above is None or number > above)
        and (below is None or number < below)
        and not any(isinstance(rules.get(key), bool) for key in ("exclusiveMinimum", "exclusiveMaximum"))
        and (step is None or (step > 0 and (number / step).is_integer()))
    )


def _fits_parts(value: object, rules: Schema, valid: Callable[[object, object], bool]) -> bool:
    if isinstance(value, list):
        items, fixed, rest = as_list(cast(object, value)), as_list(rules.get("prefixItems")), rules.get("items", True)
        unique = rules.get("uniqueItems") is True
        return (
            _within(len(items), rules, "minItems", "maxItems")
            and not (unique and any(_equal(a, b) for i, a in enumerate(items) for b in items[:i]))
            and not isinstance(rest, list)
            and all(valid(item, fixed[i] if i < len(fixed) else rest) for i, item in enumerate(items))
        )
    if isinstance(value, dict):
        members, properties = as_object(cast(object, value)), as_object(rules.get("properties"))
        others = rules.get("additionalProperties", True)
        return (
            all(name in members for name in as_texts(rules.get("required")))
            and _within(len(members), rules, "minProperties", "maxProperties")
            and all(valid(item, properties.get(name, others)) for name, item in members.items())
        )
    return True


def _is_known(schema: object) -> bool:
    """Return whether all keywords of a schema and its subschemas are checked; a reference counts as unknown."""
    if isinstance(schema, list):
        return all(_is_known(item) for item in as_list(cast(object, schema)))
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    rules = as_object(cast(object, schema))
    if "$ref" in rules or set(rules) - _ANNOTATIONS - _CHECKED:
        return False
    inner = [rules[key] for key in ("items", "not", "anyOf", "oneOf", "allOf") if key in rules]
    return all(_is_known(item) for item in [*inner, *as_object(rules.get("properties")).values()])


def _within(size: float, rules: Schema, low: str, high: str) -> bool:
    smallest, largest = as_number(rules.get(low)), as_number(rules.get(high))
    return (smallest is None or size >= smallest) and (largest is None or size <= largest)


def _default_number(schema: Schema, root: Schema) -> int | float:
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    bounds = {name: bound for name in names if (bound := as_number(schema.get(name))) is not None}
    step = as_number(schema.get("multipleOf")) or 1
    attempts: list[float] = [0, *bounds.values()]
    for bound in bounds.values():
        rounded = bound // step * step
        attempts += [rounded, rounded + step, rounded - step, bound + 1, bound - 1]
    if "exclusiveMinimum" in bounds and "exclusiveMaximum" in bounds:
        attempts.append((bounds["exclusiveMinimum"] + bounds["exclusiveMaximum"]) / 2)
    numbers = (int(value) if float(value).is_integer() else value for value in attempts)
    return next((number for number in numbers if is_valid(number, schema, root)), 0)


def _default_text(schema: Schema, root: Schema) -> str:
    text = _FORMATS.get(as_text(schema.get("format")), "")
    shortest = min(as_integer(schema.get("minLength")) or 0, _LONGEST)
    for attempt in (text, "unknown", "n/a", "a", "A", "0", "1", "a1", "00000", "x" * shortest):
        for candidate in (attempt, attempt.ljust(shortest, ".") if text == "" else attempt):
            if is_valid(candidate, schema, root):
                return candidate
    return ""
