"""Sharing of values that many records repeat: each line of JSON has its own copy of every name and resource."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from .any_values import attributes_of

_MAX_ENTRIES = 4096
_MAX_TEXT = 64


class InternPool:
    """Keeps one copy of equal names, short texts and resources, up to a few thousand of each."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._resources: dict[tuple[tuple[Any, ...], ...], Mapping[str, Any]] = {}

    def text(self, value: str) -> str:
        """Return the shared copy of an equal text."""
        if len(self._texts) >= _MAX_ENTRIES:
            self._texts.clear()
        return self._texts.setdefault(value, value)

    def attributes(self, pairs: object) -> Mapping[str, Any]:
        """Return the attributes with shared names and short texts."""
        attributes = attributes_of(pairs)
        if len(self._texts) >= _MAX_ENTRIES:
            self._texts.clear()
        shared = self._texts.setdefault
        try:
            return {
                intern(name): shared(value, value) if value.__class__ is str and len(value) < _MAX_TEXT else value
                for name, value in attributes.items()
            }
        except TypeError:  # a name that is not text
            return {str(name): value for name, value in attributes.items()}

    def resource(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the shared copy of an equal resource."""
        try:
            values = tuple(attributes.values())
            key = (tuple(attributes), values, tuple(map(type, values)))  # 1 and True are not the same
            shared = self._resources.get(key)
        except TypeError:  # a list inside
            return attributes
        if shared is None:
            if len(self._resources) >= _MAX_ENTRIES:
                self._resources.clear()
            shared = self._resources[key] = self.attributes(attributes)
        return shared
