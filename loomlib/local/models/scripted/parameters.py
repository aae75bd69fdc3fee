"""Values of one parameter in a text: candidates of its kind, a number next to its name, a flag, an allowed value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import TypeAlias

from ..json_values import as_text
from . import recognize
from .language import pattern, split_name, stem, word_list, words
from .numbers import find_numbers
from .recognize import labelled
from .schemas import Schema
from .sums import find_sums


class _Missing(Enum):
    MISSING = auto()


MISSING = _Missing.MISSING
"""The text does not contain a value."""
Found: TypeAlias = object | _Missing


def strings_for(name: str, schema: Schema, text: str, *, needed: bool) -> list[str]:
    """Return the candidates for a text parameter, best first.

    Args:
        name: The parameter's name.
        schema: Its resolved schema.
        text: The text that may contain it.
        needed: Whether free text may take the whole request.
    """
    own = frozenset(split_name(name))
    about = own | frozenset(words(as_text(schema.get("description")).split(".", 1)[0]))
    label = labelled(name, text)
    for candidates in _of_kind(own, about, as_text(schema.get("format")), text):
        # A value labelled with the parameter's name takes precedence, unless the kind has its own form, such as a date.
        return ([label] if label and not candidates else []) + candidates
    if label:
        return [label]
    quoted = recognize.find_quoted(text)
    if own & _words("name"):
        return recognize.find_names(text)
    if own & _words("text"):
        texts = quoted or [*recognize.after_colon(text), *pattern("recognize", "translate").findall(text)[:1]]
        return texts or ([text.strip()] if needed else [])
    if own & _words("query") or (needed and about & _words("query")):
        return [*quoted, *([recognize.topic(text) or text.strip()] if needed else [])]
    if own & _words("code"):
        return recognize.find_codes(text) or ([str(number) for number in find_numbers(text)] if needed else [])
    return [*quoted, *(recognize.find_names(text) if needed else [])]


def _of_kind(own: frozenset[str], about: frozenset[str], shape: str, text: str) -> Iterator[list[str]]:
    """Iterate over the candidates of the kind that a parameter's name, description or format indicates."""
    if "code" in own and about & {"python", "program"}:
        yield recognize.find_programs(text) or [f"print({total.expression})" for total in find_sums(text)]
    if own & _words("expression"):
        yield [total.expression for total in find_sums(text)]
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
    """Find the number for a parameter: the one next to its name, otherwise the next unused one.

    Args:
        name: The parameter's name.
        text: The text that may contain the number.
        taken: Count of numbers that are already used.
        whole: Whether it must be an integer.
        needed: Whether a number without a name may be taken.
    """
    label = labelled(name, text)
    beside = find_numbers(label) if label else []
    for word in () if beside else split_name(name):
        name_pattern = rf"{re.escape(word)}s?\b"
        quantity = rf"(-?[\d.,]{{1,40}})\s{{0,9}}-?{name_pattern}|\b{name_pattern}\D{{0,12}}?(-?\d[\d.,]{{0,40}})"
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
    """Return True if a text mentions a flag, False if it negates it, MISSING if it does not mention it."""
    stems = {stem(word) for word in split_name(name)} - {"is", "has", "includ", "with", "us"}
    for clause in re.split(r"[.,;!?\n]", text):
        if stems & {stem(word) for word in words(clause)}:
            is_negated = pattern("requests", "negation").search(clause)
            return not (is_negated or (labelled(name, clause) or "").lower() in ("false", "no"))
    return MISSING


def allowed_in(allowed: Sequence[object], name: str, text: str, used: Sequence[object]) -> Found:
    """Find the allowed value that a text mentions; `from…` and `to…` parameters search their own side first.

    Args:
        allowed: The values of an enumeration.
        name: The parameter's name.
        text: The text that may mention one of them.
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
            is_mentioned = f" {' '.join(names)} " in joined or (names and all(stem(word) in stems for word in names))
            if is_mentioned or units & recognize.unit_names(value):
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
