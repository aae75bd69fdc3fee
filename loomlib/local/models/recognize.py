"""Recognisers: what a text holds that could be an argument, such as a city, a date, a quoted passage, an address."""

from __future__ import annotations

import re
from functools import cache
from zoneinfo import available_timezones

from loomlib.local.models.words import STOPWORDS, words

_URL = re.compile(r"https?://[^\s<>\"')]+[^\s<>\"').,;:!?]")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`|«([^»]+)»")
_MONTHS = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november", "december",
    ]  # fmt: skip
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_ISO_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?"
    r"(?:,?\s+\d{4})?|\d{1,2}/\d{1,2}/\d{2,4}|today|tomorrow|yesterday|tonight|(?:next |this |last )?"
    r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|weekend|month)\b)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?|\d{1,2}\s?[ap]\.?m\.?|noon|midnight)(?!\w)", re.IGNORECASE
)
_ZONE = re.compile(r"\b(?:[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|UTC|GMT)\b")
_CODE = re.compile(r"#\w+|\b[A-Za-z]{1,8}-\d[\w-]*|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{3,}\b")
_CAPITALS = re.compile(r"[A-ZÀ-Þ][\w'’-]*(?:\s+(?:(?:of|de|da|la|the|von|van)\s+)?[A-ZÀ-Þ][\w'’-]*)*")
_PLACE_WORDS = frozenset(
    {
        "in", "at", "near", "for", "from", "to", "of", "around", "and", "or", "versus", "vs", "between",
    }
)  # fmt: skip
_NOT_NAMES = (
    STOPWORDS
    | frozenset(
        [
        "calculate", "compute", "convert", "write", "find", "search", "look", "list", "describe", "explain",
        "draft", "compose", "summarize", "summarise", "add", "subtract", "multiply", "divide", "set",
        "create", "make", "send", "translate", "count", "call", "remember", "is", "are", "weather", "time",
        "date", "temperature", "forecast", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
        "sunday", "i'm", "i've", "i'd", "it's", "let's", "what's", "who's", "celsius", "fahrenheit", "kelvin",
    ]
    )
    | frozenset(_MONTHS)
)  # fmt: skip
_AFTER_PLACE = re.compile(r"\b(?:in|at|near|for|around|from|to|of)\s+([a-zà-ÿ][\w'’-]*)", re.IGNORECASE)


def find_urls(text: str) -> list[str]:
    return _URL.findall(text)


def find_emails(text: str) -> list[str]:
    return _EMAIL.findall(text)


def find_quoted(text: str) -> list[str]:
    """What stands in quotation marks of any kind."""
    return [next(part for part in match if part) for match in _QUOTED.findall(text)]


def find_dates(text: str) -> list[str]:
    return [match.group() for match in _DATE.finditer(text)]


def find_times(text: str) -> list[str]:
    return [match.group() for match in _TIME.finditer(text)]


def find_codes(text: str) -> list[str]:
    """Identifiers: letters and digits together, such as A-1042 or #77."""
    return [match.group().lstrip("#") for match in _CODE.finditer(_URL.sub(" ", _EMAIL.sub(" ", text)))]


def iso_date(text: str) -> str | None:
    """A date that names its year, in ISO form; None when the text leaves the year to the reader."""
    if match := _ISO_DATE.search(text):
        return match.group()
    parts = re.search(
        rf"(\d{{1,2}})\D{{0,7}}\s*({_MONTH}),?\s+(\d{{4}})|({_MONTH})\s+(\d{{1,2}})\D{{0,4}}\s+(\d{{4}})",
        text,
        re.IGNORECASE,
    )
    if parts is None:
        return None
    day, month, year = (parts[1], parts[2], parts[3]) if parts[1] else (parts[5], parts[4], parts[6])
    number = next(i for i, name in enumerate(_MONTHS, start=1) if name[:3] == month[:3].lower())
    return f"{year}-{number:02}-{int(day):02}" if 1 <= int(day) <= 31 else None


def find_names(text: str) -> list[str]:
    """Proper names: runs of capitalised words, less the ones that only start a sentence."""
    found: list[str] = []
    for match in _CAPITALS.finditer(text):
        parts = match.group().split()
        while parts and parts[0].lower().removesuffix("'s").removesuffix("’s") in _NOT_NAMES:
            parts.pop(0)
        if parts and not any(char.isdigit() for char in parts[0]):
            found.append(re.sub(r"['’]s$", "", " ".join(parts)))
    return list(dict.fromkeys(found))


def find_places(text: str) -> list[str]:
    """Names that a preposition or a list introduces; "in paris" counts when nothing is capitalised."""
    zones = {zone for zone in _ZONE.findall(text)}
    names = [name for name in find_names(text) if name not in zones and not any(name in zone for zone in zones)]
    introduced = [
        name
        for name in names
        if re.search(rf"\b(?:{'|'.join(_PLACE_WORDS)}|,)\s+{re.escape(name)}", text, re.IGNORECASE)
    ]
    if introduced or names:
        return introduced or names
    lower = [match[1] for match in _AFTER_PLACE.finditer(text)]
    return [word.title() for word in lower if word.lower() not in _NOT_NAMES and len(word) > 2][:1]


def find_zones(text: str) -> list[str]:
    """IANA time zones: named ("Asia/Tokyo", "UTC") or by their city ("Tokyo")."""
    named = _ZONE.findall(text)
    if named:
        return named
    cities = _zones_by_city()
    lowered = f" {' '.join(words(text))} "
    return [zone for city, zone in cities.items() if f" {city} " in lowered]


@cache
def _zones_by_city() -> dict[str, str]:
    zones = sorted(
        zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/", "posix"))
    )
    found = {zone.rsplit("/", 1)[1].replace("_", " ").lower(): zone for zone in reversed(zones)}
    return {
        city: found[city]
        for city in found
        if len(city) > 3 and city not in ("east", "west", "north", "center", "central", "general")
    }
