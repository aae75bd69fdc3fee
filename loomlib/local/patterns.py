"""Callers' regular expressions, matched in time linear in the length of the text.

Python's `re` backtracks: `(a+)+$` on forty letters takes hours and holds the GIL, so one log filter would stop
the service. RE2 (google-re2) never backtracks and bounds its memory. It does not support look-around or
back-references; neither does CloudWatch Logs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

import re2

LONGEST_PATTERN = 10_000
"""Maximum length in characters; CloudWatch Logs limits a query to 10,000 and a filter pattern to 1,024."""

_MEMORY_BYTES = 8 << 20  # RE2's default for one compiled pattern and its automaton
_SYNTAX_ERROR: type[Exception] = cast("type[Exception]", re2.error)  # pyright: ignore[reportUnknownMemberType]
_JAVA_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


class PatternError(ValueError):
    """A pattern that cannot be compiled; the message is a reason in one clause."""


class Pattern:
    """A compiled pattern. Thread-safe.

    Args:
        pattern: An expression in RE2's syntax; named groups are `(?P<name>…)` or `(?<name>…)`.
        dot_all: Whether `.` also matches line breaks.

    Raises:
        PatternError: The pattern is malformed, too long, or needs look-around or back-references.
    """

    def __init__(self, pattern: str, *, dot_all: bool = False) -> None:
        if len(pattern) > LONGEST_PATTERN:
            raise PatternError(f"it is longer than {LONGEST_PATTERN:,} characters")
        options: Any = re2.Options()
        options.log_errors, options.max_mem, options.dot_nl = False, _MEMORY_BYTES, dot_all
        try:
            self._compiled: Any = re2.compile(pattern.encode(), options)  # pyright: ignore[reportUnknownMemberType]
        except UnicodeEncodeError as error:
            raise PatternError("it has half a surrogate pair") from error
        except _SYNTAX_ERROR as error:
            reason: object = error.args[0] if error.args else ""
            text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise PatternError(f"{text} (RE2 syntax: no look-around, no back-references)") from error
        finally:
            re2.purge()  # its cache holds 128 patterns of callers, each of up to 8 MiB
        group_numbers: dict[bytes, int] = self._compiled.groupindex
        self._names = [name.decode() for name in sorted(group_numbers, key=group_numbers.__getitem__)]
        self._numbers = sorted(group_numbers.values())

    @property
    def group_names(self) -> list[str]:
        """The names of the named groups, in order."""
        return list(self._names)

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return int(self._compiled.groups)

    def occurs_in(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in a text."""
        return self._compiled.search(_encoded(text)) is not None

    def matches_whole(self, text: str) -> bool:
        """Return whether the pattern matches all of a text."""
        return self._compiled.fullmatch(_encoded(text)) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the pattern matches in a text, in order and without overlaps; no empty matches."""
        encoded, spans, at, characters = _encoded(text), list[tuple[int, int]](), 0, 0
        for match in self._compiled.finditer(encoded):
            start, end = match.span()
            if start < end:
                begin = characters + len(encoded[at:start].decode("utf-8", "replace"))
                at, characters = end, begin + len(encoded[start:end].decode("utf-8", "replace"))
                spans.append((begin, characters))
        return spans

    def groups(self, text: str) -> list[str | None] | None:
        """Return the groups of the first match in a text; None without a match."""
        match = self._compiled.search(_encoded(text))
        return None if match is None else [_decoded(group) for group in match.groups()]

    def named_groups(self, text: str) -> dict[str, str | None]:
        """Return the named groups of the first match in a text; none without a match."""
        groups = self.groups(text)
        return (
            {}
            if groups is None
            else {name: groups[at - 1] for name, at in zip(self._names, self._numbers, strict=True)}
        )


@lru_cache(maxsize=512)
def model_pattern(pattern: str) -> Pattern | re.Pattern[str]:
    """Compile a pattern of a service model.

    A few of AWS's patterns have look-aheads, or repeat a character class more than 1,000 times, which RE2 refuses.
    Those have no nested repetition, so Python's `re` matches them in linear time as well.
    """
    try:
        return Pattern(_JAVA_ESCAPE.sub(r"\\x{\1}", pattern))
    except PatternError:
        return re.compile(pattern)


def matches_model(pattern: str, text: str) -> bool:
    """Return whether a text matches the pattern that a service model requires."""
    compiled = model_pattern(pattern)
    if isinstance(compiled, Pattern):
        return compiled.matches_whole(text)
    return compiled.fullmatch(text) is not None


def _encoded(text: str) -> bytes:
    """Encode a text as UTF-8; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace")


def _decoded(group: bytes | None) -> str | None:
    return None if group is None else group.decode("utf-8", "replace")
