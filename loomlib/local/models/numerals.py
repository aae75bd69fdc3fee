"""Numbers in prose, in figures or in words, and the pieces that a sum is read from."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SMALL = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    ]  # fmt: skip
_WORDS = {word: value for value, word in enumerate(_SMALL)} | {
    word: 10 * tens
    for tens, word in enumerate([
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ], start=2)
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_LOOSE_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?!\w))?"
_PHRASES = ("multiplied by", "divided by", "to the power of", "raised to", "take away")
_TOKEN = re.compile(
    rf"(?P<number>{_LOOSE_NUMBER})|(?P<phrase>{'|'.join(_PHRASES)})\b|(?P<word>[A-Za-z]+)|(?P<power>\*\*)"
    r"|(?P<sign>[-+*/^×·÷−–%()])|(?P<comma>[,;.])(?=\s|$)|(?P<other>\S)",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}\S*)?|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d+\.\d+\.\d+\S*"
    r"|\b\d{1,2}:\d{2}\b|https?://\S+|\S+@\S+"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text: `kind` is number, phrase, word, power, sign, comma or other; `text` is lower case."""

    kind: str
    text: str
    start: int
    end: int


def find_numbers(text: str) -> list[float | int]:
    """The numbers in `text` in order, in figures or in words."""
    return [_value(token.text) for token in read_tokens(text, signed=True) if token.kind == "number"]


def _value(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1e15 and "e" not in text.lower() else number


def read_tokens(text: str, *, signed: bool = False) -> list[Token]:
    """The pieces of `text`, numbers put together; dates, times, addresses and versions are left out."""
    masked = _DATE_LIKE.sub(lambda match: "\x00" * len(match.group()), text)
    found: list[Token] = []
    for match in _TOKEN.finditer(masked):
        kind, value = match.lastgroup or "other", match.group().lower()
        start, end = match.span()
        if kind == "number":
            glued = start > 0 and (masked[start - 1].isalpha() or masked[start - 1] == "_")
            kind, value = ("other", value) if glued else ("number", value.replace(",", ""))
            if signed and found and found[-1].text in ("-", "−") and found[-1].end == start:
                before = masked[found[-1].start - 1 : found[-1].start]
                if kind == "number" and not before.strip():
                    found.pop()
                    value, start = f"-{value}", start - 1
        elif kind == "word" and (value in _WORDS or value in _SCALES):
            if _extend_number(found, value, start, end):
                continue
            if value in _WORDS:
                kind, value = "spelled", str(_WORDS[value])
        found.append(Token(kind, value, start, end))
    return [Token("number", t.text, t.start, t.end) if t.kind == "spelled" else t for t in found]


def _extend_number(found: list[Token], word: str, start: int, end: int) -> bool:
    """Join "twenty" "five" or "3" "million" into one number; True when it did."""
    last = found[-1] if found else None
    hyphen = last is not None and last.text == "-" and last.end == start and len(found) > 1
    last = found[-2] if hyphen else last
    if last is None or last.kind not in ("spelled", "number"):
        return False
    value = float(last.text)
    if word in _SCALES:
        value *= _SCALES[word]
    elif (
        last.kind == "spelled" and value >= 20 and value % 10 == 0 and 0 < _WORDS[word] < (100 if value >= 100 else 10)
    ):
        value += _WORDS[word]
    else:
        return False
    if hyphen:
        found.pop()
    found[-1] = Token(last.kind, str(int(value)) if value.is_integer() else repr(value), last.start, end)
    return True
