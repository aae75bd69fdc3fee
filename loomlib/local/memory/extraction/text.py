"""Split messages into sentences, clauses and values, and compare values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .english import pattern, tables

_LONGEST_SENTENCE: Final = 2_000
_LONGEST_CLAUSE: Final = 300
"""Characters: longer clauses are skipped, as some patterns take quadratic time on repetitive text."""
_LONGEST_VALUE: Final = 120
_QUOTED: Final = re.compile(r"```.*?(```|$)|\"[^\"]{0,500}\"|“[^”]{0,500}”", re.DOTALL)
_END: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n+|(?<=[!?])\s+")
_ABBREVIATED: Final = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof|St|e\.g|i\.e|approx|No|vs|a\.m|p\.m)\.$")
_LONGEST_ABBREVIATION: Final = len("approx.")
_CLAUSE: Final = re.compile(
    r"\s*;\s*|:\s+(?=I\b)|,?\s+(?:and|but|so|although|though|while)\s+(?=(?:I|i|my|I'm|I've|please)\b)"
    r"|,\s+(?=(?:I|my|I'm|I've|please)\b)|\s+[–—]\s+"
)
_PREPOSITION: Final = re.compile(r"\s+(?:in|on|at|with|without|for|from|of|over|to|by|near|that|during)\s+")
_PUNCTUATION: Final = " .!,;:'\""


def clauses(text: str) -> Iterator[str]:
    """Iterate over the clauses of `text` that state something about its writer.

    Questions, hedges, suppositions, quotations and statements of others are left out.

    Examples:
        >>> list(clauses("Hi, I live in Ulm. Do I like it? Maybe I'll move. Actually, my name is Ada."))
        ['I live in Ulm', 'my name is Ada']
    """
    for sentence in sentences(_QUOTED.sub(" ", text.replace("’", "'"))):
        sentence = " ".join(sentence.split())
        if len(sentence) > _LONGEST_SENTENCE or sentence.endswith("?"):
            continue
        if pattern("hedged").search(sentence) or pattern("reported").search(sentence):
            continue
        for clause in _CLAUSE.split(sentence):
            clause = pattern("opening").sub("", clause.strip())
            if correcting := pattern("correcting").match(clause):
                clause = pattern("opening").sub("", clause[correcting.end() :])
            clause = clause.strip(" .!,;:…")
            if clause and len(clause) <= _LONGEST_CLAUSE and not pattern("asking").match(clause):
                yield clause


def sentences(text: str) -> list[str]:
    """Split `text` into sentences; the full stop of an abbreviation does not end one."""
    parts: list[str] = []
    begin = 0
    for end in _END.finditer(text):
        last_word = max(begin, end.start() - _LONGEST_ABBREVIATION)  # the whole sentence would take quadratic time
        if "\n" not in end[0] and _ABBREVIATED.search(text, last_word, end.start()):
            continue
        if part := text[begin : end.start()].strip():
            parts.append(part)
        begin = end.end()
    if rest := text[begin:].strip():
        parts.append(rest)
    return parts


def trimmed(text: str) -> str:
    """Return `text` without the reasons, times and fillers that follow a value."""
    text, before = pattern("cut").sub("", pattern("leading").sub("", text.strip(_PUNCTUATION))), ""
    while text != before:
        before, text = text, pattern("trailing").sub("", text).strip(_PUNCTUATION)
    return text[:_LONGEST_VALUE].strip()


def items(text: str) -> list[str]:
    """Split an enumeration: "nuts, eggs and milk" names three things."""
    parts = (pattern("article").sub("", part.strip()).strip(_PUNCTUATION) for part in pattern("and").split(text))
    return [part for part in parts if part]


def normal(text: str) -> str:
    """Return a value's normal form: lower case, singular, without articles, with synonyms unified.

    Examples:
        >>> normal("The Peanuts") == normal("peanut")
        True
    """
    same = tables()["same"]
    plain = re.sub(r"[^\w\s@.+#/%-]", "", pattern("article").sub("", " ".join(text.lower().split()))).strip(" .")
    plain = same.get(plain, plain)
    joined = " ".join(same.get(word, word) for word in map(_singular, plain.split()))
    return same.get(joined, joined)


def head(text: str) -> str:
    """Return the noun that names the kind of thing: "window seats" are seats, "tea with milk" is tea."""
    words = _PREPOSITION.split(normal(text))[0].split()
    return words[-1] if words else ""


def _singular(word: str) -> str:
    irregular = tables()["singular"]
    if word in irregular:
        return irregular[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "toes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
