"""A table of a hand-written TOML file: each value is read by its type, or rejected with an error that names its key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from ..errors import SettingsError

T = TypeVar("T")


class TomlTable:
    """A table of a file, whose values are read by type.

    Args:
        values: The parsed table.
        name: Its name; "" for the file itself.
        where: The file, for messages.
    """

    def __init__(self, values: Mapping[str, Any], name: str, where: str) -> None:
        self._values, self._name, self._where = values, name, where

    def error(self, key: str, problem: str) -> SettingsError:
        """Return the error about a key."""
        path = f"{self._name}.{key}" if self._name else key
        return SettingsError(f"{path} {problem}", on=self._where, try_="correct that value")

    def create(self, key: str, make: Callable[[], T]) -> T:
        """Call `make` and convert its ValueError to a SettingsError."""
        try:
            return make()
        except ValueError as error:
            on = f"[{key}] in {self._where}" if key else self._where
            raise SettingsError(str(error), on=on, try_="correct that value") from error

    def check_keys(self, allowed: Iterable[str]) -> None:
        """Reject keys that are not allowed."""
        allowed_keys = tuple(allowed)
        if unknown := [key for key in self._values if key not in allowed_keys]:
            on = f"[{self._name}] in {self._where}" if self._name else self._where
            raise SettingsError(f"Unknown key: {', '.join(sorted(unknown))}", on=on, try_=", ".join(allowed_keys))

    def table(self, key: str, allowed: Iterable[str] | None = None) -> TomlTable:
        """Return a table; an empty one if it is missing."""
        value: object = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.error(key, f"must be a table: [{key}]")
        table = TomlTable(cast("Mapping[str, Any]", value), key, self._where)
        if allowed is not None:
            table.check_keys(allowed)
        return table

    def tables(self, key: str, allowed: Iterable[str]) -> list[TomlTable]:
        """Return an array of tables; an empty one if it is missing."""
        value: object = self._values.get(key, [])
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(item, Mapping) for item in items):
            raise self.error(key, f"must be an array of tables: [[{key}]]")
        tables = [
            TomlTable(cast("Mapping[str, Any]", item), f"{key}[{number}]", self._where)
            for number, item in enumerate(items, 1)
        ]
        for table in tables:
            table.check_keys(allowed)
        return tables

    def text(self, key: str) -> str:
        """Return a text; "" if it is missing."""
        value: object = self._values.get(key, "")
        if not isinstance(value, str):
            raise self.error(key, 'must be a string in quotes, such as "value"')
        return value

    def is_table(self, key: str) -> bool:
        """Return whether the value is a table."""
        return isinstance(self._values.get(key), Mapping)

    def texts(self) -> dict[str, str]:
        """Return all values, which must be texts."""
        return {key: self.text(key) for key in self._values}

    def whole_number(self, key: str) -> int | None:
        """Return a whole number of seconds, or None."""
        value: object = self._values.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.error(key, "must be a whole number of seconds, such as 900")
        return value

    def list_of_texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; an empty one if it is missing."""
        value: object = self._values.get(key, [])
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(item, str) and item for item in items):
            raise self.error(key, 'must be a list of strings, such as ["first", "second"]')
        return tuple(cast("list[str]", items))

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a table with values of any type; an empty one if it is missing."""
        value: object = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.error(key, 'must be a table, such as {prompt = "…"}')
        return cast("Mapping[str, Any]", value)
