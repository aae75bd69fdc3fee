"""One rule: what something that must not be kept looks like, and what makes it sure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

KINDS = ("secret", "personal", "own")

Accept: TypeAlias = "Callable[[str], Sequence[tuple[int, int]]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRule:
    """`name` is what stands in the placeholder: `[email 1]`.

    Of a match of `pattern` the group `part` is taken (0: all of it). `accept` is given what matched and returns where
    in it something is: starts and ends in their order, none for nothing. `anchors` are lower-case texts of which one
    must occur somewhere, before the pattern is tried at all. `canonical` makes one of two ways to write a value.

    Loom's own patterns take linear time on any text: they begin where their run of characters begins, their
    repetitions are bounded or possessive. A rule of one's own should be written in the same way.
    """

    name: str
    pattern: re.Pattern[str]
    kind: str = "own"
    part: int | str = 0
    accept: Accept | None = None
    anchors: tuple[str, ...] = ()
    canonical: Callable[[str], str] = str

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable() or set(self.name) & set("[]"):
            raise ValueError(f"a rule's name is printable and has no brackets, not {self.name!r}")
        if self.kind not in KINDS:
            raise ValueError(f"a rule is of the kind {', '.join(KINDS)}, not {self.kind!r}")

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it is found in `text`."""
        if self.accept is None:
            for match in self.pattern.finditer(text):
                start, end = match.span(self.part)
                if start < end:
                    yield start, end
            return
        at = 0
        while (match := self.pattern.search(text, at)) is not None:
            start, end = match.span(self.part)
            taken = self.accept(text[start:end])
            yield from ((start + begin, start + last) for begin, last in taken)
            # Where it is none, it may begin later in what matched.
            at = start + taken[-1][1] if taken else match.start() + 1

    def concerns(self, lowered: str) -> bool:
        """Whether the text, in lower case, can hold any."""
        return not self.anchors or any(anchor in lowered for anchor in self.anchors)


def rule(
    name: str,
    pattern: str,
    *,
    kind: str = "own",
    ignore_case: bool = False,
    part: int | str = 0,
    accept: Accept | None = None,
    anchors: tuple[str, ...] = (),
    canonical: Callable[[str], str] = str,
) -> RedactionRule:
    """A rule of a pattern's text. Raises `ValueError` where that is none."""
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ValueError(f"the pattern of {name!r} is no regular expression: {error}") from error
    return RedactionRule(
        name=name,
        pattern=compiled,
        kind=kind,
        part=part,
        accept=accept,
        anchors=anchors,
        canonical=canonical,
    )
