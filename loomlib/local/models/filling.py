"""Arguments for a tool, taken from what was said, so that they fit the tool's schema.

`fill` gives what the text supports; `fill_anyway` completes it with the plainest valid values, for a tool that must
be called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.local.models.json_values import JsonObject, as_list, as_number, as_object, as_text, as_texts, as_whole
from loomlib.local.models.reading import labelled, number_for, said, strings_for
from loomlib.local.models.schemas import Schema, is_valid, kinds, resolve
from loomlib.local.models.words import split_name

_MAX_DEPTH = 6
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


class Missing:
    """The text does not say; there is one of it."""


MISSING = Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Arguments, and the names of required parameters that nothing in the text could fill."""

    arguments: JsonObject
    missing: tuple[str, ...] = ()


def fill(schema: Schema, evidence: str, *, nth: int = 0) -> Filled:
    """Arguments for `schema` from `evidence`; `nth` picks the second, third… candidate of a text that names several."""
    root = schema
    top = resolve(schema, root)
    required = as_texts(top.get("required"))
    arguments: JsonObject = {}
    used: list[object] = []
    for name, declared in _in_reading_order(top, required):
        value = _value(declared, name, evidence, root, used=used, nth=nth, needed=name in required, depth=0)
        if isinstance(value, Missing) and name in required and "default" in (told := resolve(declared, root)):
            value = told["default"]
        if not isinstance(value, Missing):
            arguments[name] = value
            used.append(value)
    missing = tuple(name for name in required if name not in arguments)
    for name in [name for name in arguments if name not in required]:
        if not is_valid(arguments[name], as_object(top.get("properties")).get(name, True), root):
            del arguments[name]
    if not missing and not is_valid(arguments, schema, root):
        arguments = {name: value for name, value in arguments.items() if name in required}
        wrong = [
            n for n in arguments if not is_valid(arguments[n], as_object(top.get("properties")).get(n, True), root)
        ]
        if wrong or not is_valid(arguments, schema, root):
            missing = tuple(wrong) or required or ("arguments",)
    return Filled(arguments=arguments, missing=missing)


def fill_anyway(schema: Schema, evidence: Sequence[str]) -> object | Missing:
    """A value valid for `schema`: each part from the first text that says it, else the plainest; or MISSING."""
    value = _forced(schema, "", evidence, schema, 0)
    if is_valid(value, schema, schema):
        return value
    plain = plainest(schema, schema)
    return plain if is_valid(plain, schema, schema) else MISSING


def _in_reading_order(top: Schema, required: tuple[str, ...]) -> list[tuple[str, object]]:
    properties = as_object(top.get("properties"))
    names = [*(n for n in properties if n in required), *(n for n in properties if n not in required)]
    return [(name, properties[name]) for name in names] + [(n, {}) for n in required if n not in properties]


def _value(
    declared: object, name: str, evidence: str, root: Schema, *, used: list[object], nth: int, needed: bool, depth: int
) -> object | Missing:
    schema = resolve(declared, root)
    if "const" in schema:
        return schema["const"]
    hint = f"{' '.join(split_name(name))} {as_text(schema.get('description'))}"
    if "enum" in schema:
        return _enum(as_list(schema["enum"]), name, hint, evidence, used)
    for combination in ("anyOf", "oneOf"):
        for option in as_list(schema.get(combination)):
            inner = {**{k: v for k, v in schema.items() if k != combination}, **resolve(option, root)}
            if kinds(inner) == ("null",):
                continue
            found = (
                _value(inner, name, evidence, root, used=used, nth=nth, needed=needed, depth=depth + 1)
                if depth < _MAX_DEPTH
                else MISSING
            )
            if not isinstance(found, Missing):
                return found
    kind = next((kind for kind in kinds(schema) if kind != "null"), "string" if needed else "")
    if kind == "string":
        candidates = [
            text for text in strings_for(name, hint, schema, evidence, needed=needed) if is_valid(text, schema, root)
        ]
        fresh = [text for text in candidates if text not in used] or (candidates if needed else [])
        return fresh[nth] if nth < len(fresh) else (fresh[-1] if fresh else MISSING)
    if kind in ("number", "integer"):
        numbers = [n for n in used if as_number(n) is not None]
        number = number_for(name, evidence, taken=len(numbers), whole=kind == "integer", needed=needed)
        return MISSING if number is None or not is_valid(number, schema, root) else number
    if kind == "boolean":
        return said(name, evidence, MISSING)
    if kind == "array":
        return _array(schema, name, evidence, root, depth)
    if kind == "object" and depth < _MAX_DEPTH:
        return _object(schema, evidence, root, depth)
    return MISSING


def _enum(allowed: list[object], name: str, hint: str, evidence: str, used: list[object]) -> object | Missing:
    from loomlib.local.models.reading import enum_in

    found = enum_in(allowed, name, hint, evidence, used)
    return MISSING if found is None else found


def _array(schema: Schema, name: str, evidence: str, root: Schema, depth: int) -> object | Missing:
    from loomlib.local.models.numerals import find_numbers

    item = resolve(schema.get("items"), root)
    kind = next(iter(kinds(item)), "string")
    found: list[object] = []
    if "enum" in item:
        used: list[object] = []
        while (
            not isinstance(value := _enum(as_list(item["enum"]), name, name, evidence, used), Missing)
            and value not in used
        ):
            used.append(value)
        found = used
    elif kind in ("number", "integer"):
        found = [n for n in find_numbers(evidence) if kind == "number" or isinstance(n, int)]
    elif kind == "string":
        listed = labelled(name, evidence)
        found = (
            list(re.split(r"\s*(?:,|\band\b|;)\s*", listed))
            if listed
            else list(strings_for(name.removesuffix("s"), name, item, evidence, needed=False))
        )
    elif kind == "object" and depth < _MAX_DEPTH:
        value = _object(item, evidence, root, depth + 1)
        found = [] if isinstance(value, Missing) else [value]
    valid = [entry for entry in found if entry != "" and is_valid(entry, item, root)]
    most = as_whole(schema.get("maxItems"))
    valid = valid[:most] if most is not None else valid
    return valid if valid and is_valid(valid, schema, root) else MISSING


def _object(schema: Schema, evidence: str, root: Schema, depth: int) -> object | Missing:
    required = as_texts(schema.get("required"))
    value: JsonObject = {}
    used: list[object] = []
    for name, declared in _in_reading_order(schema, required):
        found = _value(declared, name, evidence, root, used=used, nth=0, needed=name in required, depth=depth + 1)
        if not isinstance(found, Missing):
            value[name] = found
            used.append(found)
    return value if value and all(name in value for name in required) else MISSING


def _forced(declared: object, name: str, evidence: Sequence[str], root: Schema, depth: int) -> object:
    """The value of one place: from the first text that has it, object by object; else the plainest."""
    schema = resolve(declared, root)
    if depth < _MAX_DEPTH and "object" in kinds(schema) and "enum" not in schema and "const" not in schema:
        required = as_texts(schema.get("required"))
        value: JsonObject = {}
        used: list[object] = []
        for key, inner in _in_reading_order(schema, required):
            found: object | Missing = MISSING
            for text in evidence:
                found = _value(inner, key, text, root, used=used, nth=0, needed=key in required, depth=depth + 1)
                if not isinstance(found, Missing) and is_valid(found, inner, root):
                    break
                found = MISSING
            if isinstance(found, Missing) and key in required:
                found = _forced(inner, key, evidence, root, depth + 1)
            if not isinstance(found, Missing):
                value[key] = found
                used.append(found)
        return value
    for text in evidence:
        found = _value(declared, name, text, root, used=[], nth=0, needed=True, depth=depth + 1)
        if not isinstance(found, Missing) and is_valid(found, declared, root):
            return found
    return plainest(declared, root)


def plainest(declared: object, root: Schema, depth: int = 0) -> object:
    """The plainest value that a schema suggests: its default, an example, an enum entry, an empty list, the minimum."""
    schema = resolve(declared, root)
    for suggestion in (
        schema.get("default"),
        *as_list(schema.get("examples")),
        schema.get("const"),
        *as_list(schema.get("enum")),
    ):
        if suggestion is not None and is_valid(suggestion, declared, root):
            return suggestion
    options = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    if options and not kinds(schema) and depth < _MAX_DEPTH:
        return next((v for v in (plainest(o, root, depth + 1) for o in options) if is_valid(v, declared, root)), None)
    kind = next(iter(kinds(schema)), "string")
    if kind == "object":
        properties = as_object(schema.get("properties"))
        required = as_texts(schema.get("required")) if depth < _MAX_DEPTH else ()
        return {name: plainest(properties.get(name, {}), root, depth + 1) for name in required}
    if kind == "array":
        count = min(as_whole(schema.get("minItems")) or 0, 20) if depth < _MAX_DEPTH else 0
        return [plainest(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    if kind in ("number", "integer"):
        return _plain_number(schema, root)
    if kind == "string":
        return _plain_text(schema, root)
    return False if kind == "boolean" else None


def _plain_number(schema: Schema, root: Schema) -> int | float:
    low, high = as_number(schema.get("minimum")), as_number(schema.get("maximum"))
    above, below = as_number(schema.get("exclusiveMinimum")), as_number(schema.get("exclusiveMaximum"))
    step = as_number(schema.get("multipleOf")) or 1
    near = [bound for bound in (low, high, above, below) if bound is not None]
    tries: list[float] = [0, *near]
    for bound in near:
        rounded = bound // step * step
        tries += [rounded, rounded + step, rounded - step, bound + 1, bound - 1]
    if above is not None and below is not None:
        tries.append((above + below) / 2)
    for value in tries:
        number = int(value) if float(value).is_integer() else value
        if is_valid(number, schema, root):
            return number
    return 0


def _plain_text(schema: Schema, root: Schema) -> str:
    text = _FORMATS.get(as_text(schema.get("format")), "")
    shortest = as_whole(schema.get("minLength")) or 0
    for attempt in (text, "unknown", "n/a", "a", "A", "0", "1", "a1", "00000", "x" * min(shortest, 100_000)):
        padded = attempt.ljust(min(shortest, 100_000), ".") if text == "" else attempt
        for candidate in (attempt, padded):
            if is_valid(candidate, schema, root):
                return candidate
    return ""
