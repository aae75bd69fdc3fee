"""Problems of a file, collected so that all of them can be fixed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from loomlib.errors import InvalidEvalSetError

Path: TypeAlias = "tuple[str | int, ...]"
"""Position of a value in a document: keys and indices from the top."""

SHOWN_PROBLEMS: Final = 10
"""How many problems a message lists; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem. `line` counts from 1 in the file; None where there are no lines (a DataFrame)."""

    path: Path
    what: str
    fix: str
    line: int | None = None

    @property
    def field(self) -> str:
        """The path as text: `cases[3].turns[0].prompt`."""
        return field_of(self.path)

    def __str__(self) -> str:
        place = ", ".join(filter(None, (f"line {self.line}" if self.line else "", self.field)))
        return f"{place}: {self.what}; {self.fix}" if place else f"{self.what}; {self.fix}"


class Problems:
    """Collects problems; `raise_if_any` raises them as one `InvalidEvalSetError`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: list[Problem] = []
        self.count = 0

    def add(self, path: Path, what: str, fix: str, *, line: int | None = None) -> None:
        """Add a problem; beyond the number that a message lists, problems are only counted.

        Args:
            path: Where it is.
            what: What is wrong.
            fix: What to do.
            line: The line, from 1.
        """
        self.count += 1
        if len(self.items) < SHOWN_PROBLEMS:
            self.items.append(Problem(path=path, what=what, fix=fix, line=line))

    def locate(self, lines_of: Callable[[Iterable[Path]], Mapping[Path, int]]) -> None:
        """Set the line of every problem without one."""
        if any(problem.line is None for problem in self.items):
            lines = lines_of([problem.path for problem in self.items])
            self.items = [
                problem if problem.line else Problem(
                    path=problem.path, what=problem.what, fix=problem.fix, line=lines.get(problem.path)
                )
                for problem in self.items
            ]  # fmt: skip

    def raise_if_any(self) -> None:
        """Raise `InvalidEvalSetError` with all problems, when there are any."""
        if not self.count:
            return
        texts = tuple(str(problem) for problem in self.items)
        if self.count == 1:
            first = self.items[0]
            text = str(first).removesuffix(f"; {first.fix}")
            raise InvalidEvalSetError(text, on=self.name, try_=f"{first.fix} (nothing was read)", problems=texts)
        more = f"\n  … and {self.count - len(texts)} more" if self.count > len(texts) else ""
        listed = "".join(f"\n  {text}" for text in texts)
        raise InvalidEvalSetError(
            f"the eval set {self.name} has {self.count} problems:{listed}{more}\n",
            try_="fix these places and read the file again (nothing was read)",
            problems=texts,
        )


def field_of(path: Path) -> str:
    """Return `("cases", 3, "id")` as `cases[3].id`; keys with special characters are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            word = step if step.isascii() and step.replace("_", "a").isalnum() else display_value(step)
            text += f".{word}" if text else word
    return text


def display_value(value: object, limit: int = 60) -> str:
    """Return a value for a message: escaped and shortened.

    Args:
        value: The value.
        limit: The longest text, in characters.
    """
    text = ascii(value[: limit + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= limit + 2 else f"{text[:limit]}…"
