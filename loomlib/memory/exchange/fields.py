"""What the lines of an export must have: whoever makes or mends one by hand is told what is missing, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ...errors import SettingsError

_Is = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_words(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in cast("list[Any]", value))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_strategies(value: Any) -> bool:
    return _is_objects(value) and all(_is_text(each.get("name")) and _is_text(each.get("strategyId")) for each in value)


def _is_metadata(value: Any) -> bool:
    """Each value under the one name of its form: `{"topic": {"stringValue": "food"}}`."""
    return _is_object(value) and all(_is_object(each) and len(each) == 1 for each in value.values())


def _is_branch(value: Any) -> bool:
    return _is_object(value) and _is_text(value.get("name"))


_TEXT: Final = "a text"
_NEEDED: Final[Mapping[str, Mapping[str, tuple[_Is, str]]]] = {
    "event": {
        "eventId": (_is_text, _TEXT),
        "actorId": (_is_text, _TEXT),
        "sessionId": (_is_text, _TEXT),
        "eventTimestamp": (_is_text, "a time such as 2026-11-22T05:00:00+00:00"),
        "payload": (_is_objects, "a list of objects"),
    },
    "record": {
        "memoryRecordId": (_is_text, _TEXT),
        "text": (_is_words, _TEXT),
        "namespaces": (_is_texts, "a list of texts"),
        "createdAt": (_is_text, "a time such as 2026-11-22T05:00:00+00:00"),
    },
    "manifest": {"memory": (_is_object, "an object with the id and the name of the memory")},
}
_ALLOWED: Final[Mapping[str, tuple[_Is, str]]] = {
    "branch": (_is_branch, "an object with a name"),
    "metadata": (_is_metadata, 'an object such as {"topic": {"stringValue": "food"}}'),
    "strategies": (_is_strategies, "a list of objects, each with a name and a strategyId"),
}


def check_manifest(manifest: Mapping[str, Any], where: str) -> None:
    """Raises `SettingsError` where the first line lacks what an import needs of it."""
    _check("manifest", manifest, where)


def check_line(line: Mapping[str, Any], where: str) -> None:
    """Raises `SettingsError` where an event or a record lacks what it must have, or has it in another form."""
    _check(str(line["kind"]), line, where)


def _check(kind: str, line: Mapping[str, Any], where: str) -> None:
    for name, (fits, form) in _NEEDED[kind].items():
        if name not in line:
            raise _wrong(f"The export's {kind} has no {name}", where, form, name)
        if not fits(line[name]):
            raise _wrong(f"The export's {kind} has another {name} than it must", where, form, name)
    for name, (fits, form) in _ALLOWED.items():
        if line.get(name) and not fits(line[name]):
            raise _wrong(f"The export's {kind} has another {name} than it must", where, form, name)


def _wrong(what: str, where: str, form: str, name: str) -> SettingsError:
    return SettingsError(what, on=where, try_=f"{name} is {form}; memory.export(path) writes files that fit")
