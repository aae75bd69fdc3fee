"""Read custom redaction rules from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast

from loomlib.errors import SettingsError
from loomlib.toml_files import read_toml

from .rule import RedactionRule, rule

_KNOWN: Final = {"name", "pattern", "ignore_case", "part", "kind", "anchors"}


def read_rules(path: str | PathLike[str]) -> tuple[RedactionRule, ...]:
    """Read the rules of a TOML or JSON file.

        [[rules]]
        name = "customer number"
        pattern = 'C-(?<![A-Za-z0-9]C-)[0-9]{6}'
        ignore_case = true      # else false
        part = 0                # the group that is redacted, else the whole match

    `Redactor((*DEFAULT_RULES, *read_rules("redaction.toml")))`

    Raises:
        SettingsError: The file or a rule is invalid; the message names the rule.
    """
    file = Path(path)
    try:
        is_json = file.suffix.lower() == ".json"
        content: Any = json.loads(file.read_text("utf-8-sig")) if is_json else read_toml(file, "redaction rules file")
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(
            f"Cannot read the redaction rules: {error}", on=str(file), try_="[[rules]] with a name and a pattern"
        ) from error
    rules: Any = cast("dict[str, Any]", content).get("rules") if isinstance(content, dict) else content
    if not isinstance(rules, list):
        raise SettingsError("The file has no list of rules", on=str(file), try_="[[rules]] with a name and a pattern")
    return tuple(_rule(item, number, file) for number, item in enumerate(cast("list[Any]", rules), 1))


def _rule(item: Any, number: int, file: Path) -> RedactionRule:
    place = f"rule {number} of {file}"
    if not isinstance(item, Mapping):
        raise SettingsError("A rule must be a table with a name and a pattern", on=place, try_="[[rules]]")
    fields = dict(cast("Mapping[str, Any]", item))
    if unknown := fields.keys() - _KNOWN:
        raise SettingsError(
            f"Unknown field of a rule: {', '.join(sorted(unknown))}", on=place, try_=", ".join(sorted(_KNOWN))
        )
    name, pattern, anchors = fields.get("name"), fields.get("pattern"), fields.get("anchors", [])
    if not isinstance(name, str) or not isinstance(pattern, str) or not isinstance(anchors, list):
        raise SettingsError("A rule needs a name and a pattern, both strings", on=place, try_="name = '…'")
    try:
        parsed = rule(
            name,
            pattern,
            ignore_case=fields.get("ignore_case") is True,
            part=fields.get("part", 0),
            kind=fields.get("kind", "own"),
            anchors=tuple(str(anchor).lower() for anchor in cast("list[Any]", anchors)),
        )
        if isinstance(parsed.part, int) and not 0 <= parsed.part <= parsed.pattern.groups:
            raise ValueError(f"the pattern has {parsed.pattern.groups} groups, and part is {parsed.part}")
        if isinstance(parsed.part, str) and parsed.part not in parsed.pattern.groupindex:
            raise ValueError(f"the pattern has no group {parsed.part!r}")
    except ValueError as error:
        raise SettingsError(
            f"Invalid rule: {error}", on=place, try_="correct the pattern, or remove the rule"
        ) from error
    return parsed
