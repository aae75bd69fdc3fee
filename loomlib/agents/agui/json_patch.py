"""JSON Patch (RFC 6902) on JSON values, with JSON Pointers (RFC 6901).

Patches are strangers': a few `copy` operations, each of the whole, would make a value that fills the machine, and a
few `add`, each below the last, one that nothing can write out. Both are refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

MOST_COPIED: Final = 1_000_000
"""Values and characters that a value may have together with what is copied within it."""
MOST_COPIED_EVER: Final = 10_000_000
"""The same of all that the patches of one document copy, whether it is kept or not."""
MOST_DEEP: Final = 200
"""How deeply a value may be nested."""

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")
_NEVER: Final = object()
_Undo = Callable[[], object]


class PatchFailed(ValueError):
    """A patch that does not apply; nothing of it was done."""


def apply_patch(value: Any, patch: Sequence[Any]) -> Any:
    """The value after all operations of `patch`, the given one stays as it was.

    `PatchFailed` where one does not apply, as the RFC has it.
    """
    found = Document(value)
    found.apply(patch)
    return found.snapshot()


class Document:
    """A JSON value that patches change in place: each costs what it changes, not what the value holds.

    `snapshot()` is a copy of what it is now, made when it is asked for.
    """

    def __init__(self, value: Any = None) -> None:
        self._value: Any = None
        self._size = self._depth = self._copied = 0
        self._snapshot: Any = None
        self.replace(value)

    def replace(self, value: Any) -> None:
        """Another value altogether; `PatchFailed` where it is nested too deeply."""
        size, depth = _measured(value)
        if depth > MOST_DEEP:
            raise PatchFailed("the value is nested too deeply")
        self._value, self._size, self._depth, self._copied = _copy(value), size, depth, 0
        self._snapshot = _NEVER

    def snapshot(self) -> Any:
        """The value now. The same copy is given until a patch changes something."""
        if self._snapshot is _NEVER:
            self._snapshot = _copy(self._value)
        return self._snapshot

    def apply(self, patch: Sequence[Any]) -> None:
        """All operations of a patch, or none: `PatchFailed` says which does not apply, and why."""
        undo: list[_Undo] = []
        size, depth = self._size, self._depth
        for place, operation in enumerate(patch):
            try:
                if not isinstance(operation, Mapping):
                    raise PatchFailed("it is no object")
                self._do(cast("Mapping[str, Any]", operation), undo)
            except PatchFailed as error:
                for back in reversed(undo):
                    back()
                self._size, self._depth = size, depth
                raise PatchFailed(f"operation {place}: {error}") from error
        if undo:
            self._snapshot = _NEVER

    def _do(self, operation: Mapping[str, Any], undo: list[_Undo]) -> None:
        op, keys = operation.get("op"), _keys(operation.get("path"))
        if op not in _OPERATIONS:
            raise PatchFailed(f"{op!r} is none of {', '.join(_OPERATIONS)}")
        if op == "remove":
            self._remove(keys, undo)
        elif op in ("move", "copy"):
            source = _keys(operation.get("from"))
            found = self._get(source)
            (self._move if op == "move" else self._copy_within)(found, source, keys, undo)
        elif "value" not in operation:
            raise PatchFailed(f"{op} without a value")
        elif op == "test":
            if not _same(self._get(keys), operation["value"]):
                raise PatchFailed(f"{operation['path']} is not what was tested for")
        else:
            size, depth = _measured(operation["value"])
            self._deepen(len(keys) + depth)
            given = _copy(operation["value"])
            if op == "add":
                self._add(keys, given, size, undo)
            else:
                self._set(keys, given, size, undo)

    def _move(self, found: Any, source: Sequence[str], keys: Sequence[str], undo: list[_Undo]) -> None:
        if source == keys:
            return
        if keys[: len(source)] == source:
            raise PatchFailed("a value cannot be moved into itself")
        lower = len(keys) - len(source)
        if self._depth + lower > MOST_DEEP:  # it may be too deep: then it is looked at
            self._deepen(len(keys) + _measured(found)[1])
        else:
            self._depth += max(0, lower)
        self._remove(source, undo, size=0)
        self._add(keys, found, 0, undo)

    def _copy_within(self, found: Any, source: Sequence[str], keys: Sequence[str], undo: list[_Undo]) -> None:
        size, depth = _measured(found, most=MOST_COPIED - self._size)
        if self._size + size > MOST_COPIED or self._copied + size > MOST_COPIED_EVER:
            raise PatchFailed("the copy makes the value too large")
        self._copied += size
        self._deepen(len(keys) + depth)
        self._add(keys, _copy(found), size, undo)

    def _deepen(self, depth: int) -> None:
        if depth > MOST_DEEP:
            raise PatchFailed("the value would be nested too deeply")
        self._depth = max(self._depth, depth)

    def _get(self, keys: Sequence[str]) -> Any:
        value = self._value
        for key in keys:
            if isinstance(value, dict) and key in value:
                value = cast("dict[str, Any]", value)[key]
            elif isinstance(value, list):
                items = cast("list[Any]", value)
                value = items[_index(key, len(items) - 1)]
            else:
                raise PatchFailed(f"there is no {key!r}")
        return value

    def _add(self, keys: Sequence[str], given: Any, size: int, undo: list[_Undo]) -> None:
        parent: Any = self._get(keys[:-1]) if keys else None
        if not keys or (isinstance(parent, dict) and keys[-1] in parent):
            self._set(keys, given, size, undo)
        elif isinstance(parent, dict):
            fields, last = cast("dict[str, Any]", parent), keys[-1]
            fields[last] = given
            undo.append(lambda: fields.pop(last))
            self._size += size + len(last)
        elif isinstance(parent, list):
            items = cast("list[Any]", parent)
            place = len(items) if keys[-1] == "-" else _index(keys[-1], len(items))
            items.insert(place, given)
            undo.append(lambda: items.pop(place))
            self._size += size
        else:
            raise PatchFailed(f"nothing can be added below {keys[-1]!r}")

    def _set(self, keys: Sequence[str], given: Any, size: int, undo: list[_Undo]) -> None:
        """Puts it in the place of what is there."""
        old = self._get(keys)
        self._size += size - _measured(old)[0]
        if not keys:
            undo.append(lambda: self._put_back(old))
            self._value = given
            return
        parent, last = self._place(keys)
        parent[last] = given
        undo.append(lambda: parent.__setitem__(last, old))

    def _remove(self, keys: Sequence[str], undo: list[_Undo], *, size: int | None = None) -> None:
        """Takes away what is there; `size` is for what is put back elsewhere."""
        old = self._get(keys)
        self._size -= _measured(old)[0] if size is None else size
        if not keys:
            undo.append(lambda: self._put_back(old))
            self._value = None
            return
        parent, last = self._place(keys)
        del parent[last]
        if isinstance(last, str):
            self._size -= len(last)
            undo.append(lambda: parent.__setitem__(last, old))
        else:
            undo.append(lambda: parent.insert(last, old))

    def _place(self, keys: Sequence[str]) -> tuple[Any, str | int]:
        """Where something is: what holds it, and its key or number there."""
        parent = self._get(keys[:-1])
        return parent, int(keys[-1]) if isinstance(parent, list) else keys[-1]

    def _put_back(self, value: Any) -> None:
        self._value = value


def _keys(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchFailed(f"{pointer!r} is no JSON Pointer")
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def _measured(value: Any, *, most: float = float("inf")) -> tuple[int, int]:
    """How many values and characters there are, and how deeply they are nested; not looked further beyond `most`."""
    size = depth = 0
    left: list[tuple[Any, int]] = [(value, 1)]
    while left and size <= most:
        each, below = left.pop()
        size, depth = size + 1, max(depth, below)
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            size += sum(map(len, fields))
            left.extend((inner, below + 1) for inner in fields.values())
        elif isinstance(each, list):
            left.extend((inner, below + 1) for inner in cast("list[Any]", each))
    return size, depth


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_copy(each) for each in cast("list[Any]", value)]
    return value if value is None or isinstance(value, (str, int, float)) else copy.deepcopy(value)


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
