"""Redact texts and JSON values: what rules find is replaced by placeholders that distinguish the values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from .personal import PERSONAL_DATA
from .rule import RedactionRule
from .secrets import SECRETS, is_secret_name

READABLE_RULES: Final[tuple[RedactionRule, ...]] = (*SECRETS[:-1], *PERSONAL_DATA)
"""Secrets and personal data, without the rule for random-looking text: for errors, logs and reports, which name ids."""

DEFAULT_RULES: Final[tuple[RedactionRule, ...]] = (*READABLE_RULES, SECRETS[-1])
"""Secrets and personal data; the rule for random-looking text comes last."""

_SHORTEST: Final = 8
_KNOWN: Final = "secret"
_LARGE_NUMBER: Final = 10**11
"""The least integer that is examined, of twelve digits: shorter ones are often nanoseconds or bytes."""
_PLACEHOLDER: Final = re.compile(r"\[([^\[\]\n]{1,60}) ([0-9]{1,9})\]")

_PASSES: Final = 4
_MatchedText: TypeAlias = "tuple[int, int, int, str, Callable[[str], str]]"

Finder: TypeAlias = Callable[[str], Iterable[Any]]
"""An external recognizer: returns `(name, start, end)`, or objects with `entity_type`, `start` and `end` like
Presidio's: `lambda text: analyzer.analyze(text, language="en")`."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The position of a redacted value, characters `start` to `end` of the original text, without the value."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text, and its redactions in order."""

    text: str
    found: tuple[Redaction, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of redactions by rule."""
        return dict(Counter(redaction.rule for redaction in self.found))


class Redactor:
    """Applies redaction rules to texts and JSON values.

    Args:
        rules: The rules; where two overlap, the earlier one names the value.
        known: Secrets by their values (of at least eight characters), redacted wherever they occur.
        finders: External recognizers.
        placeholder: One text that replaces everything. Without it a value is replaced by a numbered placeholder such as
            `[email 1]`, the same everywhere in a document.
        numbered: False for placeholders without numbers (`[email]`), for texts of several documents side by side.
    """

    def __init__(
        self,
        rules: Sequence[RedactionRule] = DEFAULT_RULES,
        *,
        known: Iterable[str] = (),
        finders: Sequence[Finder] = (),
        placeholder: str | None = None,
        numbered: bool = True,
    ) -> None:
        self.rules, self.finders, self.placeholder = tuple(rules), tuple(finders), placeholder
        self.numbered = numbered
        values = sorted({value for value in known if len(value) >= _SHORTEST}, key=len, reverse=True)
        self._known_values = re.compile("|".join(map(re.escape, values))) if values else None
        names = "|".join(re.escape(name) for name in sorted({rule.name for rule in self.rules} | {_KNOWN}))
        # At most four digits: a longer number could be a value that somebody put in brackets.
        self._own_placeholder = re.compile(rf"\[(?:{names})(?: [0-9]{{1,4}})?\]")

    def redact(self, text: str) -> Redacted:
        """Redact a text as a document of its own."""
        return self.document().redact(text)

    def value(self, value: Any) -> Any:
        """Return a redacted copy of a JSON value, as a document of its own."""
        return self.document().value(value)

    def document(self) -> Document:
        """Return a document for several related texts, in which each value has one placeholder."""
        return Document(self)

    def find(self, text: str) -> list[tuple[int, int, str, Callable[[str], str]]]:
        """Return the matches in a text in order, without overlaps: start, end, rule name, `canonical`.

        Matches that overlap are merged, under the name of the rule that comes first.
        """
        spans = self._external_spans(text)
        rest = text
        for _ in range(_PASSES):  # a match can delimit another one beside it: `<account> <card>`
            new = self._spans(rest)
            if not new:
                break
            spans += new
            rest = _masked(rest, new)
        spans.sort(key=lambda span: span[:3])
        merged: list[_MatchedText] = []
        for span in spans:
            if merged and span[0] < merged[-1][1]:
                last = merged[-1]
                first = min(last, span, key=lambda candidate: candidate[2])
                merged[-1] = (last[0], max(last[1], span[1]), *first[2:])
            else:
                merged.append(span)
        return [(start, end, name, canonical) for start, end, _, name, canonical in merged]

    def _spans(self, text: str) -> list[_MatchedText]:
        spans: list[_MatchedText] = []
        if self._known_values is not None:
            spans.extend((*match.span(), -1, _KNOWN, str) for match in self._known_values.finditer(text))
        lowered = text.lower()
        placeholders = [match.span() for match in self._own_placeholder.finditer(text)]
        for rank, rule in enumerate(self.rules):
            if rule.concerns(lowered):
                spans.extend(
                    (start, end, rank, rule.name, rule.canonical)
                    for start, end in rule.spans(text)
                    if not any(first <= start and end <= last for first, last in placeholders)
                )
        return spans

    def _external_spans(self, text: str) -> list[_MatchedText]:
        spans: list[_MatchedText] = []
        for finder in self.finders:
            for span in finder(text):
                name, start, end = _of_finder(span)
                if 0 <= start < end <= len(text):
                    spans.append((start, end, len(self.rules), name, str))
        return spans


class Document:
    """Texts and values redacted together; keeps the redacted values in memory while it exists."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._numbers: dict[tuple[str, str], int] = {}
        self._last: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def redact(self, text: str) -> Redacted:
        """Redact a text."""
        self._reserve_placeholders(text)
        spans = self._redactor.find(text)
        if not spans:
            return Redacted(text)
        pieces: list[str] = []
        at = 0
        for start, end, name, canonical in spans:
            pieces += (text[at:start], self._replacement(name, canonical(text[start:end])))
            at = end
        self.counts.update(name for _, _, name, _ in spans)
        pieces.append(text[at:])
        return Redacted("".join(pieces), tuple(Redaction(name, start, end) for start, end, name, _ in spans))

    def text(self, text: str) -> str:
        """Redact a text and return only the text."""
        return self.redact(text).text

    def value(self, value: Any) -> Any:
        """Return a copy of a JSON value with its texts and keys redacted, at any depth.

        Strings and numbers in a field with a secret's name are redacted whole, including everything nested in it; so is
        a whole number that matches a rule.
        """
        root: list[Any] = [value]
        pending: list[tuple[Any, Any, Any, bool]] = [(root, 0, value, False)]
        while pending:
            parent, key, item, is_secret = pending.pop()
            if isinstance(item, str):
                parent[key] = self._redact_whole(item) if is_secret and item else self.text(item)
            elif isinstance(item, Mapping):
                pairs = cast("Mapping[Any, Any]", item)
                new = dict.fromkeys(self._keys(pairs))
                parent[key] = new
                members = [
                    (new, safe, nested, is_secret or (isinstance(name, str) and is_secret_name(name)))
                    for safe, (name, nested) in zip(new, pairs.items(), strict=True)
                ]
                pending += reversed(members)
            elif isinstance(item, (list, tuple)):
                items = cast("Sequence[Any]", item)
                copy: list[Any] = [None] * len(items)
                parent[key] = copy
                pending += [(copy, index, items[index], is_secret) for index in reversed(range(len(items)))]
            elif is_secret and isinstance(item, (int, float)) and not isinstance(item, bool):
                parent[key] = self._redact_whole(hex(item) if isinstance(item, int) and _is_huge(item) else str(item))
            elif isinstance(item, int) and not isinstance(item, bool) and abs(item) >= _LARGE_NUMBER:
                parent[key] = self._number(item)
            else:
                parent[key] = item
        return root[0]

    def _keys(self, names: Iterable[Any]) -> Iterator[Any]:
        """Yield the redacted keys in order; a key that is already taken gets a number (`[email] 2`)."""
        taken: set[Any] = set()
        repeats: Counter[str] = Counter()
        for name in names:
            key = first = self.text(name) if isinstance(name, str) else name
            while key in taken:
                repeats[first] += 1
                key = f"{first} {repeats[first] + 1}"
            taken.add(key)
            yield key

    def _number(self, value: int) -> Any:
        if _is_huge(value):
            return value
        text = str(value)
        spans = self._redactor.find(text)
        return self.text(text) if spans and spans[0][:2] == (0, len(text)) else value

    def _redact_whole(self, text: str) -> str:
        if _PLACEHOLDER.fullmatch(text) or text == self._redactor.placeholder:
            self._reserve_placeholders(text)
            return text
        self.counts[_KNOWN] += 1
        return self._replacement(_KNOWN, text)

    def _reserve_placeholders(self, text: str) -> None:
        """Reserve the numbers of placeholders that the text already contains from an earlier redaction."""
        for name, number in _PLACEHOLDER.findall(text):
            self._last[name] = max(self._last[name], int(number))

    def _replacement(self, name: str, value: str) -> str:
        if self._redactor.placeholder is not None:
            return self._redactor.placeholder
        if not self._redactor.numbered:
            return f"[{name}]"
        key = (name, value)
        if key not in self._numbers:
            self._last[name] += 1
            self._numbers[key] = self._last[name]
        return f"[{name} {self._numbers[key]}]"


def redact(text: str, rules: Sequence[RedactionRule] = DEFAULT_RULES) -> Redacted:
    """Redact secrets and personal data in a text.

    Examples:
        >>> redact("write to ann@example.org, then to ann@example.org").text
        'write to [email 1], then to [email 1]'
    """
    return _redactor(tuple(rules)).redact(text)


@lru_cache(maxsize=8)
def _redactor(rules: tuple[RedactionRule, ...]) -> Redactor:
    return Redactor(rules)


def _masked(text: str, spans: Sequence[_MatchedText]) -> str:
    """Return a text of the same length with the spans blanked."""
    pieces: list[str] = []
    at = 0
    for start, end, *_ in sorted(spans, key=lambda span: span[:2]):
        if end > at:
            pieces += (text[at : max(at, start)], "\0" * (end - max(at, start)))
            at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _is_huge(value: int) -> bool:
    return value.bit_length() > 200  # Python does not convert numbers of more than 4300 digits


def _of_finder(span: Any) -> tuple[str, int, int]:
    if isinstance(span, tuple):
        name, start, end = cast("tuple[Any, Any, Any]", span)
    else:
        name, start, end = getattr(span, "entity_type", None) or span.rule, span.start, span.end
    return str(name).replace("_", " ").lower().translate({91: None, 93: None}).strip() or "found", int(start), int(end)
