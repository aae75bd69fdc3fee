"""JSON Patch (RFC 6902) on JSON values, with JSON Pointers (RFC 6901).

Patches are untrusted: a few `copy` operations on the whole document could exhaust memory, and a few nested `add`
operations could create a value that nothing can serialize. Both are refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

MAX_COPIED: Final = 1_000_000
"""Maximum size of a value after a `copy`, as the number of values plus characters."""
MAX_COPIED_TOTAL: Final = 10_000_000
"""Limit of the total that all patches of one document copy, whether the copies remain or not."""
MAX_DEPTH: Final = 200
"""Limit of nesting."""

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")
_NEVER: Final = object()
_Undo = Callable[[], object]


class PatchError(ValueError):
    """A patch that does not apply; none of it was applied."""


def apply_patch(value: Any, patch: Sequence[Any]) -> Any:
    """Return the value after all operations of a patch; the given value is unchanged.

    Args:
        value: The JSON value.
        patch: The operations.

    Raises:
        PatchError: An operation does not apply.
    """
    document = JsonDocument(value)
    document.apply(patch)
    return document.snapshot()


class JsonDocument:
    """A JSON value that patches change in place; a patch costs the size of its change, not of the value.

    Args:
        value: The initial value.
    """

    def __init__(self, value: Any = None) -> None:
        self._value: Any = None
        self._size = self._depth = self._copied = 0
        self._snapshot: Any = None
        self.replace(value)

    def replace(self, value: Any) -> None:
        """Replace the value.

        Raises:
            PatchError: It is nested too deeply.
        """
        size, depth = _measured(value)
        if depth > MAX_DEPTH:
            raise PatchError("the value is nested too deeply")
        self._value, self._size, self._depth, self._copied = _copy(value), size, depth, 0
        self._snapshot = _NEVER

    def snapshot(self) -> Any:
        """Return a copy of the value; the same copy until a patch changes something."""
        if self._snapshot is _NEVER:
            self._snapshot = _copy(self._value)
        return self._snapshot

    def apply(self, patch: Sequence[Any]) -> None:
        """Apply all operations of a patch, or none.

        Raises:
            PatchError: An operation does not apply; the message says which and why.
        """
        undo: list[_Undo] = []
        size, depth = self._size, self._depth
        for place, operation in enumerate(patch):
            try:
                if not isinstance(operation, Mapping):
                    raise PatchError("it is not an object")
                self._do(cast("Mapping[str, Any]", operation), undo)
            except PatchError as error:
                for back in reversed(undo):
                    back()
                self._size, self._depth = size, depth
                raise PatchError(f"operation {place}: {error}") from error
        if undo:
            self._snapshot = _NEVER

    def _do(self, operation: Mapping[str, Any], undo: list[_Undo]) -> None:
        op, keys = operation.get("op"), _keys(operation.get("path"))
        if op not in _OPERATIONS:
            raise PatchError(f"{op!r} is not one of {', '.join(_OPERATIONS)}")
        if op == "remove":
            self._remove(keys, undo)
        elif op in ("move", "copy"):
            source = _keys(operation.get("from"))
            moved = self._get(source)
            (self._move if op == "move" else self._copy_within)(moved, source, keys, undo)
        elif "value" not in operation:
            raise PatchError(f"{op} without a value")
        elif op == "test":
            if not _same(self._get(keys), operation["value"]):
                raise PatchError(f"{operation['path']} does not have the tested value")
        else:
            size, depth = _measured(operation["value"])
            self._deepen(len(keys) + depth)
            value = _copy(operation["value"])
            if op == "add":
                self._add(keys, value, size, undo)
            else:
                self._set(keys, value, size, undo)

    def _move(self, moved: Any, source: Sequence[str], keys: Sequence[str], undo: list[_Undo]) -> None:
        if source == keys:
            return
        if keys[: len(source)] == source:
            raise PatchError("a value cannot be moved into itself")
        lower = len(keys) - len(source)
        if self._depth + lower > MAX_DEPTH:  # it may be too deep: measure it
            self._deepen(len(keys) + _measured(moved)[1])
        else:
            self._depth += max(0, lower)
        self._remove(source, undo, size=0)
        self._add(keys, moved, 0, undo)

    def _copy_within(self, moved: Any, source: Sequence[str], keys: Sequence[str], undo: list[_Undo]) -> None:
        size, depth = _measured(moved, most=MAX_COPIED - self._size)
        if self._size + size > MAX_COPIED or self._copied + size > MAX_COPIED_TOTAL:
            raise PatchError("the copy makes the value too large")
        self._copied += size
        self._deepen(len(keys) + depth)
        self._add(keys, _copy(moved), size, undo)

    def _deepen(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise PatchError("the value would be nested too deeply")
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
                raise PatchError(f"there is no {key!r}")
        return value

    def _add(self, keys: Sequence[str], value: Any, size: int, undo: list[_Undo]) -> None:
        parent: Any = self._get(keys[:-1]) if keys else None
        if not keys or (isinstance(parent, dict) and keys[-1] in parent):
            self._set(keys, value, size, undo)
        elif isinstance(parent, dict):
            fields, last = cast("dict[str, Any]", parent), keys[-1]
            fields[last] = value
            undo.append(lambda: fields.pop(last))
            self._size += size + len(last)
        elif isinstance(parent, list):
            items = cast("list[Any]", parent)
            place = len(items) if keys[-1] == "-" else _index(keys[-1], len(items))
            items.insert(place, value)
            undo.append(lambda: items.pop(place))
            self._size += size
        else:
            raise PatchError(f"nothing can be added below {keys[-1]!r}")

    def _set(self, keys: Sequence[str], value: Any, size: int, undo: list[_Undo]) -> None:
        """Replace the existing value."""
        old = self._get(keys)
        self._size += size - _measured(old)[0]
        if not keys:
            undo.append(lambda: self._put_back(old))
            self._value = value
            return
        parent, last = self._place(keys)
        parent[last] = value
        undo.append(lambda: parent.__setitem__(last, old))

    def _remove(self, keys: Sequence[str], undo: list[_Undo], *, size: int | None = None) -> None:
        """Remove an existing value; `size` is given for a move, which inserts the value elsewhere."""
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
        """Return the container of a value, and the value's key or index in it."""
        parent = self._get(keys[:-1])
        return parent, int(keys[-1]) if isinstance(parent, list) else keys[-1]

    def _put_back(self, value: Any) -> None:
        self._value = value


def _keys(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError(f"{pointer!r} is not a JSON Pointer")
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


def _measured(value: Any, *, most: float = float("inf")) -> tuple[int, int]:
    """Return the number of values and characters, and the depth; stop counting beyond `most`."""
    size = depth = 0
    pending: list[tuple[Any, int]] = [(value, 1)]
    while pending and size <= most:
        node, level = pending.pop()
        size, depth = size + 1, max(depth, level)
        if isinstance(node, str):
            size += len(node)
        elif isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            size += sum(map(len, fields))
            pending.extend((inner, level + 1) for inner in fields.values())
        elif isinstance(node, list):
            pending.extend((inner, level + 1) for inner in cast("list[Any]", node))
    return size, depth


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_copy(item) for item in cast("list[Any]", value)]
    return value if value is None or isinstance(value, (str, int, float)) else copy.deepcopy(value)


def _index(key: str, highest: int) -> int:
    if not (key.isascii() and key.isdigit()) or (len(key) > 1 and key[0] == "0") or len(key) > 9 or int(key) > highest:
        raise PatchError(f"there is no place {key!r}")
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
