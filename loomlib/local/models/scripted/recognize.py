"""Recognizers: substrings of a text that could be an argument, such as a city, a date or a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache, partial
from zoneinfo import available_timezones

from .language import STOPWORDS, pattern, split_name, table, word_list, words
from .script import script

_UNIT = re.compile(
    r"°[CF]\b|(?<=\d)[a-zA-Z]{1,3}\b|(?<=\d )[a-zA-Z]{1,3}\b|\bkm/h\b|\b[A-Za-z]{2,}\b|(?<=\b(?:to|in) )[CFK]\b"
)
# No run of spaces can be split in two ways: the time would grow with the cube of its length.
_VALUE = r"\s*+(\"[^\"]+\"|'[^']+'|[^\s;][^\n;]*?)(?=[.;!?](?:\s|$)|,\s|\n|$|(?<!\s)\s++and\s)"
_pattern = partial(pattern, "recognize")
_exact = partial(pattern, "recognize", ignore_case=False)


def find_urls(text: str) -> list[str]:
    """Find web addresses."""
    return _exact("url").findall(text)


def find_emails(text: str) -> list[str]:
    """Find email addresses."""
    return _exact("email").findall(text)


def find_quoted(text: str) -> list[str]:
    """Find the texts in quotation marks of any kind."""
    return [next(part for part in match if part) for match in _exact("quoted").findall(text)]


def find_dates(text: str) -> list[str]:
    """Find dates in digits or words, such as "next Monday"."""
    return [match.group() for match in _pattern("date").finditer(text)]


def find_times(text: str) -> list[str]:
    """Find times of day."""
    return [match.group() for match in _pattern("time").finditer(text)]


def find_programs(text: str) -> list[str]:
    """Find program code: fenced, or in quotation marks after the word code or program."""
    fenced = re.findall(r"```(?:\w{1,20})?\n(.{1,20000}?)```", text, re.DOTALL)
    quoted = re.findall(r"\b(?:code|program)\b[^\"“\n]{0,20}[\"“]([^\"”]{1,4000})[\"”]", text, re.IGNORECASE)
    return [program.strip() for program in (*fenced, *quoted)]


def find_codes(text: str) -> list[str]:
    """Find identifiers of letters and digits, such as A-1042 or #77."""
    plain = _exact("url").sub(" ", _exact("email").sub(" ", text))
    return [match.group().lstrip("#") for match in _exact("code").finditer(plain)]


def find_languages(text: str) -> list[str]:
    """Find the language that a text names after "in", "into" or "to"."""
    match = _exact("language").search(text)
    return [match[1]] if match else []


def find_iso_dates(text: str) -> list[str]:
    """Find the dates with a year, in ISO form; dates without a year are left out."""
    if match := _exact("iso_date").search(text):
        return [match.group()]
    parts = _pattern("long_date").search(text)
    if parts is None:
        return []
    day, month, year = (parts[1], parts[2], parts[3]) if parts[1] else (parts[5], parts[4], parts[6])
    months = table("recognize")["months"].split()
    number = next(i for i, name in enumerate(months, start=1) if name[:3] == month[:3].lower())
    return [f"{year}-{number:02}-{int(day):02}"] if 1 <= int(day) <= 31 else []


def find_names(text: str) -> list[str]:
    """Find proper names: runs of capitalized words, without words that only start a sentence."""
    names: list[str] = []
    for match in _exact("capitals").finditer(text):
        parts = match.group().split()
        while parts and parts[0].lower().removesuffix("'s").removesuffix("’s") in _not_names():
            parts.pop(0)
        if parts and not any(char.isdigit() for char in parts[0]):
            names.append(re.sub(r"['’]s$", "", " ".join(parts)))
    return list(dict.fromkeys(names))


def find_places(text: str) -> list[str]:
    """Find names after a preposition or in a list; "in paris" counts if nothing is capitalized."""
    zones = _exact("zone").findall(text)
    names = [name for name in find_names(text) if not any(name in zone for zone in zones)]
    before = table("recognize")["before_place"]
    introduced = [name for name in names if re.search(before + re.escape(name), text, re.IGNORECASE)]
    if introduced or names:
        return introduced or names
    lower = [match[1] for match in _pattern("after_place").finditer(text)]
    return [word.title() for word in lower if word.lower() not in _not_names() and len(word) > 2][:1]


def find_zones(text: str) -> list[str]:
    """Find IANA time zones, by name ("Asia/Tokyo", "UTC") or by city ("Tokyo")."""
    zones = _exact("zone").findall(text)
    if zones:
        return zones
    lowered = f" {' '.join(words(text))} "
    return [zone for city, zone in _zones_by_city().items() if f" {city} " in lowered]


def find_units(text: str, *, as_written: bool = False) -> list[str]:
    """Find the units of measure that a text mentions, by their usual name or as they are written."""
    units = [(match.group(), unit_names(match.group())) for match in _UNIT.finditer(text)]
    return list(dict.fromkeys(text if as_written else next(iter(names)) for text, names in units if names))


@lru_cache(maxsize=10_000)
def unit_names(text: str) -> frozenset[str]:
    """Return the usual names of the units that `text` names: `{"kilometer"}` for "km"."""
    lowered = text.lower().replace("_", " ").strip()
    return frozenset(names[0] for names in script().units if lowered in names)


def after_colon(text: str) -> list[str]:
    """Return the text after the first colon."""
    rest = text.partition(": ")[2].strip()
    return [rest] if rest else []


def labelled(name: str, text: str) -> str | None:
    """Find the text after a parameter's name.

    Examples: "age: 30", "the title is Autumn", "priority = high", "the word 'loom'".
    """
    label = r"[\s_-]*+".join(map(re.escape, split_name(name)))
    if not label:
        return None
    match = re.search(
        rf"\b{label}\b\s*+(?:is|are|=|:|should be|must be|of|set to)(?:\s*+:)?+{_VALUE}", text, re.IGNORECASE
    ) or re.search(rf"\b{label}\s++(\"[^\"\n]+\"|'[^'\n]+'(?!\w))", text, re.IGNORECASE)
    return match[1].strip().strip("\"'").strip() or None if match else None


@lru_cache(maxsize=1_000)
def topic(text: str) -> str:
    """Return the topic of a request: "Write a poem about autumn in two sentences" is about "autumn"."""
    candidates = [*find_quoted(text), *after_colon(text)]
    if candidates and len(candidates[0]) < 200 and "\n" not in candidates[0]:
        return candidates[0]
    about = pattern("requests", "about").search(text)
    end = pattern("requests", "topic_end", ignore_case=False)
    rest = end.split(about[1] if about else text, maxsplit=1)[0]
    if about:
        return rest.strip(" ,")
    return " ".join(_content_words(rest.split())).strip(" ,")


def _content_words(parts: Iterable[str]) -> list[str]:
    ignored = STOPWORDS | word_list("requests", "request_words")
    return [word for word in parts if word.lower().strip(",'\"") not in ignored]


@cache
def _not_names() -> frozenset[str]:
    return STOPWORDS | word_list("recognize", "not_names") | word_list("recognize", "months")


@cache
def _zones_by_city() -> dict[str, str]:
    zones = sorted(
        zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/", "posix"))
    )
    by_city = {zone.rsplit("/", 1)[1].replace("_", " ").lower(): zone for zone in reversed(zones)}
    not_cities = ("east", "west", "north", "center", "central", "general")
    return {city: zone for city, zone in by_city.items() if len(city) > 3 and city not in not_cities}
