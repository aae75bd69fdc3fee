"""A three-way merge of texts by lines, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

MINE_MARK: Final = "<<<<<<< yours\n"
MIDDLE_MARK: Final = "=======\n"
THEIRS_MARK: Final = ">>>>>>> generated\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedText:
    """The result of a merge.

    Attributes:
        text: The text; conflicts are enclosed in markers, with the lines of both sides.
        conflicts: Number of conflicts.
    """

    text: str
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class _Same:
    """Lines that all three texts share: their start in each text, and their number."""

    base: int
    mine: int
    theirs: int
    count: int


def merge_texts(base: str, mine: str, theirs: str) -> MergedText:
    r"""Merge two texts that are derived from the same base.

    Windows line breaks are preserved.

    Args:
        base: The text from which both are derived.
        mine: One text, whose line breaks the result has.
        theirs: The other text.

    Examples:
        >>> merge_texts("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").text
        'A\nb\nC\n'
    """
    if "\r\n" in mine and "\r\n" not in base + theirs:
        base, theirs = base.replace("\n", "\r\n"), theirs.replace("\n", "\r\n")
    if theirs in (base, mine):
        return MergedText(text=mine)
    if mine == base:
        return MergedText(text=theirs)
    base_lines, mine_lines, theirs_lines = _lines(base), _lines(mine), _lines(theirs)
    merged: list[str] = []
    conflicts = 0
    at = _Same(0, 0, 0, 0)
    for same in _shared(base_lines, mine_lines, theirs_lines):
        part_base = base_lines[at.base : same.base]
        part_mine, part_theirs = mine_lines[at.mine : same.mine], theirs_lines[at.theirs : same.theirs]
        if part_theirs in (part_base, part_mine):
            merged += part_mine
        elif part_mine == part_base:
            merged += part_theirs
        else:
            conflicts += 1
            merged += _conflict(part_mine, part_theirs)
        merged += base_lines[same.base : same.base + same.count]
        at = _Same(same.base + same.count, same.mine + same.count, same.theirs + same.count, 0)
    return MergedText(text="".join(merged), conflicts=conflicts)


def has_conflict(text: str) -> bool:
    """Return whether a text contains an unresolved conflict.

    Args:
        text: The text.
    """
    starts = {line.rstrip("\r\n") for line in _lines(text)}
    return {MINE_MARK.rstrip(), THEIRS_MARK.rstrip()} <= starts


def _shared(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> Iterator[_Same]:
    """Yield the blocks of lines that all three share, and an empty one at their end."""
    mine_blocks = SequenceMatcher(None, base, mine, autojunk=False).get_matching_blocks()
    theirs_blocks = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    first = second = 0
    while first < len(mine_blocks) and second < len(theirs_blocks):
        one, other = mine_blocks[first], theirs_blocks[second]
        start, end = max(one.a, other.a), min(one.a + one.size, other.a + other.size)
        if start < end:
            yield _Same(start, one.b + start - one.a, other.b + start - other.a, end - start)
        if one.a + one.size < other.a + other.size:
            first += 1
        else:
            second += 1
    yield _Same(len(base), len(mine), len(theirs), 0)


def _conflict(mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    ending = "\r\n" if any(line.endswith("\r\n") for line in (*mine, *theirs)) else "\n"
    marks = [mark.replace("\n", ending) for mark in (MINE_MARK, MIDDLE_MARK, THEIRS_MARK)]
    return [marks[0], *_ended(mine, ending), marks[1], *_ended(theirs, ending), marks[2]]


def _ended(lines: Sequence[str], ending: str) -> list[str]:
    """Return the lines with a line ending on the last one, so that a marker starts on a new line."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + ending]
    return list(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text, split only at line feeds: a form feed or U+2028 does not end a line."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
