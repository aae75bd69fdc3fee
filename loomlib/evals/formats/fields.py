"""Reads the fields of an object of a file, tells every problem with its path, and notices what nobody asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from .plain import NotPlain, plain
from .problems import Path, Problems, shown

_MISSING: Any = object()


class Fields:
    """One object of the file. A field that is null counts as not given.

    Every field may be asked for by several spellings; the first that is there is taken.
    """

    __slots__ = ("known", "path", "problems", "values")

    def __init__(self, value: object, path: Path, problems: Problems, *, what: str = "an object") -> None:
        self.path, self.problems = path, problems
        self.known: set[str] = set()
        self.values: Mapping[str, Any] = {}
        if isinstance(value, Mapping):
            self.values = cast("Mapping[str, Any]", value)
        else:
            problems.add(path, f"this is {shown(value)}", f"put {what} here: {{…}}")

    def take(self, *names: str) -> tuple[Any, str]:
        """The value under the first of the names that is there, and that name; (None, first name) without one."""
        self.known.update(names)
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return value, name
        return None, names[0]

    def has(self, *names: str) -> bool:
        """Whether one of the names is there and not null."""
        return any(self.values.get(name) is not None for name in names)

    def all_by(self, readers: Mapping[str, Callable[[Fields, str], Any]]) -> dict[str, Any]:
        """Every field that is given and has a reader, read by it."""
        found = {
            name: readers[name](self, name)
            for name, value in self.values.items()
            if name in readers and value is not None
        }
        if not self.values.keys() <= self.known:
            self.known.update(readers)  # those that are null, and those that a slip of the pen may have meant
        return found

    def wrong(self, name: str, what: str, fix: str) -> None:
        """Tells a problem with a field."""
        self.problems.add((*self.path, name), what, fix)

    def text(self, *names: str, required: bool = False) -> str | None:
        """A text; None when it is not given (a problem if it is `required`)."""
        value, name = self.take(*names)
        if isinstance(value, str):
            return value
        if value is not None:
            self.wrong(name, f"this is {shown(value)}", "put a text here, in double quotes")
        elif required:
            self.wrong(name, "it is missing", f'add "{name}": "…"')
        return None

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of texts; empty when it is not given."""
        found: list[str] = []
        for value, path in self.items(*names):
            if isinstance(value, str):
                found.append(value)
            else:
                self.problems.add(path, f"this is {shown(value)}", "put a text here, in double quotes")
        return tuple(found)

    def items(self, *names: str) -> Iterator[tuple[Any, Path]]:
        """The members of a list, each with its path; none when it is not given."""
        value, name = self.take(*names)
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            self.wrong(name, f"this is {shown(value)}", "put a list here: […]")
            return
        for n, each in enumerate(cast("Sequence[Any]", value)):
            yield each, (*self.path, name, n)

    def whole(self, *names: str, at_least: int = 0) -> int | None:
        """A whole number; None when it is not given."""
        value, name = self.take(*names)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            self.wrong(name, f"this is {shown(value)}", f"put a whole number of at least {at_least} here")
            return None
        return value

    def number(self, *names: str) -> float | None:
        """A finite number; None when it is not given."""
        value, name = self.take(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
            self.wrong(name, f"this is {shown(value)}", "put a number here")
            return None
        return value

    def free(self, *names: str) -> Any:
        """Any plain value, keys sorted; None when it is not given."""
        value, name = self.take(*names)
        return None if value is None else self.plain(value, (*self.path, name))

    def mapping(self, *names: str) -> dict[str, Any] | None:
        """An object of plain values; None when it is not given."""
        value, name = self.take(*names)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.wrong(name, f"this is {shown(value)}", "put an object here: {…}")
            return None
        return self.plain(cast("object", value), (*self.path, name)) or {}

    def plain(self, value: object, path: Path) -> Any:
        """The value as plain JSON; a problem (and None) when it is none."""
        try:
            return plain(value)
        except NotPlain as problem:
            self.problems.add((*path, *problem.path), str(problem), "keep to plain, finite values below 100 levels")
            return None

    def rest(self) -> dict[str, Any]:
        """What nobody asked for."""
        return {key: value for key, value in self.values.items() if key not in self.known}

    def nothing_else(self) -> None:
        """A field that nobody knows is a problem: it is a slip of the pen more often than not."""
        if self.values.keys() <= self.known:
            return
        for key in self.rest():
            near = difflib.get_close_matches(key, sorted(self.known), n=1)
            fix = f"did you mean {near[0]!r}?" if near else "remove it, or put it under metadata"
            self.wrong(key, "no such field is known", fix)


def tell_twice(ids: Sequence[str | None], path: Path, name: str, problems: Problems) -> None:
    """A problem for every id that was there before; `path` leads to the list, `name` is the id's field."""
    seen: dict[str, int] = {}
    for n, id in enumerate(ids):
        if id is not None and seen.setdefault(id, n) != n:
            what = f"the id {shown(id)} is also that of number {seen[id] + 1}"
            problems.add((*path, n, name), what, "give every case its own id")
