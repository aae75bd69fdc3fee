"""Expressions: comparisons, arithmetic, functions, patterns. A missing field does not equal or match any value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..patterns import Pattern, PatternError
from .functions import FUNCTIONS, STATISTICS, floor_to, period_ms
from .malformed import MalformedQueryError
from .reading import TokenReader
from .rows import Row
from .values import compare, number, result_text

Evaluate = Callable[[Row], Any]

_COMPARISONS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": math.fmod,
    "^": math.pow,
}
_NO_NUMBER = re.compile(r"[A-DF-Za-df-z_]")
_PLAIN = re.compile(r"[\w .:-]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression: `evaluate` computes a row's value, `text` is the source, `name` is set for a plain field.

    `required` are texts contained in the message of every row for which the expression is true.
    """

    evaluate: Evaluate
    text: str
    name: str | None = None
    constant: Any = None
    required: tuple[str, ...] = ()


def read_expression(reader: TokenReader) -> Expression:
    """Read the longest expression at the reader's position.

    Raises:
        MalformedQueryError: It cannot be read, or is nested too deeply.
    """
    with reader.nested():
        return _chain(reader, "or", lambda: _chain(reader, "and", lambda: _negation(reader)))


def compile_regex(reader: TokenReader, pattern: str) -> Pattern:
    """Compile a regular expression whose groups are named as in Java."""
    try:
        return Pattern(pattern)
    except PatternError as error:
        raise reader.malformed(f"the regular expression cannot be read: {error}") from error


def _chain(reader: TokenReader, word: str, read: Callable[[], Expression]) -> Expression:
    start = reader.at
    expressions = [read()]
    while reader.take(word):
        expressions.append(read())
    if len(expressions) == 1:
        return expressions[0]
    parts = [expression.evaluate for expression in expressions]
    if word == "or":
        return Expression(lambda row: any(part(row) for part in parts), reader.text_from(start))
    required = tuple(text for expression in expressions for text in expression.required)
    return Expression(lambda row: all(part(row) for part in parts), reader.text_from(start), required=required)


def _negation(reader: TokenReader) -> Expression:
    start = reader.at
    if reader.take("not"):
        with reader.nested():
            inner = _negation(reader).evaluate
        return Expression(lambda row: not inner(row), reader.text_from(start))
    return _comparison(reader)


def _comparison(reader: TokenReader) -> Expression:
    start = reader.at
    left = _arithmetic(reader, 0)
    negated = reader.take("not") is not None
    if reader.take("like", "=~"):
        return _negated(_like(reader, left, start), negated)
    if reader.take("in"):
        reader.expect("[")
        choices = [_constant(reader)]
        while reader.take(","):
            choices.append(_constant(reader))
        reader.expect("]")
        value = left.evaluate
        comparison = Expression(
            lambda row: any(compare(value(row), choice) == 0 for choice in choices), reader.text_from(start)
        )
        return _negated(comparison, negated)
    if negated:
        raise reader.malformed("like or in was expected after not")
    sign = reader.take("=", "!=", "<", "<=", ">", ">=")
    if sign is None:
        return left
    right = _arithmetic(reader, 0)
    evaluate_left, evaluate_right = left.evaluate, right.evaluate
    if sign == "!=":
        return Expression(lambda row: compare(evaluate_left(row), evaluate_right(row)) != 0, reader.text_from(start))
    holds = _COMPARISONS[sign]

    def test(row: Row) -> bool:
        order = compare(evaluate_left(row), evaluate_right(row))
        return order is not None and holds(order)

    return Expression(test, reader.text_from(start), required=_equal_text(sign, left, right))


def _equal_text(sign: str, left: Expression, right: Expression) -> tuple[str, ...]:
    """Return the texts that a message contains if a field of its JSON equals a text.

    Texts that JSON can spell in another way are left out.
    """
    field, text = left.name, right.constant
    is_plain = isinstance(text, str) and number(text) is None and _PLAIN.match(text)
    return (text,) if sign == "=" and is_plain and field and not field.startswith("@") else ()


def _contained(left: Expression, text: str, *, is_plain: bool) -> tuple[str, ...]:
    """Return the texts that a message contains if a field of its JSON contains `text`.

    Texts that JSON can spell in another way are left out.
    """
    if left.name is None or not text:
        return ()
    if left.name.startswith("@"):
        return (text,) if left.name == "@message" else ()
    return (text,) if is_plain and _NO_NUMBER.search(text) else ()


def _like(reader: TokenReader, left: Expression, start: int) -> Expression:
    token = reader.next()
    value = left.evaluate
    if token.kind == "text":
        text = token.value
        required = _contained(left, text, is_plain=_PLAIN.match(text) is not None)
        return Expression(
            lambda row: (cell := value(row)) is not None and text in result_text(cell),
            reader.text_from(start),
            required=required,
        )
    if token.kind == "regex":
        occurs_in = compile_regex(reader, token.value).occurs_in
        is_plain = "." not in token.value and _PLAIN.match(token.value) is not None
        required = _contained(left, token.value, is_plain=is_plain) if is_plain else ()
        return Expression(
            lambda row: (cell := value(row)) is not None and occurs_in(result_text(cell)),
            reader.text_from(start),
            required=required,
        )
    raise reader.malformed('like takes a "text" or a /pattern/', token)


def _negated(expression: Expression, negated: bool) -> Expression:
    if not negated:
        return expression
    inner = expression.evaluate
    return Expression(lambda row: not inner(row), expression.text)


_LEVELS: tuple[tuple[str, ...], ...] = (("+", "-"), ("*", "/", "%"), ("^",))


def _arithmetic(reader: TokenReader, level: int) -> Expression:
    if level == len(_LEVELS):
        return _unary(reader)
    start = reader.at
    left = _arithmetic(reader, level + 1)
    while sign := reader.take(*_LEVELS[level]):
        right = _arithmetic(reader, level + 1)
        left = Expression(_computed(_ARITHMETIC[sign], left.evaluate, right.evaluate), reader.text_from(start))
    return left


def _computed(run: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    def compute(row: Row) -> float | int | None:
        left_number, right_number = number(left(row)), number(right(row))
        if left_number is None or right_number is None:
            return None
        try:
            result = run(left_number, right_number)
            return result if isinstance(result, int | float) and math.isfinite(result) else None
        except (ArithmeticError, ValueError):
            return None

    return compute


def _unary(reader: TokenReader) -> Expression:
    start = reader.at
    if reader.take("-"):
        with reader.nested():
            inner = _unary(reader)
        return Expression(
            _computed(lambda zero, value: zero - value, lambda _: 0, inner.evaluate), reader.text_from(start)
        )
    if reader.take("("):
        inner = read_expression(reader)
        reader.expect(")")
        return inner
    token = reader.peek()
    if token.kind in ("text", "number"):
        value = _constant(reader)
        return Expression(lambda _: value, reader.text_from(start), constant=value)
    if token.kind in ("name", "quoted"):
        reader.next()
        if token.kind == "name" and reader.peek().says("("):
            return _call(reader, token.value, start)
        name = token.value
        return Expression(lambda row: row.get(name), reader.text_from(start), name=name)
    raise reader.malformed(f"unexpected {token.value!r}" if token.value else "the query ends too early", token)


def _constant(reader: TokenReader) -> Any:
    minus = reader.take("-") is not None
    token = reader.next()
    if token.kind == "number":
        try:
            value: Any = float(token.value) if set(token.value) & set(".eE") else int(token.value)
        except ValueError:  # more digits than Python converts
            raise reader.malformed(f"the number has {len(token.value):,} digits", token) from None
        return -value if minus else value
    if token.kind == "text" and not minus:
        return token.value
    raise reader.malformed("a number or a text was expected", token)


def _call(reader: TokenReader, name: str, start: int) -> Expression:
    lowered = name.lower()
    if lowered in ("bin", "datefloor", "dateceil"):
        return _period_call(reader, lowered, start)
    if lowered in STATISTICS:
        return _column(reader, start)
    if lowered not in FUNCTIONS:
        raise MalformedQueryError(f"the function {name} is not supported here", start, start + len(name))
    reader.expect("(")
    arguments: list[Expression] = []
    if not reader.take(")"):
        arguments.append(read_expression(reader))
        while reader.take(","):
            arguments.append(read_expression(reader))
        reader.expect(")")
    run, fewest, most = FUNCTIONS[lowered]
    if not fewest <= len(arguments) <= most:
        raise MalformedQueryError(f"{name} does not take {len(arguments)} arguments", start, reader.end_of_last)
    parts = [argument.evaluate for argument in arguments]
    return Expression(lambda row: run(*(part(row) for part in parts)), reader.text_from(start))


def _column(reader: TokenReader, start: int) -> Expression:
    """Return the column of a statistic without a name, as in `sort count(*) desc`."""
    reader.expect("(")
    depth = 1
    while depth:
        token = reader.next()
        depth += token.says("(") - token.says(")")
        if token.kind == "end":
            raise reader.malformed("')' was expected", token)
    text = reader.text_from(start)
    return Expression(lambda row: row.values.get(text), text, name=text)


def _period_call(reader: TokenReader, name: str, start: int) -> Expression:
    reader.expect("(")
    moment: Evaluate = lambda row: row.get("@timestamp")  # noqa: E731 - replaced below
    if name != "bin":
        moment = read_expression(reader).evaluate
        reader.expect(",")
    token = reader.next()
    period = period_ms(token.value) if token.kind == "period" else None
    if period is None:
        raise reader.malformed(f"{token.value!r} is not a period such as 30s, 5m, 1h or 1d", token)
    reader.expect(")")
    up = period if name == "dateceil" else 0

    def evaluate(row: Row) -> Any:
        value = number(moment(row))
        return None if value is None else floor_to(value + max(up - 1, 0), period)

    return Expression(evaluate, reader.text_from(start))


def names_of(expressions: Sequence[Expression]) -> list[str]:
    """Return the column names of expressions: a field's own name, otherwise the expression as it was written."""
    return [expression.name or expression.text for expression in expressions]
