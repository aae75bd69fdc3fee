"""A redaction rule: the pattern of a value, and how a match is confirmed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

KINDS = ("secret", "personal", "own")

Accept: TypeAlias = "Callable[[str], Sequence[tuple[int, int]]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRule:
    """A rule that finds one kind of value.

    Loom's own patterns take linear time on any text: they start where a run of their characters starts, and their
    repetitions are bounded or possessive. Write custom patterns in the same way.

    Attributes:
        name: Name in the placeholder, such as `email` in `[email 1]`.
        pattern: The pattern.
        kind: "secret", "personal" or "own".
        part: Group of the pattern that is redacted; 0 for the whole match.
        accept: Confirms a match: takes the matched text and returns the spans (start, end) to redact, in order.
        anchors: Lower-case texts, one of which must occur in a text before the pattern is tried.
        canonical: Maps the notations of one value to one text.
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
            raise ValueError(f"a rule's name must be printable and without brackets, not {self.name!r}")
        if self.kind not in KINDS:
            raise ValueError(f"a rule's kind must be one of {', '.join(KINDS)}, not {self.kind!r}")

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the rule matches in `text`."""
        if self.accept is None:
            for match in self.pattern.finditer(text):
                start, end = match.span(self.part)
                if start < end:
                    yield start, end
            return
        position = 0
        while (match := self.pattern.search(text, position)) is not None:
            start, end = match.span(self.part)
            accepted = self.accept(text[start:end])
            yield from ((start + begin, start + last) for begin, last in accepted)
            # A rejected match may contain another one that starts later.
            position = start + accepted[-1][1] if accepted else match.start() + 1

    def concerns(self, lowered: str) -> bool:
        """Return whether a text, given in lower case, can contain a match."""
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
    """Create a rule from a pattern's text.

    Args:
        name: Name in the placeholder.
        pattern: The regular expression.
        kind: "secret", "personal" or "own".
        ignore_case: Whether case is ignored.
        part: Group of the pattern that is redacted.
        accept: Confirms a match; see `RedactionRule`.
        anchors: Texts, one of which must occur; see `RedactionRule`.
        canonical: Maps the notations of one value to one text.

    Raises:
        ValueError: The pattern is not a regular expression.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern of {name!r} is not a regular expression: {error}") from error
    return RedactionRule(
        name=name,
        pattern=compiled,
        kind=kind,
        part=part,
        accept=accept,
        anchors=anchors,
        canonical=canonical,
    )
