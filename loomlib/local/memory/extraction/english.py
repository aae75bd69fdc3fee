"""The word lists and patterns of `english.toml`, compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PLACEHOLDER = re.compile(r"%(\w+)%")


@cache
def tables() -> Mapping[str, Any]:
    """Return the file as parsed TOML."""
    return tomllib.loads(Path(__file__).with_name("english.toml").read_text("utf-8"))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of that name from `[patterns]`."""
    return compiled(tables()["patterns"][name])


def compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern of the file, with its placeholders filled in; case is ignored."""
    return re.compile(_filled(text), re.IGNORECASE)


def _filled(text: str) -> str:
    words, parts = tables()["words"], tables()["parts"]

    def fill(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        return "|".join(words[name]) if name in words else _filled(parts[name])

    return _PLACEHOLDER.sub(fill, text)
