"""Numbers in prose, in digits or in words, and the tokens from which arithmetic expressions are parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .language import table

_SMALL = {word: value for value, word in enumerate(table("numbers")["small"].split())}
_WORDS = _SMALL | {word: 10 * tens for tens, word in enumerate(table("numbers")["tens"].split(), start=2)}
_SCALES: dict[str, int] = table("numbers")["scales"]
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?!\w))?"
_TOKEN = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<phrase>{'|'.join(table('sums')['phrases'])})\b|(?P<word>[A-Za-z]+)|(?P<power>\*\*)"
    r"|(?P<sign>[-+*/^×·÷−–%()])|(?P<comma>[,;.])(?=\s|$)|(?P<other>\S)",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}\S*)?|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d+\.\d+\.\d+\S*"
    r"|\b\d{1,2}:\d{2}\b|https?://\S+|(?<!\S)\S+@\S+"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text: `kind` is number, phrase, word, power, sign, comma or other; `text` is in lower case."""

    kind: str
    text: str
    start: int
    end: int


def find_numbers(text: str) -> list[float | int]:
    """Find the numbers in `text` in order, in digits or in words."""
    return [_value(token.text) for token in read_tokens(text, signed=True) if token.kind == "number"]


def read_tokens(text: str, *, signed: bool = False) -> list[Token]:
    """Split `text` into tokens, with the parts of a number joined; dates, times, addresses and versions are skipped.

    Args:
        text: The text to split.
        signed: Whether a minus sign directly before a number belongs to it.
    """
    masked = _DATE_LIKE.sub(lambda match: "\x00" * len(match.group()), text)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(masked):
        kind, value = match.lastgroup or "other", match.group().lower()
        start, end = match.span()
        if kind == "number":
            is_glued = start > 0 and (masked[start - 1].isalpha() or masked[start - 1] == "_")
            kind, value = ("other", value) if is_glued else ("number", value.replace(",", ""))
            if signed and tokens and tokens[-1].text in ("-", "−") and tokens[-1].end == start:
                before = masked[tokens[-1].start - 1 : tokens[-1].start]
                if kind == "number" and not before.strip():
                    tokens.pop()
                    value, start = f"-{value}", start - 1
        elif kind == "word" and (value in _WORDS or value in _SCALES):
            if _extends_number(tokens, value, start, end):
                continue
            if value in _WORDS:
                kind, value = "spelled", str(_WORDS[value])
        tokens.append(Token(kind, value, start, end))
    return [replace(token, kind="number") if token.kind == "spelled" else token for token in tokens]


def _value(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1e15 and "e" not in text.lower() else number


def _extends_number(tokens: list[Token], word: str, start: int, end: int) -> bool:
    """Join "twenty" "five" or "3" "million" into one number; True if it did."""
    last = tokens[-1] if tokens else None
    hyphen = last is not None and last.text == "-" and last.end == start and len(tokens) > 1
    last = tokens[-2] if hyphen else last
    if last is None or last.kind not in ("spelled", "number"):
        return False
    value = float(last.text)
    is_tens = last.kind == "spelled" and value >= 20 and value % 10 == 0
    if word in _SCALES:
        value *= _SCALES[word]
    elif is_tens and 0 < _WORDS[word] < (100 if value >= 100 else 10):
        value += _WORDS[word]
    else:
        return False
    if hyphen:
        tokens.pop()
    tokens[-1] = Token(last.kind, str(int(value)) if value.is_integer() else repr(value), last.start, end)
    return True
