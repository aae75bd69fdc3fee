"""Functions on single values, by their names in CloudWatch Logs Insights ("Functions" in its user guide)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .values import Moment, compare, number, result_text

PERIODS_MS = {
    **dict.fromkeys(("ms", "msec"), 1),
    **dict.fromkeys(("s", "sec"), 1_000),
    **dict.fromkeys(("m", "min"), 60_000),
    **dict.fromkeys(("h", "hr"), 3_600_000),
    **dict.fromkeys(("d",), 86_400_000),
    **dict.fromkeys(("w",), 604_800_000),
}

STATISTICS = frozenset(
    {"count", "count_distinct", "sum", "avg", "stddev", "pct", "percentile", "median", "min", "max"}
    | {"earliest", "latest"}
)
"""Functions of `stats`. After it, such a call names the column that it computed."""

Function = Callable[..., Any]


def period_ms(text: str) -> int | None:
    """Return the milliseconds of a period such as `5m`; None if the text is not a period."""
    match = re.fullmatch(r"(\d+)([a-z]+)", text)
    unit = PERIODS_MS.get(match[2]) if match else None
    return int(match[1]) * unit if match and unit and int(match[1]) else None


def floor_to(moment: Any, period: int) -> Moment | None:
    """Return the start of the period that contains a time; None if it is not a number.

    Args:
        moment: The time in milliseconds.
        period: The length of the period in milliseconds.
    """
    time_ms = number(moment)
    return None if time_ms is None else Moment(int(time_ms // period) * period)


def _numeric(run: Callable[..., float | int]) -> Function:
    def function(*values: Any) -> float | int | None:
        numbers = [number(value) for value in values]
        if any(item is None for item in numbers):
            return None
        try:
            return run(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return function


def _textual(run: Callable[..., Any]) -> Function:
    def function(value: Any, *more: Any) -> Any:
        return None if value is None else run(result_text(value), *more)

    return function


def _substr(text: str, start: Any, length: Any = None) -> str:
    first = int(number(start) or 0)
    return text[first:] if length is None else text[first : first + int(number(length) or 0)]


def _replace(text: str, old: Any, new: Any) -> str:
    return text.replace(result_text(old), result_text(new))


def _contains(text: str, part: Any) -> int:
    return int(result_text(part) in text)


def _concat(*values: Any) -> str:
    return "".join(result_text(value) for value in values if value is not None)


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _is_empty(value: Any) -> bool:
    return value is None or value == ""


def _is_blank(value: Any) -> bool:
    return value is None or not result_text(value).strip()


def _is_present(value: Any) -> bool:
    return value is not None


def _absolute(value: float) -> float:
    return abs(value)


def _to_moment(value: Any) -> Moment | None:
    time_ms = number(value)
    return None if time_ms is None else Moment(int(time_ms))


def _to_millis(value: Any) -> int | None:
    time_ms = number(value)
    return None if time_ms is None else int(time_ms)


def _extreme(sign: int) -> Function:
    def function(*values: Any) -> Any:
        best: Any = None
        for value in values:
            if value is not None and (best is None or compare(value, best) == sign):
                best = value
        return best

    return function


# name: (function, fewest arguments, most arguments)
FUNCTIONS: dict[str, tuple[Function, int, int]] = {
    "abs": (_numeric(_absolute), 1, 1),
    "ceil": (_numeric(math.ceil), 1, 1),
    "floor": (_numeric(math.floor), 1, 1),
    "log": (_numeric(math.log), 1, 1),
    "sqrt": (_numeric(math.sqrt), 1, 1),
    "greatest": (_extreme(1), 1, 99),
    "least": (_extreme(-1), 1, 99),
    "concat": (_concat, 1, 99),
    "strlen": (_textual(len), 1, 1),
    "tolower": (_textual(str.lower), 1, 1),
    "toupper": (_textual(str.upper), 1, 1),
    "trim": (_textual(str.strip), 1, 1),
    "ltrim": (_textual(str.lstrip), 1, 1),
    "rtrim": (_textual(str.rstrip), 1, 1),
    "substr": (_textual(_substr), 2, 3),
    "replace": (_textual(_replace), 3, 3),
    "strcontains": (_textual(_contains), 2, 2),
    "isempty": (_is_empty, 1, 1),
    "isblank": (_is_blank, 1, 1),
    "ispresent": (_is_present, 1, 1),
    "coalesce": (_coalesce, 1, 99),
    "frommillis": (_to_moment, 1, 1),
    "tomillis": (_to_millis, 1, 1),
}
