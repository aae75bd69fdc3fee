"""Striking out: what rules find is replaced by placeholders that tell one value from another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from .personal import PERSONAL_DATA
from .rule import RedactionRule
from .secrets import SECRETS, is_secret_name

DEFAULT_RULES: Final[tuple[RedactionRule, ...]] = (*SECRETS[:-1], *PERSONAL_DATA, SECRETS[-1])
"""Secrets and personal data; what only looks random is the last resort."""

_SHORTEST: Final = 8
_KNOWN: Final = "secret"
_LARGE_NUMBER: Final = 10**11
_PLACEHOLDER: Final = re.compile(r"\[([^\[\]\n]{1,60}) ([0-9]{1,9})\]")

_PASSES: Final = 4
_Span: TypeAlias = "tuple[int, int, int, str, Callable[[str], str]]"

Finder: TypeAlias = Callable[[str], Iterable[Any]]
"""A recogniser from elsewhere: gives `(name, start, end)`, or objects with `entity_type`, `start` and `end` as
Presidio's do: `lambda text: analyzer.analyze(text, language="en")`."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where something was struck out: characters `start` to `end` of the text before. The value is in none of it."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text as it may be kept, and what was struck out of it, in its order."""

    text: str
    found: tuple[Found, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many of each rule."""
        return dict(Counter(each.rule for each in self.found))


class Redactor:
    """Rules at work. `known` are secrets by their value (of eight characters and more), struck out wherever they are.

    `placeholder` replaces everything by one text; without it a value is replaced by `[email 1]`, the same one
    everywhere in a document.
    """

    def __init__(
        self,
        rules: Sequence[RedactionRule] = DEFAULT_RULES,
        *,
        known: Iterable[str] = (),
        finders: Sequence[Finder] = (),
        placeholder: str | None = None,
    ) -> None:
        self.rules, self.finders, self.placeholder = tuple(rules), tuple(finders), placeholder
        values = sorted({value for value in known if len(value) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, values))) if values else None

    def redact(self, text: str) -> Redacted:
        """`text` as a document of its own."""
        return self.document().redact(text)

    def value(self, value: Any) -> Any:
        """A copy of a JSON value, as a document of its own."""
        return self.document().value(value)

    def document(self) -> Document:
        """Several texts that belong together: one value has one placeholder in all of them."""
        return Document(self)

    def find(self, text: str) -> list[tuple[int, int, str, Callable[[str], str]]]:
        """What is found, in its order, nothing twice: start, end, name, and how one value is told from another.

        Where two rules overlap all that either found is one, under the name of the rule that comes first.
        """
        spans = self._found_elsewhere(text)
        rest = text
        for _ in range(_PASSES):  # what is found bounds what stands beside it: `<account> <card>`
            some = self._spans(rest)
            if not some:
                break
            spans += some
            rest = _masked(rest, some)
        spans.sort(key=lambda span: span[:3])
        merged: list[_Span] = []
        for span in spans:
            if merged and span[0] < merged[-1][1]:
                last = merged[-1]
                first = min(last, span, key=lambda each: each[2])
                merged[-1] = (last[0], max(last[1], span[1]), *first[2:])
            else:
                merged.append(span)
        return [(start, end, name, canonical) for start, end, _, name, canonical in merged]

    def _spans(self, text: str) -> list[_Span]:
        spans: list[_Span] = []
        if self._known is not None:
            spans.extend((*match.span(), -1, _KNOWN, str) for match in self._known.finditer(text))
        lowered = text.lower()
        for rank, rule in enumerate(self.rules):
            if rule.concerns(lowered):
                spans.extend((start, end, rank, rule.name, rule.canonical) for start, end in rule.spans(text))
        return spans

    def _found_elsewhere(self, text: str) -> list[_Span]:
        spans: list[_Span] = []
        for finder in self.finders:
            for each in finder(text):
                name, start, end = _of_finder(each)
                if 0 <= start < end <= len(text):
                    spans.append((start, end, len(self.rules), name, str))
        return spans


class Document:
    """Texts and values of one conversation. It remembers what it struck out for as long as it lives."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._numbers: dict[tuple[str, str], int] = {}
        self._last: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def redact(self, text: str) -> Redacted:
        """`text` as it may be kept."""
        self._heed(text)
        found = self._redactor.find(text)
        if not found:
            return Redacted(text)
        pieces: list[str] = []
        at = 0
        for start, end, name, canonical in found:
            pieces += (text[at:start], self._instead(name, canonical(text[start:end])))
            at = end
        self.counts.update(name for _, _, name, _ in found)
        pieces.append(text[at:])
        return Redacted("".join(pieces), tuple(Found(name, start, end) for start, end, name, _ in found))

    def text(self, text: str) -> str:
        """`redact`, the text alone."""
        return self.redact(text).text

    def value(self, value: Any) -> Any:
        """A copy of a JSON value with its texts (keys too) as they may be kept; however deep it is.

        Texts and numbers in a field that is named as a secret's are struck out whole, all those deeper in it too; so is
        a whole number that a rule knows.
        """
        root: list[Any] = [value]
        todo: list[tuple[Any, Any, Any, bool]] = [(root, 0, value, False)]
        while todo:
            home, key, each, is_secret = todo.pop()
            if isinstance(each, str):
                home[key] = self._struck(each) if is_secret and each else self.text(each)
            elif isinstance(each, Mapping):
                pairs = list(cast("Mapping[Any, Any]", each).items())
                new: dict[Any, Any] = {}
                named = [(self.text(name) if isinstance(name, str) else name, name, item) for name, item in pairs]
                new.update((safe, None) for safe, _, _ in named)
                home[key] = new
                todo += [
                    (new, safe, item, is_secret or (isinstance(name, str) and is_secret_name(name)))
                    for safe, name, item in reversed(named)
                ]
            elif isinstance(each, (list, tuple)):
                items = cast("Sequence[Any]", each)
                copy: list[Any] = [None] * len(items)
                home[key] = copy
                todo += [(copy, place, items[place], is_secret) for place in reversed(range(len(items)))]
            elif is_secret and isinstance(each, (int, float)) and not isinstance(each, bool):
                home[key] = self._struck(hex(each) if isinstance(each, int) and _is_huge(each) else str(each))
            elif isinstance(each, int) and not isinstance(each, bool) and abs(each) >= _LARGE_NUMBER:
                home[key] = self._number(each)
            else:
                home[key] = each
        return root[0]

    def _number(self, value: int) -> Any:
        if _is_huge(value):
            return value
        text = str(value)
        found = self._redactor.find(text)
        return self.text(text) if found and found[0][:2] == (0, len(text)) else value

    def _struck(self, text: str) -> str:
        if _PLACEHOLDER.fullmatch(text) or text == self._redactor.placeholder:
            self._heed(text)
            return text
        self.counts[_KNOWN] += 1
        return self._instead(_KNOWN, text)

    def _heed(self, text: str) -> None:
        """Placeholders of an earlier time are not to be taken for those of this document."""
        for name, number in _PLACEHOLDER.findall(text):
            self._last[name] = max(self._last[name], int(number))

    def _instead(self, name: str, value: str) -> str:
        if self._redactor.placeholder is not None:
            return self._redactor.placeholder
        key = (name, value)
        if key not in self._numbers:
            self._last[name] += 1
            self._numbers[key] = self._last[name]
        return f"[{name} {self._numbers[key]}]"


def redact(text: str, rules: Sequence[RedactionRule] = DEFAULT_RULES) -> Redacted:
    """`text` without secrets and personal data.

    >>> redact("write to ann@example.org, then to ann@example.org").text
    'write to [email 1], then to [email 1]'
    """
    return _redactor(tuple(rules)).redact(text)


@lru_cache(maxsize=8)
def _redactor(rules: tuple[RedactionRule, ...]) -> Redactor:
    return Redactor(rules)


def _masked(text: str, spans: Sequence[_Span]) -> str:
    """The same text, of the same length, without what was found."""
    pieces: list[str] = []
    at = 0
    for start, end, *_ in sorted(spans, key=lambda span: span[:2]):
        if end > at:
            pieces += (text[at : max(at, start)], "\0" * (end - max(at, start)))
            at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _is_huge(value: int) -> bool:
    return value.bit_length() > 200  # Python writes no number of more than 4300 digits


def _of_finder(found: Any) -> tuple[str, int, int]:
    if isinstance(found, tuple):
        name, start, end = cast("tuple[Any, Any, Any]", found)
    else:
        name, start, end = getattr(found, "entity_type", None) or found.rule, found.start, found.end
    return str(name).replace("_", " ").lower().translate({91: None, 93: None}).strip() or "found", int(start), int(end)
