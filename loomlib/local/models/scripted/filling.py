"""Arguments for a tool, taken from a text so that they are valid for the tool's schema.

`fill` takes what the text supports; `fill_anyway` completes it with default values, for a tool that must be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from ..json_values import JsonObject, as_list, as_number, as_object, as_text, as_texts, as_whole
from . import recognize
from .language import pattern, split_name, stem, word_list, words
from .numbers import find_numbers
from .recognize import labelled
from .schemas import Schema, is_valid, kinds, resolve
from .sums import find_sums

_MAX_DEPTH = 6
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


class _Missing(Enum):
    MISSING = auto()


MISSING = _Missing.MISSING
"""The text does not say."""
Found: TypeAlias = object | _Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Arguments, and the names of the required parameters that the text could not fill."""

    arguments: JsonObject
    missing: tuple[str, ...] = ()


def fill(schema: Schema, text: str, *, nth: int = 0) -> Filled:
    """Take arguments from a text.

    Args:
        schema: The JSON schema of the tool's input.
        text: What may contain them.
        nth: Takes the second, third… candidate of a text that names several.
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
    """A valid value: each part from the first text that says it, else a default; MISSING if there is none.

    Args:
        schema: The JSON schema of the value.
        texts: What may contain its parts, the most relevant first.
    """
    value = _forced(schema, "", texts, schema, 0)
    if is_valid(value, schema, schema):
        return value
    default = default_value(schema, schema)
    return default if is_valid(default, schema, schema) else MISSING


@dataclass(slots=True, kw_only=True)
class _Source:
    """A text, and the arguments that were taken from it."""

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
        """The value of one parameter."""
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
            taken = sum(as_number(value) is not None for value in self.used)
            number = number_for(name, self.text, taken=taken, whole=kind == "integer", needed=needed)
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
        valid = valid[: as_whole(schema.get("maxItems"))]
        return valid if valid and is_valid(valid, schema, self.root) else MISSING

    def _object(self, schema: Schema) -> Found:
        required = as_texts(schema.get("required"))
        inner = self.inner()
        for name, declared in _in_reading_order(schema):
            inner.take(name, inner.value(declared, name, needed=name in required))
        complete = inner.arguments and all(name in inner.arguments for name in required)
        return inner.arguments if complete else MISSING


def _in_reading_order(top: Schema) -> list[tuple[str, object]]:
    """The parameters: required ones first, then those that are required and not declared."""
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
    declared: object, name: str, texts: Sequence[str], root: Schema, depth: int, taken: JsonObject, *, needed: bool
) -> Found:
    """The value of a parameter in the first text that has a valid one."""
    for text in texts:
        value = _Source(text=text, root=root, depth=depth, arguments=taken).value(declared, name, needed=needed)
        if value is not MISSING and is_valid(value, declared, root):
            return value
    return MISSING


# -- Candidates in a text


def strings_for(name: str, schema: Schema, text: str, *, needed: bool) -> list[str]:
    """Candidates for a text parameter, the best first.

    Args:
        name: The parameter's name.
        schema: Its resolved schema.
        text: What may contain it.
        needed: Whether free text may take the whole request.
    """
    own = frozenset(split_name(name))
    about = own | frozenset(words(as_text(schema.get("description")).split(".", 1)[0]))
    label = labelled(name, text)
    for found in _of_kind(own, about, as_text(schema.get("format")), text):
        # What the text labels with the parameter's name wins, unless it has a form of its own, as a sum or a date has.
        return ([label] if label and not found else []) + found
    if label:
        return [label]
    quoted = recognize.find_quoted(text)
    if own & _words("name"):
        return recognize.find_names(text)
    if own & _words("text"):
        given = quoted or [*recognize.after_colon(text), *pattern("recognize", "translate").findall(text)[:1]]
        return given or ([text.strip()] if needed else [])
    if own & _words("query") or (needed and about & _words("query")):
        return [*quoted, *([recognize.topic(text) or text.strip()] if needed else [])]
    if own & _words("code"):
        return recognize.find_codes(text) or ([str(number) for number in find_numbers(text)] if needed else [])
    return [*quoted, *(recognize.find_names(text) if needed else [])]


def _of_kind(own: frozenset[str], about: frozenset[str], shape: str, text: str) -> Iterator[list[str]]:
    """The candidates of the kind that a parameter's name, description or format tells; nothing if none does."""
    if own & _words("expression"):
        yield [each.expression for each in find_sums(text)]
    if own & _words("url") or shape in ("uri", "url"):
        yield recognize.find_urls(text)
    if "email" in own or shape == "email" or ("email" in about and own & {"to", "recipient"}):
        yield recognize.find_emails(text)
    if own & _words("zone") or (about & {"timezone", "iana"} and not own & _words("place")):
        yield recognize.find_zones(text)
    if shape in ("date", "date-time"):
        yield recognize.find_iso_dates(text)
    if own & {"unit", "units"} or ("unit" in about and own & (_words("to") | _words("from"))):
        yield _units(own, text)
    if own & {"date", "day", "when"}:
        yield recognize.find_dates(text)
    if "time" in own:
        yield recognize.find_times(text)
    if own & _words("place"):
        yield recognize.find_places(text)
    if "language" in own:
        yield recognize.find_languages(text)


def number_for(name: str, text: str, *, taken: int, whole: bool, needed: bool) -> int | float | None:
    """The number that a parameter means: the one beside its name, else the next unused one.

    Args:
        name: The parameter's name.
        text: What may contain the number.
        taken: How many numbers are used already.
        whole: Whether it must be an integer.
        needed: Whether a number without a name may be taken.
    """
    label = labelled(name, text)
    beside = find_numbers(label) if label else []
    for word in () if beside else split_name(name):
        quantity = rf"(-?[\d.,]+)\s*-?{re.escape(word)}s?\b|\b{re.escape(word)}s?\b\D{{0,12}}?(-?\d[\d.,]*)"
        match = re.search(quantity, text, re.IGNORECASE)
        if match and len(word) > 1:
            beside = find_numbers(match[1] or match[2])
            break
    if not beside and "age" in split_name(name):
        years = re.search(r"(\d+)[\s-]*years?[\s-]*old|\bI(?:'m| am) (\d+)\b", text, re.IGNORECASE)
        beside = find_numbers(years[1] or years[2]) if years else []
    numbers = beside or (find_numbers(text)[taken:] if needed else [])
    return next((number for number in numbers if not whole or isinstance(number, int)), None)


def mentioned(name: str, text: str) -> Found:
    """True if a text names a flag, False if it does so with a "no"; MISSING if it does not name it."""
    stems = {stem(word) for word in split_name(name)} - {"is", "has", "includ", "with", "us"}
    for clause in re.split(r"[.,;!?\n]", text):
        if stems & {stem(word) for word in words(clause)}:
            is_negated = pattern("requests", "negation").search(clause)
            return not (is_negated or (labelled(name, clause) or "").lower() in ("false", "no"))
    return MISSING


def allowed_in(allowed: Sequence[object], name: str, text: str, used: Sequence[object]) -> Found:
    """The allowed value that a text mentions; `from…` and `to…` parameters look at their own side of the text first.

    Args:
        allowed: The values of an enumeration.
        name: The parameter's name.
        text: What may mention one of them.
        used: Values that other parameters have.
    """
    side = _side(frozenset(split_name(name)), text)
    for part in (side, text) if side else (text,):
        spoken = words(part)
        stems, joined = {stem(word) for word in spoken}, f" {' '.join(spoken)} "
        units = set(recognize.find_units(part))
        for value in allowed:
            if not isinstance(value, str) or value in used:
                continue
            names = split_name(value)
            is_said = f" {' '.join(names)} " in joined or (names and all(stem(word) in stems for word in names))
            if is_said or units & recognize.unit_names(value):
                return value
    numbers = [number for number in find_numbers(text) if number in allowed]
    return numbers[0] if numbers else MISSING


def _words(kind: str) -> frozenset[str]:
    return word_list("parameters", kind)


def _units(own: frozenset[str], text: str) -> list[str]:
    units = recognize.find_units(text, as_written=True)
    is_target = own & _words("to")
    measured = next((unit for unit in units if re.search(rf"\d\s*(?:degrees\s+)?{re.escape(unit)}\b", text)), None)
    if measured is None:
        return units[1:] if len(units) >= 2 and is_target else units
    others = [unit for unit in units if unit != measured]
    return others if is_target and others else [measured, *others]


def _side(own: frozenset[str], text: str) -> str:
    parts = re.split(r"\b(?:to|into|in)\b", text, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) != 2:
        return ""
    return parts[1] if own & _words("to") else parts[0] if own & _words("from") else ""


# -- Default values


def default_value(declared: object, root: Schema, depth: int = 0) -> object:
    """The plainest value of a schema: its default, an example, an enum entry, an empty list, the minimum.

    Args:
        declared: The schema.
        root: The schema that its references point into.
        depth: How deep it is nested.
    """
    schema = resolve(declared, root)
    suggested = [schema.get("default"), *as_list(schema.get("examples")), schema.get("const")]
    for value in (*suggested, *as_list(schema.get("enum"))):
        if value is not None and is_valid(value, declared, root):
            return value
    options = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    if options and not kinds(schema) and depth < _MAX_DEPTH:
        values = (default_value(option, root, depth + 1) for option in options)
        return next((value for value in values if is_valid(value, declared, root)), None)
    kind = next(iter(kinds(schema)), "string")
    if kind == "object":
        properties = as_object(schema.get("properties"))
        required = as_texts(schema.get("required")) if depth < _MAX_DEPTH else ()
        return {name: default_value(properties.get(name, {}), root, depth + 1) for name in required}
    if kind == "array":
        count = min(as_whole(schema.get("minItems")) or 0, 20) if depth < _MAX_DEPTH else 0
        return [default_value(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    if kind in ("number", "integer"):
        return _default_number(schema, root)
    if kind == "string":
        return _default_text(schema, root)
    return False if kind == "boolean" else None


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
    shortest = min(as_whole(schema.get("minLength")) or 0, _LONGEST)
    for attempt in (text, "unknown", "n/a", "a", "A", "0", "1", "a1", "00000", "x" * shortest):
        for candidate in (attempt, attempt.ljust(shortest, ".") if text == "" else attempt):
            if is_valid(candidate, schema, root):
                return candidate
    return ""
