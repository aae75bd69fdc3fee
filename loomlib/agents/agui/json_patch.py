"""JSON Patch (RFC 6902) on JSON values, with JSON Pointers (RFC 6901). The value that is patched stays as it was.

Patches are strangers': a few `copy` operations, each of the whole, would make a value that fills the machine.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

MOST_COPIED: Final = 1_000_000
"""Values and characters that a value may have together with what is copied within it."""

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")


class PatchFailed(ValueError):
    """A patch that does not apply; nothing of it was done."""


def apply_patch(value: Any, patch: Sequence[Any]) -> Any:
    """The value after all operations of `patch`; `PatchFailed` where one does not apply, as the RFC has it."""
    found = copy.deepcopy(value)
    for place, operation in enumerate(patch):
        if not isinstance(operation, Mapping):
            raise PatchFailed(f"operation {place} is no object")
        try:
            found = _apply(found, cast("Mapping[str, Any]", operation))
        except PatchFailed as error:
            raise PatchFailed(f"operation {place}: {error}") from error
    return found


def _apply(value: Any, operation: Mapping[str, Any]) -> Any:
    op, path = operation.get("op"), operation.get("path")
    if op not in _OPERATIONS:
        raise PatchFailed(f"{op!r} is none of {', '.join(_OPERATIONS)}")
    keys = _keys(path)
    if op in ("add", "replace", "test"):
        if "value" not in operation:
            raise PatchFailed(f"{op} without a value")
        given = copy.deepcopy(operation["value"])
        if op == "test":
            if not _same(_get(value, keys), given):
                raise PatchFailed(f"{path} is not what was tested for")
            return value
        if op == "add":
            return _add(value, keys, given)
        _get(value, keys)
        return given if not keys else _set(value, keys, given)
    if op == "remove":
        return _remove(value, keys)
    source = _keys(operation.get("from"))
    found = _get(value, source)
    if op == "copy" and _size(value) + _size(found) > MOST_COPIED:
        raise PatchFailed("the copy makes the value too large")
    moved = copy.deepcopy(found)
    if op == "copy":
        return _add(value, keys, moved)
    if keys[: len(source)] == source and len(keys) > len(source):
        raise PatchFailed("a value cannot be moved into itself")
    return _add(_remove(value, source), keys, moved)


def _keys(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchFailed(f"{pointer!r} is no JSON Pointer")
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def _get(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = cast("dict[str, Any]", value)[key]
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            value = items[_index(key, len(items) - 1)]
        else:
            raise PatchFailed(f"there is no {key!r}")
    return value


def _add(value: Any, keys: Sequence[str], given: Any) -> Any:
    if not keys:
        return given
    parent, last = _get(value, keys[:-1]), keys[-1]
    if isinstance(parent, dict):
        parent[last] = given
    elif isinstance(parent, list):
        items = cast("list[Any]", parent)
        items.insert(len(items) if last == "-" else _index(last, len(items)), given)
    else:
        raise PatchFailed(f"nothing can be added below {last!r}")
    return value


def _set(value: Any, keys: Sequence[str], given: Any) -> Any:
    parent, last = _get(value, keys[:-1]), keys[-1]
    parent[int(last) if isinstance(parent, list) else last] = given
    return value


def _remove(value: Any, keys: Sequence[str]) -> Any:
    _get(value, keys)
    if not keys:
        return None
    parent, last = _get(value, keys[:-1]), keys[-1]
    del parent[int(last) if isinstance(parent, list) else last]
    return value


def _size(value: Any) -> int:
    """How many values and characters there are; not counted further where they are too many."""
    size, left = 0, [value]
    while left and size <= MOST_COPIED:
        each = left.pop()
        size += 1
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            size += sum(map(len, fields))
            left.extend(fields.values())
        elif isinstance(each, list):
            left.extend(cast("list[Any]", each))
    return size


def _index(key: str, highest: int) -> int:
    if not (key.isascii() and key.isdigit()) or (len(key) > 1 and key[0] == "0") or len(key) > 9 or int(key) > highest:
        raise PatchFailed(f"there is no place {key!r}")
    return int(key)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(_same(a, b) for a, b in zip(first, second, strict=True))
    return bool(one == other)
