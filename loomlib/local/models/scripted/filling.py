"""Arguments for a tool, taken from a text so that they are valid for the tool's schema.

`fill` takes what the text supports; `fill_anyway` completes it with default values, for a tool that must be called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..json_values import JsonObject, as_integer, as_list, as_number, as_object, as_texts
from .numbers import find_numbers
from .parameters import MISSING, Found, allowed_in, mentioned, number_for, strings_for
from .recognize import labelled
from .schemas import MAX_VALUE_DEPTH as _MAX_DEPTH
from .schemas import Schema, default_value, is_valid, kinds, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Arguments, and the names of the required parameters that the text could not fill."""

    arguments: JsonObject
    missing: tuple[str, ...] = ()


def fill(schema: Schema, text: str, *, nth: int = 0) -> Filled:
    """Take arguments from a text.

    Args:
        schema: The JSON schema of the tool's input.
        text: The text that may contain them.
        nth: Index of the candidate to take from a text that names several.
    """
    top = resolve(schema, schema)
    properties, required = as_object(top.get("properties")), as_texts(top.get("required"))
    source = _Source(text=text, root=schema, nth=nth)
    for name, declared in _in_reading_order(top):
        value = source.value(declared, name, needed=name in required)
        if value is MISSING and name in required:
            value = resolve(declared, schema).get("default", MISSING)
        source.take(name, value)
    arguments = source.arguments
    invalid = [name for name in arguments if not is_valid(arguments[name], properties.get(name, True), schema)]
    for name in set(invalid).difference(required):
        del arguments[name]
    missing = tuple(name for name in required if name not in arguments)
    if not missing and not is_valid(arguments, schema, schema):
        arguments = {name: value for name, value in arguments.items() if name in required}
        wrong = [name for name in arguments if not is_valid(arguments[name], properties.get(name, True), schema)]
        if wrong or not is_valid(arguments, schema, schema):
            missing = tuple(wrong) or required or ("arguments",)
    return Filled(arguments=arguments, missing=missing)


def fill_anyway(schema: Schema, texts: Sequence[str]) -> Found:
    """Build a valid value: each part from the first text that has it, otherwise a default; MISSING if impossible.

    Args:
        schema: The JSON schema of the value.
        texts: The texts that may contain its parts, the most relevant first.
    """
    value = _forced(schema, "", texts, schema, 0)
    if is_valid(value, schema, schema):
        return value
    default = default_value(schema, schema)
    return default if is_valid(default, schema, schema) else MISSING


@dataclass(slots=True, kw_only=True)
class _Source:
    """A text, and the arguments already taken from it."""

    text: str
    root: Schema
    nth: int = 0
    depth: int = 0
    arguments: JsonObject = field(default_factory=dict[str, object])

    @property
    def used(self) -> list[object]:
        return list(self.arguments.values())

    def take(self, name: str, value: Found) -> None:
        if value is not MISSING:
            self.arguments[name] = value

    def inner(self) -> _Source:
        return _Source(text=self.text, root=self.root, depth=self.depth + 1)

    def value(self, declared: object, name: str, *, needed: bool) -> Found:
        """Return the value of one parameter."""
        schema = resolve(declared, self.root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return allowed_in(as_list(schema["enum"]), name, self.text, self.used)
        for combination in ("anyOf", "oneOf"):
            for option in as_list(schema.get(combination)) if self.depth < _MAX_DEPTH else ():
                rest = {key: rule for key, rule in schema.items() if key != combination}
                merged = {**rest, **resolve(option, self.root)}
                self.depth += 1
                value = MISSING if kinds(merged) == ("null",) else self.value(merged, name, needed=needed)
                self.depth -= 1
                if value is not MISSING:
                    return value
        kind = next((kind for kind in kinds(schema) if kind != "null"), "string" if needed else "")
        if kind == "string":
            return self._string(schema, name, needed)
        if kind in ("number", "integer"):
            used_count = sum(as_number(value) is not None for value in self.used)
            number = number_for(name, self.text, taken=used_count, whole=kind == "integer", needed=needed)
            return MISSING if number is None or not is_valid(number, schema, self.root) else number
        if kind == "boolean":
            return mentioned(name, self.text)
        if kind == "array":
            return self._array(schema, name)
        return self._object(schema) if kind == "object" and self.depth < _MAX_DEPTH else MISSING

    def _string(self, schema: Schema, name: str, needed: bool) -> Found:
        candidates = [
            text for text in strings_for(name, schema, self.text, needed=needed) if is_valid(text, schema, self.root)
        ]
        fresh = [text for text in candidates if text not in self.used] or (candidates if needed else [])
        return fresh[min(self.nth, len(fresh) - 1)] if fresh else MISSING

    def _array(self, schema: Schema, name: str) -> Found:
        item = resolve(schema.get("items"), self.root)
        kind = next(iter(kinds(item)), "string")
        entries: list[object] = []
        if "enum" in item:
            while (value := allowed_in(as_list(item["enum"]), name, self.text, entries)) is not MISSING:
                if value in entries:
                    break
                entries.append(value)
        elif kind in ("number", "integer"):
            entries = [number for number in find_numbers(self.text) if kind == "number" or isinstance(number, int)]
        elif kind == "string":
            label = labelled(name, self.text)
            split = re.split(r"\s*(?:,|\band\b|;)\s*", label) if label else None
            entries += split or strings_for(
                name.removesuffix("s"), {**item, "description": name}, self.text, needed=False
            )
        elif kind == "object" and self.depth < _MAX_DEPTH:
            value = self.inner()._object(item)
            entries = [] if value is MISSING else [value]
        valid = [entry for entry in entries if entry != "" and is_valid(entry, item, self.root)]
        valid = valid[: as_integer(schema.get("maxItems"))]
        return valid if valid and is_valid(valid, schema, self.root) else MISSING

    def _object(self, schema: Schema) -> Found:
        required = as_texts(schema.get("required"))
        inner = self.inner()
        for name, declared in _in_reading_order(schema):
            inner.take(name, inner.value(declared, name, needed=name in required))
        complete = inner.arguments and all(name in inner.arguments for name in required)
        return inner.arguments if complete else MISSING


def _in_reading_order(top: Schema) -> list[tuple[str, object]]:
    """Return the parameters: declared required ones, then optional ones, then required ones that are not declared."""
    properties, required = as_object(top.get("properties")), as_texts(top.get("required"))
    names = sorted(properties, key=lambda name: name not in required)
    return [(name, properties[name]) for name in names] + [(name, {}) for name in required if name not in properties]


def _forced(declared: object, name: str, texts: Sequence[str], root: Schema, depth: int) -> object:
    schema = resolve(declared, root)
    if depth < _MAX_DEPTH and "object" in kinds(schema) and "enum" not in schema and "const" not in schema:
        required = as_texts(schema.get("required"))
        filled: JsonObject = {}
        for key, inner in _in_reading_order(schema):
            value = _first(inner, key, texts, root, depth + 1, filled, needed=key in required)
            if value is MISSING and key in required:
                value = _forced(inner, key, texts, root, depth + 1)
            if value is not MISSING:
                filled[key] = value
        return filled
    value = _first(declared, name, texts, root, depth + 1, {}, needed=True)
    return default_value(declared, root) if value is MISSING else value


def _first(
    declared: object, name: str, texts: Sequence[str], root: Schema, depth: int, arguments: JsonObject, *, needed: bool
) -> Found:
    """Return the value of a parameter in the first text that has a valid one."""
    for text in texts:
        value = _Source(text=text, root=root, depth=depth, arguments=arguments).value(declared, name, needed=needed)
        if value is not MISSING and is_valid(value, declared, root):
            return value
    return MISSING
