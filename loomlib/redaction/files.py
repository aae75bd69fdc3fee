"""Rules of one's own, out of a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast

from loomlib.errors import SettingsError

from .rule import RedactionRule, rule

_KNOWN: Final = {"name", "pattern", "ignore_case", "part", "kind", "anchors"}


def read_rules(path: str | PathLike[str]) -> tuple[RedactionRule, ...]:
    """The rules of a TOML or JSON file. Raises `SettingsError`, which names the rule and what is wrong with it.

        [[rules]]
        name = "customer number"
        pattern = 'C-(?<![A-Za-z0-9]C-)[0-9]{6}'
        ignore_case = true      # else false
        part = 0                # the group that is struck out, else all that matches

    `Redactor((*DEFAULT_RULES, *read_rules("redaction.toml")))`
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
        found: Any = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"The rules of redaction cannot be read: {error}", on=str(file)) from error
    rules: Any = cast("dict[str, Any]", found).get("rules") if isinstance(found, dict) else found
    if not isinstance(rules, list):
        raise SettingsError("There is no list of rules", on=str(file), try_="[[rules]] with a name and a pattern")
    return tuple(_rule(each, place, file) for place, each in enumerate(cast("list[Any]", rules), 1))


def _rule(said: Any, place: int, file: Path) -> RedactionRule:
    where = f"rule {place} of {file}"
    if not isinstance(said, Mapping):
        raise SettingsError("A rule is a table with a name and a pattern", on=where)
    words = dict(cast("Mapping[str, Any]", said))
    if unknown := words.keys() - _KNOWN:
        raise SettingsError(f"A rule has no {', '.join(sorted(unknown))}", on=where, try_=", ".join(sorted(_KNOWN)))
    name, pattern, anchors = words.get("name"), words.get("pattern"), words.get("anchors", [])
    if not isinstance(name, str) or not isinstance(pattern, str) or not isinstance(anchors, list):
        raise SettingsError("A rule has a name and a pattern, both text", on=where)
    try:
        made = rule(
            name,
            pattern,
            ignore_case=words.get("ignore_case") is True,
            part=words.get("part", 0),
            kind=words.get("kind", "own"),
            anchors=tuple(str(each).lower() for each in cast("list[Any]", anchors)),
        )
        if isinstance(made.part, int) and not 0 <= made.part <= made.pattern.groups:
            raise ValueError(f"the pattern has {made.pattern.groups} groups, and part is {made.part}")
        if isinstance(made.part, str) and made.part not in made.pattern.groupindex:
            raise ValueError(f"the pattern has no group {made.part!r}")
    except ValueError as error:
        raise SettingsError(f"This is no rule: {error}", on=where) from error
    return made
