"""Additions of blueprints to the scripted model: the `script.toml` files next to them.

A blueprint's script holds data that the scripted model needs only for the agents of that blueprint: names of units,
words that mean one of its tools, sentences of a text, forms of personal statements. The scripts of all installed
blueprints are combined, because a Converse request does not name the agent that sends it. They are not used on AWS.

Keys of a script, all optional:

- `related`: lists of words that mean the same tool, separated by spaces.
- `units`: lists of the names of one unit, the usual one first.
- `sentences`: the sentences of a text about `{topic}`.
- `statements` and `questions`: tables of a `pattern` and an `attribute` (group 1 if it is missing) for what users say
  and ask about themselves; `answers` words an answer by attribute, `unknown` names an attribute that is not known, and
  `same` maps attributes that mean the same.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from loomlib.plugins import load_plugins

_log = logging.getLogger(__name__)
_BLUEPRINTS = Path(__file__).resolve().parents[3] / "blueprints"
_FILE_NAME = "script.toml"

SentenceForm = tuple[re.Pattern[str], str | None]
"""A pattern, and the attribute that it states or asks for; None if its first group names the attribute."""


@dataclass(frozen=True, slots=True)
class Script:
    """The combined scripts of all installed blueprints."""

    related: tuple[str, ...] = ()
    units: tuple[tuple[str, ...], ...] = ()
    sentences: tuple[str, ...] = ("This is a text about {topic}, written by a scripted model.",)
    statements: tuple[SentenceForm, ...] = ()
    questions: tuple[SentenceForm, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    same: Mapping[str, str] = field(default_factory=dict[str, str])


@cache
def script() -> Script:
    """Load the scripts of Loom's and plugins' blueprints; a broken script is logged and skipped."""
    tables = [content for folder in _folders() if (content := _read(folder / _FILE_NAME))]

    def entries(name: str) -> list[Any]:
        return [entry for content in tables for entry in content.get(name, ())]

    def merged(name: str) -> dict[str, str]:
        return {key: text for content in tables for key, text in content.get(name, {}).items()}

    return Script(
        related=tuple(entries("related")),
        units=tuple(tuple(names.split()) for names in entries("units")),
        sentences=tuple(entries("sentences")) or Script().sentences,
        statements=tuple(entries("statements")),
        questions=tuple(entries("questions")),
        answers=merged("answers"),
        unknown=merged("unknown"),
        same=merged("same"),
    )


def _folders() -> list[Path]:
    plugins = load_plugins()
    return [*sorted(_BLUEPRINTS.iterdir()), *(Path(place) for place in plugins.usable("blueprints").values())]


def _read(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
        for name in ("statements", "questions"):
            forms = content.get(name, ())
            content[name] = [(re.compile(form["pattern"]), form.get("attribute")) for form in forms]
    except (OSError, ValueError, KeyError, re.error) as error:
        _log.warning("The script %s cannot be read and is left out: %s", path, error)
        return {}
    return content
