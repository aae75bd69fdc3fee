"""Free-form values of a case (arguments, metadata, state): plain JSON values, not too deep, with finite numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, cast

MAX_DEPTH: Final = 100
"""Maximum nesting depth of a free-form value."""


class NotPlainError(ValueError):
    """A value that JSON cannot hold; `path` is its position."""

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.path = path


def plain(value: object, path: tuple[str | int, ...] = ()) -> Any:
    """Return a value as JSON: dicts with sorted keys, lists, text, finite numbers, booleans, None.

    Args:
        value: The value.
        path: Its position, for the error.

    Raises:
        NotPlainError: JSON cannot hold the value.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise NotPlainError(f"{value} is not a JSON number", path)
        return value
    if len(path) > MAX_DEPTH:
        raise NotPlainError("it is nested too deeply", path[:3])
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        for key in items:
            if not isinstance(key, str):
                raise NotPlainError(f"the key {key!r} is not text", path)
        return {key: plain(items[key], (*path, key)) for key in sorted(cast("Mapping[str, object]", items))}
    if isinstance(value, (list, tuple)):
        return [plain(item, (*path, n)) for n, item in enumerate(cast("Sequence[object]", value))]
    raise NotPlainError(f"a case contains plain values only, not {type(value).__name__}", path)


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return every field with its default."""
    return tuple(
        (member.name, member.default if member.default is not MISSING else
         member.default_factory() if member.default_factory is not MISSING else MISSING)
        for member in fields(kind)
    )  # fmt: skip


def non_default_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, in order."""
    members: dict[str, Any] = {}
    for name, default in _defaults(type(value)):  # pyright: ignore[reportUnknownArgumentType]
        member = getattr(value, name)
        if default is MISSING or type(member) is not type(default) or member != default:
            members[name] = member
    return members
