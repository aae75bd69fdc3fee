"""Names of units of measure, so that "miles" in a prompt is the "mi" or "mile" of a schema."""

from __future__ import annotations

import re

_NAMES = (
    "meter meters metre metres m",
    "kilometer kilometers kilometre kilometres km kms",
    "centimeter centimeters centimetre centimetres cm",
    "millimeter millimeters millimetre millimetres mm",
    "mile miles mi",
    "yard yards yd",
    "foot feet ft",
    "inch inches",
    "gram grams g",
    "kilogram kilograms kilo kilos kg",
    "pound pounds lb lbs",
    "ounce ounces oz",
    "tonne tonnes ton tons",
    "celsius centigrade c °c",
    "fahrenheit f °f",
    "kelvin k",
    "liter liters litre litres l",
    "milliliter milliliters millilitre millilitres ml",
    "gallon gallons gal",
    "cup cups",
    "second seconds sec s",
    "minute minutes min",
    "hour hours h hr hrs",
    "day days",
    "week weeks",
    "byte bytes",
    "kilobyte kilobytes kb",
    "megabyte megabytes mb",
    "gigabyte gigabytes gb",
    "watt watts w",
    "joule joules j",
    "kmh kph km/h",
    "mph",
)
_GROUPS = tuple(frozenset(names.split()) for names in _NAMES)
_FIRST = tuple(names.split()[0] for names in _NAMES)
_UNIT = re.compile(
    r"°[CF]\b|(?<=\d)[a-zA-Z]{1,3}\b|(?<=\d )[a-zA-Z]{1,3}\b|\bkm/h\b|\b[A-Za-z]{2,}\b|(?<=\b(?:to|in) )[CFK]\b"
)


def unit_names(text: str) -> frozenset[str]:
    """The first name of every unit that `text` is a name of: `{"kilometer"}` for "km"."""
    lowered = text.lower().replace("_", " ").strip()
    return frozenset(_FIRST[i] for i, group in enumerate(_GROUPS) if lowered in group)


def units_in(text: str, *, spoken: bool = False) -> list[str]:
    """The units a text mentions, in order, by their first name or (`spoken`) as they were written."""
    found: list[str] = []
    for match in _UNIT.finditer(text):
        names = unit_names(match.group())
        if names:
            found.append(match.group() if spoken else next(iter(names)))
    return list(dict.fromkeys(found))
