"""The functions of `stats`: each computes one value from the rows of a group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .expressions import Evaluate, read_expression
from .reading import TokenReader
from .rows import Row
from .values import compare, number, result_text


class Gathering(Protocol):
    """The state of one statistic over the rows of a group."""

    def add(self, row: Row) -> None:
        """Add a row."""
        ...

    def result(self) -> Any:
        """Return the value; None if no row has a value."""
        ...


@dataclass(frozen=True, slots=True)
class Statistic:
    """One column of a `stats` command."""

    name: str
    begin: Callable[[], Gathering]


def read_statistic(reader: TokenReader) -> Statistic:
    """Read `function(argument) [as name]`."""
    start = reader.at
    token = reader.next()
    function = token.value.lower()
    if token.kind != "name" or function not in _KINDS:
        supported_names = ", ".join(sorted(_KINDS))
        problem = f"{token.value!r} is not a statistic supported here" if token.value else "a statistic is missing"
        raise reader.malformed(f"{problem}; use one of {supported_names}", token)
    reader.expect("(")
    argument: Evaluate | None = None
    share = 50.0
    if function == "count" and reader.take("*"):
        pass
    elif not (function == "count" and reader.peek().says(")")):
        argument = read_expression(reader).evaluate
        if function in ("pct", "percentile"):
            reader.expect(",")
            percentile = reader.next()
            if percentile.kind != "number" or not 0 <= float(percentile.value) <= 100:
                raise reader.malformed("a percentile between 0 and 100 was expected", percentile)
            share = float(percentile.value)
    reader.expect(")")
    name = reader.text_from(start)
    if reader.take("as"):
        name = reader.name("a name")
    kind = _KINDS[function]
    return Statistic(name, lambda: kind(argument, share))


class _Count:
    def __init__(self, argument: Evaluate | None, _: float) -> None:
        self._argument, self._count = argument, 0

    def add(self, row: Row) -> None:
        if self._argument is None or self._argument(row) is not None:
            self._count += 1

    def result(self) -> int:
        return self._count


class _Distinct:
    def __init__(self, argument: Evaluate | None, _: float) -> None:
        self._argument = argument
        self._distinct_values: set[str] = set()

    def add(self, row: Row) -> None:
        value = self._argument(row) if self._argument else None
        if value is not None:
            self._distinct_values.add(result_text(value))

    def result(self) -> int:
        return len(self._distinct_values)


class _Numbers:
    def __init__(self, argument: Evaluate | None, share: float) -> None:
        self._argument, self.share = argument, share
        self.numbers: list[float | int] = []

    def add(self, row: Row) -> None:
        value = number(self._argument(row)) if self._argument else None
        if value is not None:
            self.numbers.append(value)

    def result(self) -> Any:
        try:
            return self.of(self.numbers) if self.numbers else None
        except OverflowError:  # the result is beyond the largest float
            return None

    def of(self, numbers: list[float | int]) -> Any:
        return sum(numbers)


class _Mean(_Numbers):
    def of(self, numbers: list[float | int]) -> Any:
        return math.fsum(numbers) / len(numbers)


class _Deviation(_Numbers):
    def of(self, numbers: list[float | int]) -> Any:
        mean = math.fsum(numbers) / len(numbers)
        return math.sqrt(math.fsum((value - mean) ** 2 for value in numbers) / len(numbers))


class _Percentile(_Numbers):
    """Return the smallest value that at least the given share of values do not exceed: an observed value."""

    def of(self, numbers: list[float | int]) -> Any:
        numbers.sort()
        return numbers[max(0, math.ceil(self.share / 100 * len(numbers)) - 1)]


class _Extreme:
    sign = 1

    def __init__(self, argument: Evaluate | None, _: float) -> None:
        self._argument = argument
        self._best: Any = None

    def add(self, row: Row) -> None:
        value = self._argument(row) if self._argument else None
        if value is not None and (self._best is None or compare(value, self._best) == self.sign):
            self._best = value

    def result(self) -> Any:
        best = number(self._best)
        return self._best if best is None or not isinstance(self._best, str) else best


class _Least(_Extreme):
    sign = -1


class _Latest:
    sign = 1

    def __init__(self, argument: Evaluate | None, _: float) -> None:
        self._argument = argument
        self._when: float | int | None = None
        self._value: Any = None

    def add(self, row: Row) -> None:
        value, when = self._argument(row) if self._argument else None, number(row.get("@timestamp"))
        if value is None or when is None:
            return
        if self._when is None or (when - self._when) * self.sign > 0:
            self._when, self._value = when, value

    def result(self) -> Any:
        return self._value


class _Earliest(_Latest):
    sign = -1


_KINDS: dict[str, Callable[[Evaluate | None, float], Gathering]] = {
    "count": _Count,
    "count_distinct": _Distinct,
    "sum": _Numbers,
    "avg": _Mean,
    "stddev": _Deviation,
    "pct": _Percentile,
    "percentile": _Percentile,
    "median": _Percentile,
    "min": _Least,
    "max": _Extreme,
    "earliest": _Earliest,
    "latest": _Latest,
}
