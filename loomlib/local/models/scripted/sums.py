"""Sums in prose: "15*37, add 42", "what is twelve squared", "20% of 80", "the average of 3, 4 and 5".

Each sum is an expression in Python's notation, made of numbers, `+ - * / % **` and brackets only, with its place in the
text. A lone number is not a sum. Numbers in words and thousands separators are read; dates and versions are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from .language import table, word_list
from .numbers import Token, read_tokens

_OPERATORS: dict[str, str] = table("sums")["operators"]
_VERBS: dict[str, str] = table("sums")["verbs"]
_COLLECTIONS: dict[str, str] = table("sums")["collections"]
_FILLERS, _LINKS = word_list("sums", "fillers"), word_list("sums", "links")
_STEPS = {"square": "({}) ** 2", "double": "({}) * 2", "halve": "({}) / 2"}
_MOST_OPEN = 20  # brackets of one sum, so that a text of brackets is read in linear time


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """An arithmetic expression at `start:end` of a text."""

    expression: str
    start: int
    end: int


def find_sums(text: str) -> list[Sum]:
    """Find the sums in `text`, in order, not overlapping."""
    tokens = read_tokens(text)
    sums: list[Sum] = []
    at = 0
    while at < len(tokens):
        reader = _Reader(tokens, at)
        expression = reader.read()
        if expression is None:
            at += 1
            continue
        sums.append(Sum(expression=expression, start=tokens[at].start, end=tokens[reader.at - 1].end))
        at = reader.at
    return sums


class _Reader:
    """A recursive-descent parser of one sum; `at` is the next token."""

    def __init__(self, tokens: list[Token], at: int) -> None:
        self._tokens, self.at, self._joiner = tokens, at, ""

    def read(self) -> str | None:
        start = self.at
        expression = self._opening()
        if expression is None:
            return None
        expression = self._continued(expression)
        is_sum = self.at > start and re.search(r"\d\)*\s*[-+*/%]|\*\*", expression)
        return expression if is_sum else None

    def _opening(self) -> str | None:
        for read in (self._verb_first, self._collection, self._root, self._infix):
            before = self.at
            expression = read()
            if expression is not None:
                return expression
            self.at = before
        return None

    def _verb_first(self) -> str | None:
        """Read a phrase such as "add 3 and 4" or "subtract 3 from 10"."""
        verb = self._take(_VERBS)
        if verb is None or self._tokens[self.at - 1].kind == "sign":
            return None
        operands = self._operands(joiners={"and", "to", "by", "from", "with", ","})
        is_swapped = _VERBS[verb] == "-" and verb != "minus" and len(operands) == 2 and self._joiner == "from"
        return f" {_VERBS[verb]} ".join(reversed(operands) if is_swapped else operands) if len(operands) > 1 else None

    def _collection(self) -> str | None:
        """Read a phrase such as "the sum of 3, 4 and 5"."""
        name = self._take(_COLLECTIONS)
        if name is None or self._take({"of", "between"}) is None:
            return None
        self._skip({"the", "numbers"})
        operands = self._operands(joiners={"and", ","})
        if len(operands) < 2:
            return None
        joined = f" {_COLLECTIONS[name]} ".join(operands)
        return f"({joined}) / {len(operands)}" if name in ("average", "mean") else joined

    def _root(self) -> str | None:
        if any(self._take({word}) is None for word in ("square", "root", "of")):
            return None
        operand = self._operand()
        return None if operand is None else f"{operand} ** 0.5"

    def _infix(self) -> str | None:
        parts: list[str] = []
        depth = 0
        good, good_at = "", self.at
        while True:
            while depth < _MOST_OPEN and self._take({"("}):
                depth += 1
                parts.append("(")
            may_be_signed = not parts or parts[-1] == "(" or parts[-1].strip() in _OPERATORS
            sign = "-" if may_be_signed and self._take({"-", "−"}) else ""
            operand = self._operand()
            if operand is None:
                break
            is_compound = parts and parts[-1] != "(" and "/" in operand
            parts.append(f"{sign}({operand})" if is_compound else f"{sign}{operand}")
            while depth and self._take({")"}):
                depth -= 1
                parts.append(")")
            if depth == 0:
                good, good_at = "".join(parts), self.at
            operator = self._take(_OPERATORS)
            if operator is None:
                break
            parts.append(f" {_OPERATORS[operator]} ")
        self.at = good_at
        return good or None

    def _operand(self) -> str | None:
        """Read a number with its modifiers: "5 squared", "20% of 80", "half of 30"."""
        if self._take({"half"}):
            inner = self._operand() if self._take({"of"}) else None
            return None if inner is None else f"{inner} / 2"
        if not self._is_number(0):
            return None
        value = self._tokens[self.at].text
        self.at += 1
        if power := self._take({"squared", "cubed"}):
            return f"{value} ** {2 if power == 'squared' else 3}"
        before = self.at
        if self._take({"%", "percent"}):
            inner = self._operand() if self._take({"of"}) else None
            if inner is not None:
                return f"{value} / 100 * {inner}"
            self.at = before
        return value

    def _operands(self, *, joiners: set[str]) -> list[str]:
        """Read the operands of "3, 4 and 5" and note the last joining word."""
        operand = self._infix()
        operands: list[str] = []
        self._joiner = ""
        before, joined = self.at, [""]
        while operand is not None:
            operands.append(_bracketed(operand))
            self._joiner, before = joined[-1], self.at
            joined = list(iter(lambda: self._take(joiners), None))
            operand = self._infix() if joined else None
        if operands:
            self.at = before
        return operands

    def _continued(self, expression: str) -> str:
        """Apply the steps that follow: "…, add 42, then divide by 3"."""
        while True:
            before = self.at
            links = self._skip(_LINKS)
            verb = self._take(_VERBS)
            step = None
            if verb is not None and (links or self._tokens[before - 1].kind != "sign"):
                self._skip(_FILLERS)
                step = self._operand()
            elif links and (word := self._take(_STEPS)):
                self._skip(_FILLERS)
                expression = _STEPS[word].format(expression)
                continue
            # "what is 3*4 and add 5 to 6" is two sums: a second number after the step belongs to another one.
            if verb is None or step is None or (self._peek() in ("to", "by", "and", "from") and self._is_number(1)):
                self.at = before
                return expression
            operator = _VERBS[verb]
            expression = f"{expression if operator in '+-' else _bracketed(expression)} {operator} {_bracketed(step)}"

    def _is_number(self, offset: int) -> bool:
        place = self.at + offset
        return place < len(self._tokens) and self._tokens[place].kind == "number"

    def _peek(self) -> str:
        return self._tokens[self.at].text if self.at < len(self._tokens) else ""

    def _take(self, expected: Container[str]) -> str | None:
        text = self._peek()
        if text and text in expected:
            self.at += 1
            return text
        return None

    def _skip(self, words: Container[str]) -> int:
        count = 0
        while self._take(words) is not None:
            count += 1
        return count


def _bracketed(expression: str) -> str:
    return expression if re.fullmatch(r"-?[\d.e+]+", expression) else f"({expression})"
