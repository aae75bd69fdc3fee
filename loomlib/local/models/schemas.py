"""JSON schemas of tool inputs: following references, checking a value, and the plainest value that is valid.

The check knows the keywords that tool schemas use. Where a schema says something else (`if`, `contains`…) it answers
False: the scripted model would rather not call a tool than call it with arguments that might be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from loomlib.local.models.json_values import as_list, as_number, as_object, as_text, as_texts, as_whole

Schema = Mapping[str, object]

_ANNOTATIONS = frozenset(
    [
        "title", "description", "default", "examples", "example", "$schema", "$id", "$defs", "definitions",
        "$comment", "deprecated", "readOnly", "writeOnly", "format", "contentMediaType", "contentEncoding",
        "nullable", "strict", "discriminator",
    ]
)  # fmt: skip
_CHECKED = frozenset(
    [
        "$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "items",
        "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "minimum",
        "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "anyOf", "oneOf", "allOf", "not",
        "minProperties", "maxProperties",
    ]
)  # fmt: skip
_MAX_DEPTH = 12


def resolve(schema: object, root: Schema) -> Schema:
    """`schema` with its `$ref`s followed and `allOf` merged into one object; `{}` for `true` and for nonsense."""
    found = as_object(schema)
    for _ in range(_MAX_DEPTH):
        reference = as_text(found.get("$ref"))
        if not reference.startswith("#"):
            break
        target: object = root
        for step in reference[1:].strip("/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            target = as_object(target).get(key) if key else target
        found = {**as_object(target), **{key: value for key, value in found.items() if key != "$ref"}}
    parts = as_list(found.get("allOf"))
    if parts:
        merged = {key: value for key, value in found.items() if key != "allOf"}
        for part in parts:
            inner = resolve(part, root)
            properties = {**as_object(merged.get("properties")), **as_object(inner.get("properties"))}
            required = [*as_texts(merged.get("required")), *as_texts(inner.get("required"))]
            merged = {**inner, **merged}
            if properties:
                merged["properties"] = properties
            if required:
                merged["required"] = required
        return merged
    return found


def kinds(schema: Schema) -> tuple[str, ...]:
    """The types a resolved schema allows, `()` when it does not say."""
    declared = schema.get("type")
    names = (declared,) if isinstance(declared, str) else as_texts(declared)
    if not names and "properties" in schema:
        return ("object",)
    return tuple(name for name in names)


def is_valid(value: object, schema: object, root: Schema, depth: int = 0) -> bool:
    """Whether `value` is certainly valid; False as well for a schema that says what this check does not know."""
    if isinstance(schema, bool):
        return schema
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return False
    rules = as_object(cast(object, schema))
    if set(rules) - _ANNOTATIONS - _CHECKED:
        return False
    if "$ref" in rules:
        reference = as_text(rules["$ref"])
        if not reference.startswith("#") or not is_valid(value, _target(reference, root), root, depth + 1):
            return False
    return (
        _fits_type(value, rules)
        and ("const" not in rules or same(value, rules["const"]))
        and ("enum" not in rules or any(same(value, allowed) for allowed in as_list(rules["enum"])))
        and _fits_scalar(value, rules)
        and _fits_parts(value, rules, root, depth)
        and _fits_combination(value, rules, root, depth)
    )


def same(one: object, other: object) -> bool:
    """JSON equality: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        left, right = as_list(cast(object, one)), as_list(cast(object, other))
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = as_object(cast(object, one)), as_object(cast(object, other))
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    return one == other


def _target(reference: str, root: Schema) -> object:
    target: object = root
    for step in reference[1:].strip("/").split("/"):
        if step:
            target = as_object(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _fits_type(value: object, rules: Schema) -> bool:
    declared = rules.get("type")
    if declared is None:
        return True
    names = (declared,) if isinstance(declared, str) else as_texts(declared)
    return any(_is_kind(value, name) for name in names)


def _is_kind(value: object, name: str) -> bool:
    if name == "integer":
        return as_whole(value) is not None or (isinstance(value, float) and value.is_integer())
    if name == "number":
        return as_number(value) is not None
    python = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}.get(name)
    return python is not None and isinstance(value, python)


def _fits_scalar(value: object, rules: Schema) -> bool:
    if isinstance(value, str):
        pattern = rules.get("pattern")
        try:
            matches = not isinstance(pattern, str) or re.search(pattern, value) is not None
        except re.error:
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


def _fits_parts(value: object, rules: Schema, root: Schema, depth: int) -> bool:
    if isinstance(value, list):
        return _fits_array(as_list(cast(object, value)), rules, root, depth)
    return not isinstance(value, dict) or _fits_object(as_object(cast(object, value)), rules, root, depth)


def _fits_array(items: list[object], rules: Schema, root: Schema, depth: int) -> bool:
    fixed = as_list(rules.get("prefixItems"))
    rest = rules.get("items", True)
    return (
        _within(len(items), rules, "minItems", "maxItems")
        and not (rules.get("uniqueItems") is True and any(same(a, b) for i, a in enumerate(items) for b in items[:i]))
        and not isinstance(rest, list)
        and all(is_valid(item, fixed[i] if i < len(fixed) else rest, root, depth + 1) for i, item in enumerate(items))
    )


def _fits_object(value: dict[str, object], rules: Schema, root: Schema, depth: int) -> bool:
    properties = as_object(rules.get("properties"))
    others = rules.get("additionalProperties", True)
    return (
        all(name in value for name in as_texts(rules.get("required")))
        and _within(len(value), rules, "minProperties", "maxProperties")
        and all(is_valid(item, properties.get(name, others), root, depth + 1) for name, item in value.items())
    )


def _fits_combination(value: object, rules: Schema, root: Schema, depth: int) -> bool:
    def fitting(key: str) -> int:
        return sum(is_valid(value, option, root, depth + 1) for option in as_list(rules[key]))

    # `oneOf` and `not` need certainty in both directions, which False from an unknown keyword is not.
    return (
        ("anyOf" not in rules or fitting("anyOf") >= 1)
        and ("allOf" not in rules or fitting("allOf") == len(as_list(rules["allOf"])))
        and ("oneOf" not in rules or (fitting("oneOf") == 1 and _is_known(rules["oneOf"])))
        and ("not" not in rules or (_is_known(rules["not"]) and not is_valid(value, rules["not"], root, depth + 1)))
    )


def _is_known(schema: object) -> bool:
    """Whether every keyword below is one that the check understands (a reference counts as not understood)."""
    if isinstance(schema, list):
        return all(_is_known(item) for item in as_list(cast(object, schema)))
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    rules = as_object(cast(object, schema))
    if "$ref" in rules or set(rules) - _ANNOTATIONS - _CHECKED:
        return False
    inner = [rules[key] for key in ("items", "not", "anyOf", "oneOf", "allOf") if key in rules]
    inner += [item for item in as_object(rules.get("properties")).values()]
    return all(_is_known(item) for item in inner)


def _within(size: float, rules: Schema, low: str, high: str) -> bool:
    smallest, largest = as_number(rules.get(low)), as_number(rules.get(high))
    return (smallest is None or size >= smallest) and (largest is None or size <= largest)
