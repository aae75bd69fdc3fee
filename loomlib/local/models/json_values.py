"""Reading untrusted JSON: each function returns a value of the expected type, or an empty one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

JsonObject = dict[str, object]


def as_object(value: object) -> JsonObject:
    """Return `value` as an object with string keys; `{}` if it is not one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return `value` as a list; `[]` if it is not one."""
    return cast(list[object], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return `value` as a string; `""` if it is not one."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> tuple[str, ...]:
    """Return the strings of a list."""
    return tuple(item for item in as_list(value) if isinstance(item, str))


def as_integer(value: object) -> int | None:
    """Return `value` as an integer; None for anything else, including booleans."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: object) -> float | None:
    """Return `value` as a number; None for anything else, including booleans."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def field_of(value: object, *path: str) -> object:
    """Return the value under the keys of `path`; None if a key is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = cast(Mapping[str, object], value).get(key)
    return value
