"""Validates the lines of an export, so that an error names what is missing or malformed, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ...errors import SettingsError

_FieldCheck = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in cast("list[Any]", value))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_strategies(value: Any) -> bool:
    return _is_objects(value) and all(_is_text(item.get("name")) and _is_text(item.get("strategyId")) for item in value)


def _is_metadata(value: Any) -> bool:
    """Return whether each value is under one key that names its type: `{"topic": {"stringValue": "food"}}`."""
    return _is_object(value) and all(_is_object(item) and len(item) == 1 for item in value.values())


def _is_branch(value: Any) -> bool:
    return _is_object(value) and _is_text(value.get("name"))


_TEXT: Final = "a string"
_NEEDED: Final[Mapping[str, Mapping[str, tuple[_FieldCheck, str]]]] = {
    "event": {
        "eventId": (_is_text, _TEXT),
        "actorId": (_is_text, _TEXT),
        "sessionId": (_is_text, _TEXT),
        "eventTimestamp": (_is_text, "a time such as 2026-11-22T05:00:00+00:00"),
        "payload": (_is_objects, "a list of objects"),
    },
    "record": {
        "memoryRecordId": (_is_text, _TEXT),
        "text": (_is_string, _TEXT),
        "namespaces": (_is_strings, "a list of strings"),
        "createdAt": (_is_text, "a time such as 2026-11-22T05:00:00+00:00"),
    },
    "manifest": {"memory": (_is_object, "an object with the id and the name of the memory")},
}
_ALLOWED: Final[Mapping[str, tuple[_FieldCheck, str]]] = {
    "branch": (_is_branch, "an object with a name"),
    "metadata": (_is_metadata, 'an object such as {"topic": {"stringValue": "food"}}'),
    "strategies": (_is_strategies, "a list of objects, each with a name and a strategyId"),
}


def check_manifest(manifest: Mapping[str, Any], where: str) -> None:
    """Check the manifest, an export's first line.

    Args:
        manifest: The line.
        where: File and line, for the error.

    Raises:
        SettingsError: A field is missing or malformed.
    """
    _check("manifest", manifest, where)


def check_line(line: Mapping[str, Any], where: str) -> None:
    """Check the line of an event or record.

    Args:
        line: The line.
        where: File and line, for the error.

    Raises:
        SettingsError: A field is missing or malformed.
    """
    _check(str(line["kind"]), line, where)


def _check(kind: str, line: Mapping[str, Any], where: str) -> None:
    for name, (is_valid, form) in _NEEDED[kind].items():
        if name not in line:
            raise _invalid(f"The export's {kind} has no {name}", where, form, name)
        if not is_valid(line[name]):
            raise _invalid(f"The export's {kind} has an invalid {name}", where, form, name)
    for name, (is_valid, form) in _ALLOWED.items():
        if line.get(name) and not is_valid(line[name]):
            raise _invalid(f"The export's {kind} has an invalid {name}", where, form, name)


def _invalid(problem: str, where: str, form: str, name: str) -> SettingsError:
    return SettingsError(problem, on=where, try_=f"{name} must be {form}; memory.export(path) writes valid files")
