"""One object for what a million records repeat: each line of JSON brings its own copy of every name and resource."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from .values import attributes_of

_MOST = 4096
_LONGEST = 64


class Shared:
    """Remembers names, short texts and resources, a few thousand at a time."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._resources: dict[tuple[tuple[Any, ...], ...], Mapping[str, Any]] = {}

    def text(self, value: str) -> str:
        """An equal text, the same object each time."""
        if len(self._texts) >= _MOST:
            self._texts.clear()
        return self._texts.setdefault(value, value)

    def attributes(self, pairs: object) -> Mapping[str, Any]:
        """The attributes, with their names and short texts shared."""
        found = attributes_of(pairs)
        if len(self._texts) >= _MOST:
            self._texts.clear()
        same = self._texts.setdefault
        try:
            return {
                intern(name): same(value, value) if value.__class__ is str and len(value) < _LONGEST else value
                for name, value in found.items()
            }
        except TypeError:  # a name that is no text
            return {str(name): value for name, value in found.items()}

    def resource(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """An equal resource, the same object each time."""
        try:
            values = tuple(found.values())
            key = (tuple(found), values, tuple(map(type, values)))  # 1 and True are not the same
            known = self._resources.get(key)
        except TypeError:  # a list inside
            return found
        if known is None:
            if len(self._resources) >= _MOST:
                self._resources.clear()
            known = self._resources[key] = self.attributes(found)
        return known
