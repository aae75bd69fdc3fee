"""Free-form values of a case (arguments, metadata, state): plain JSON values, not too deep, with finite numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, cast

MAX_DEPTH: Final = 100
"""Levels of nesting that a free-form value may have."""


class NotPlain(ValueError):
    """A value that no JSON text can hold; `path` leads to it."""

    def __init__(self, what: str, path: tuple[str | int, ...]) -> None:
        super().__init__(what)
        self.path = path


def plain(value: object, path: tuple[str | int, ...] = ()) -> Any:
    """The value as JSON has it: dicts with sorted text keys, lists, text, finite numbers, booleans, None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise NotPlain(f"{value} is no number that JSON knows", path)
        return value
    if len(path) > MAX_DEPTH:
        raise NotPlain("it is nested too deeply", path[:3])
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        for key in items:
            if not isinstance(key, str):
                raise NotPlain(f"the key {key!r} is no text", path)
        return {key: plain(items[key], (*path, key)) for key in sorted(cast("Mapping[str, object]", items))}
    if isinstance(value, (list, tuple)):
        return [plain(each, (*path, n)) for n, each in enumerate(cast("Sequence[object]", value))]
    raise NotPlain(f"a case holds plain values, not {type(value).__name__}", path)


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    """Every field with its default; a default that stands for nothing given."""
    return tuple(
        (each.name, each.default if each.default is not MISSING else
         each.default_factory() if each.default_factory is not MISSING else MISSING)
        for each in fields(kind)
    )  # fmt: skip


def given(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that say more than their default, in their order."""
    found: dict[str, Any] = {}
    for name, default in _defaults(type(value)):  # pyright: ignore[reportUnknownArgumentType]
        each = getattr(value, name)
        if default is MISSING or type(each) is not type(default) or each != default:
            found[name] = each
    return found
