"""Finding sums in prose: "15*37, add 42", "what is twelve squared", "20% of 80", "the average of 3, 4 and 5".

Each finding is an expression in Python's notation, made of numbers, `+ - * / % **` and brackets only, with the place
where it stood. A lone number is no sum. Numbers in words and thousands separators are read; a date or a version is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from loomlib.local.models.numerals import Token, read_tokens

_OPERATORS = {
    "+": "+", "-": "-", "−": "-", "–": "-", "*": "*", "×": "*", "·": "*", "/": "/", "÷": "/", "^": "**", "**": "**",
    "plus": "+", "minus": "-", "times": "*", "x": "*", "over": "/", "mod": "%", "modulo": "%",
    "multiplied by": "*", "divided by": "/", "to the power of": "**", "raised to": "**",
}  # fmt: skip
_VERBS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "take away": "-", "plus": "+", "minus": "-",
    "times": "*", "adding": "+", "subtracting": "-", "multiplying": "*", "dividing": "/",
}  # fmt: skip
_COLLECTIONS = {
    "sum": "+",
    "total": "+",
    "product": "*",
    "difference": "-",
    "quotient": "/",
    "average": "+",
    "mean": "+",
}

_FILLERS = frozenset({"it", "that", "this", "the", "result", "of", "to", "by", "with", "from", "answer", "a"})
_LINKS = frozenset({",", ";", ".", "and", "then", "next", "finally", "afterwards"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """An expression that stood at `start:end` of the text."""

    expression: str
    start: int
    end: int


def find_sums(text: str) -> list[Sum]:
    """The sums in `text`, in order, not overlapping."""
    tokens = read_tokens(text)
    sums: list[Sum] = []
    at = 0
    while at < len(tokens):
        found = _Reader(tokens, at).read()
        if found is None:
            at += 1
            continue
        expression, after = found
        sums.append(Sum(expression=expression, start=tokens[at].start, end=tokens[after - 1].end))
        at = after
    return sums


class _Reader:
    """Reads one sum from a place in the tokens on."""

    def __init__(self, tokens: list[Token], at: int) -> None:
        self._tokens, self._at = tokens, at

    def read(self) -> tuple[str, int] | None:
        start = self._at
        expression = self._opening()
        if expression is None:
            return None
        expression = self._continued(expression)
        return (expression, self._at) if self._at > start and re.search(r"\d\)*\s*[-+*/%]|\*\*", expression) else None

    def _opening(self) -> str | None:
        for read in (self._verb_first, self._collection, self._root, self._infix):
            before = self._at
            found = read()
            if found is not None:
                return found
            self._at = before
        return None

    def _verb_first(self) -> str | None:
        verb = self._take_text(_VERBS)
        if verb is None or self._tokens[self._at - 1].kind == "sign":
            return None
        operands = self._operands(joiners={"and", "to", "by", "from", "with", ","})
        if operands is None or len(operands) < 2:
            return None
        operator = _VERBS[verb]
        swapped = verb in ("subtract", "take away", "subtracting") and len(operands) == 2 and self._joiner == "from"
        return f" {operator} ".join(reversed(operands) if swapped else operands)

    def _collection(self) -> str | None:
        name = self._take_text(_COLLECTIONS)
        if name is None or self._take_text({"of", "between"}) is None:
            return None
        self._skip({"the", "numbers"})
        operands = self._operands(joiners={"and", ","})
        if operands is None or len(operands) < 2:
            return None
        joined = f" {_COLLECTIONS[name]} ".join(operands)
        return f"({joined}) / {len(operands)}" if name in ("average", "mean") else joined

    def _root(self) -> str | None:
        if self._take_text({"square"}) is None or self._take_text({"root"}) is None or self._take_text({"of"}) is None:
            return None
        operand = self._operand()
        return None if operand is None else f"{operand} ** 0.5"

    def _infix(self) -> str | None:
        parts: list[str] = []
        depth = 0
        good, good_at = "", self._at
        while True:
            while self._peek() == "(":
                self._at, depth = self._at + 1, depth + 1
                parts.append("(")
            sign = (
                "-"
                if self._peek() in ("-", "−") and (not parts or parts[-1] == "(" or parts[-1].strip() in _OPERATORS)
                else ""
            )
            if sign:
                self._at += 1
            operand = self._operand()
            if operand is None:
                break
            compound = parts and parts[-1] != "(" and "/" in operand
            parts.append(f"{sign}({operand})" if compound else f"{sign}{operand}")
            while depth and self._peek() == ")":
                self._at, depth = self._at + 1, depth - 1
                parts.append(")")
            if depth == 0:
                good, good_at = "".join(parts), self._at
            operator = self._operator()
            if operator is None:
                break
            parts.append(f" {operator} ")
        self._at = good_at
        return good if good else None

    def _operand(self) -> str | None:
        """A number with what belongs to it: "5 squared", "20% of 80", "half of 30"."""
        if self._take_text({"half"}) is not None:
            inner = self._operand() if self._take_text({"of"}) is not None else None
            return None if inner is None else f"{inner} / 2"
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != "number":
            return None
        value = self._tokens[self._at].text
        self._at += 1
        if self._peek() in ("squared", "cubed"):
            value = f"{value} ** {2 if self._peek() == 'squared' else 3}"
            self._at += 1
        elif self._peek() in ("%", "percent"):
            before = self._at
            self._at += 1
            inner = self._operand() if self._take_text({"of"}) is not None else None
            if inner is None:
                self._at = before
            else:
                value = f"{value} / 100 * {inner}"
        return value

    def _operator(self) -> str | None:
        text = self._peek()
        if text not in _OPERATORS:
            return None
        self._at += 1
        return _OPERATORS[text]

    def _operands(self, *, joiners: set[str]) -> list[str] | None:
        """ "3, 4 and 5": two or more operands; remembers the last joining word."""
        first = self._infix()
        if first is None:
            return None
        operands, self._joiner = [first], ""
        while True:
            before = self._at
            joined = [text for text in iter(lambda: self._take_text(joiners), None)]
            operand = self._infix() if joined else None
            if operand is None:
                self._at = before
                break
            operands.append(operand)
            self._joiner = joined[-1]
        return [_bracketed(operand) for operand in operands]

    def _continued(self, expression: str) -> str:
        """ "…, add 42, then divide by 3": verbs that work on what came before."""
        while True:
            before = self._at
            links = self._skip(_LINKS)
            verb = self._take_text(_VERBS)
            verb_is_link = links > 0 or self._tokens[before - 1].kind != "sign"
            step = None
            if verb is not None and verb_is_link:
                self._skip(_FILLERS)
                step = self._operand()
            elif links and self._peek() in ("square", "double", "halve"):
                word = self._peek()
                self._at += 1
                self._skip(_FILLERS)
                expression = {"square": f"({expression}) ** 2", "double": f"({expression}) * 2"}.get(
                    word, f"({expression}) / 2"
                )
                continue
            # "what is 3*4 and add 5 to 6" is two sums: a second number after the step belongs to another one.
            if verb is None or step is None or (self._peek() in ("to", "by", "and", "from") and self._number_at(1)):
                self._at = before
                return expression
            operator = _VERBS[verb]
            expression = f"{expression if operator in '+-' else _bracketed(expression)} {operator} {_bracketed(step)}"

    def _number_at(self, offset: int) -> bool:
        place = self._at + offset
        return place < len(self._tokens) and self._tokens[place].kind == "number"

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _take_text(self, wanted: Container[str]) -> str | None:
        text = self._peek()
        if text and text in wanted:
            self._at += 1
            return text
        return None

    def _skip(self, words: set[str] | frozenset[str]) -> int:
        count = 0
        while self._peek() and self._peek() in words:
            self._at, count = self._at + 1, count + 1
        return count


def _bracketed(expression: str) -> str:
    return expression if re.fullmatch(r"-?[\d.e+]+", expression) else f"({expression})"
