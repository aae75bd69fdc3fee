"""Applying a user's file to the shipped table of rules; only existing rules and thresholds can be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from loomlib.errors import SettingsError
from loomlib.toml_files import read_toml

_FORMS: Final = {bool: "true or false", list: "a list of strings", str: "a string, in double quotes"}


def read_table(path: Path) -> dict[str, Any]:
    """Read a file of rules.

    Raises:
        SettingsError: The file cannot be read or is not TOML.
    """
    return read_toml(path, "rules file")


def override(document: dict[str, Any], changes: Mapping[str, Any], where: str) -> None:
    """Apply changes to the table of rules, in place.

    Args:
        document: The table of rules.
        changes: The user's changes.
        where: The user's file, for errors.

    Raises:
        SettingsError: A change names a rule or setting that does not exist, or has the wrong type.
    """
    _check_keys(changes, ("general", "rules"), where)
    _numbers(document["general"], _table(changes, "general", where), f"{where}, general")
    for name, table in _table(changes, "rules", where).items():
        _check_keys({name: 1}, document["rules"], f"{where}, rules")
        change = _table({"it": table}, "it", f"{where}, rules.{name}")
        rule = document["rules"][name]
        _check_keys(change, ("enabled", "title", "asks", "source", "try", "thresholds"), f"{where}, rules.{name}")
        _numbers(rule["thresholds"], _table(change, "thresholds", where), f"{where}, rules.{name}.thresholds")
        for key, value in change.items():
            expected_type = {"enabled": bool, "try": list}.get(key, str)
            if key == "thresholds":
                continue
            if not isinstance(value, expected_type):
                raise SettingsError(
                    f"{key} must be of type {expected_type.__name__}",
                    on=f"{where}, rules.{name}",
                    try_=_FORMS[expected_type],
                )
            rule[key] = list(map(str, cast("list[object]", value))) if isinstance(value, list) else value


def _table(tables: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    section: object = tables.get(name, {})
    if not isinstance(section, dict):
        raise SettingsError(
            f"{name} must be a table", on=where, try_="a line [general] or [rules.NAME] above the settings"
        )
    return cast("dict[str, Any]", section)


def _numbers(into: dict[str, Any], changes: Mapping[str, Any], where: str) -> None:
    _check_keys(changes, into, where)
    for key, value in changes.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise SettingsError(f"{key} must be a number of at least 0", on=f"{value!r} in {where}", try_=f"{key} = 5")
        into[key] = value


def _check_keys(keys: Iterable[str], allowed_keys: Iterable[str], where: str) -> None:
    allowed = list(allowed_keys)
    if unknown := sorted(set(keys) - set(allowed)):
        raise SettingsError(f"Unknown keys: {', '.join(unknown)}", on=where, try_=", ".join(allowed))
