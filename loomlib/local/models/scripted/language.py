"""Words, stems and identifiers, and the tables of `english.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table of `english.toml`."""
    return _file()[name]


@cache
def word_list(section: str, name: str) -> frozenset[str]:
    """Return a list of words from a table of `english.toml`."""
    return frozenset(table(section)[name].split())


@cache
def pattern(section: str, name: str, *, ignore_case: bool = True) -> re.Pattern[str]:
    """Compile a pattern from a table of `english.toml`.

    Args:
        section: The table; `%name%` in a pattern stands for another pattern of the same table.
        name: The pattern's name.
        ignore_case: Whether upper and lower case match each other.
    """
    source = re.sub(r"%(\w+)%", lambda other: table(section)[other[1]], table(section)[name])
    return re.compile(source, re.IGNORECASE if ignore_case else 0)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("english.toml").read_text("utf-8"))


STOPWORDS = frozenset(_file()["stopwords"].split())
"""Words that do not indicate a topic."""
_ENDINGS = [tuple(pair) for pair in _file()["endings"]]


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def content_stems(text: str) -> set[str]:
    """Return the stems of the words that are not stopwords."""
    return {stem(word) for word in words(text) if word not in STOPWORDS}


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """Return a rough stem: "converts", "converting" and "conversion" have the same."""
    base = word.lower().removesuffix("'s")
    for ending, replacement in _ENDINGS:
        if base.endswith(ending) and len(base) - len(ending) >= 3:
            return base[: len(base) - len(ending)] + replacement
    return base


def split_name(name: str) -> list[str]:
    """Split an identifier into words: `get_weatherNow` is get, weather, now."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", re.sub(r"[^A-Za-z0-9]+", " ", name)).lower().split()
