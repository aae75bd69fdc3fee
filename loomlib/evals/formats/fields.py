"""Reading the fields of an object: reports every problem with its path, and unknown fields."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from .plain import NotPlainError, plain
from .problems import Path, Problems, display_value


class Fields:
    """One object of the file. A null field counts as missing.

    A field can have several spellings; the first one present is used.
    """

    __slots__ = ("known_names", "path", "problems", "values")

    def __init__(self, value: object, path: Path, problems: Problems, *, what: str = "an object") -> None:
        self.path, self.problems = path, problems
        self.known_names: set[str] = set()
        self.values: Mapping[str, Any] = {}
        if isinstance(value, Mapping):
            self.values = cast("Mapping[str, Any]", value)
        else:
            problems.add(path, f"this is {display_value(value)}", f"put {what} here: {{…}}")

    def take(self, *names: str) -> tuple[Any, str]:
        """Return the value of the first name present and that name; (None, first name) without one."""
        self.known_names.update(names)
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return value, name
        return None, names[0]

    def has(self, *names: str) -> bool:
        """Return whether one of the names is present with a value other than null."""
        return any(self.values.get(name) is not None for name in names)

    def all_by(self, readers: Mapping[str, Callable[[Fields, str], Any]]) -> dict[str, Any]:
        """Return the value of every present field that has a reader."""
        values = {
            name: readers[name](self, name)
            for name, value in self.values.items()
            if name in readers and value is not None
        }
        if not self.values.keys() <= self.known_names:
            self.known_names.update(readers)  # null fields, and fields that a typo may have meant
        return values

    def wrong(self, name: str, what: str, fix: str) -> None:
        """Report a problem with a field.

        Args:
            name: The field.
            what: What is wrong.
            fix: What to do.
        """
        self.problems.add((*self.path, name), what, fix)

    def text(self, *names: str, required: bool = False) -> str | None:
        """Return a text; None when it is missing.

        Args:
            *names: The field's spellings.
            required: Whether a missing text is a problem.
        """
        value, name = self.take(*names)
        if isinstance(value, str):
            return value
        if value is not None:
            self.wrong(name, f"this is {display_value(value)}", "put a string here, in double quotes")
        elif required:
            self.wrong(name, "it is missing", f'add "{name}": "…"')
        return None

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of texts; empty when it is missing."""
        texts: list[str] = []
        for value, path in self.items(*names):
            if isinstance(value, str):
                texts.append(value)
            else:
                self.problems.add(path, f"this is {display_value(value)}", "put a string here, in double quotes")
        return tuple(texts)

    def items(self, *names: str) -> Iterator[tuple[Any, Path]]:
        """Yield the members of a list with their paths; none when it is missing."""
        value, name = self.take(*names)
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            self.wrong(name, f"this is {display_value(value)}", "put a list here: […]")
            return
        for n, item in enumerate(cast("Sequence[Any]", value)):
            yield item, (*self.path, name, n)

    def whole(self, *names: str, at_least: int = 0) -> int | None:
        """Return an integer; None when it is missing.

        Args:
            *names: The field's spellings.
            at_least: The smallest valid number.
        """
        value, name = self.take(*names)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            self.wrong(name, f"this is {display_value(value)}", f"put a whole number of at least {at_least} here")
            return None
        return value

    def number(self, *names: str) -> float | None:
        """Return a finite number; None when it is missing."""
        value, name = self.take(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
            self.wrong(name, f"this is {display_value(value)}", "put a number here")
            return None
        return value

    def free(self, *names: str) -> Any:
        """Return any plain value with sorted keys; None when it is missing."""
        value, name = self.take(*names)
        return None if value is None else self.plain(value, (*self.path, name))

    def mapping(self, *names: str) -> dict[str, Any] | None:
        """Return an object of plain values; None when it is missing."""
        value, name = self.take(*names)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.wrong(name, f"this is {display_value(value)}", "put an object here: {…}")
            return None
        return self.plain(cast("object", value), (*self.path, name)) or {}

    def plain(self, value: object, path: Path) -> Any:
        """Return a value as plain JSON; None after adding a problem when it is not plain."""
        try:
            return plain(value)
        except NotPlainError as problem:
            self.problems.add(
                (*path, *problem.path), str(problem), "use plain, finite values nested less than 100 levels deep"
            )
            return None

    def rest(self) -> dict[str, Any]:
        """Return the unknown fields."""
        return {key: value for key, value in self.values.items() if key not in self.known_names}

    def nothing_else(self) -> None:
        """Add a problem for every unknown field, which is usually a typo."""
        if self.values.keys() <= self.known_names:
            return
        for key in self.rest():
            near = difflib.get_close_matches(key, sorted(self.known_names), n=1)
            fix = f"did you mean {near[0]!r}?" if near else "remove it, or put it under metadata"
            self.wrong(key, "unknown field", fix)


def report_duplicates(ids: Sequence[str | None], path: Path, name: str, problems: Problems) -> None:
    """Add a problem for every duplicate id.

    Args:
        ids: The ids in order.
        path: The path of the list.
        name: The field of the id.
        problems: Collects the problems.
    """
    first_positions: dict[str, int] = {}
    for n, id in enumerate(ids):
        if id is not None and first_positions.setdefault(id, n) != n:
            problem = f"the id {display_value(id)} is also that of number {first_positions[id] + 1}"
            problems.add((*path, n, name), problem, "give every case its own id")
