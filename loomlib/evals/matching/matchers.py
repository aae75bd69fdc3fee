"""Compare a value with the expected one: by JSON equality, or by the matcher that a case names for a field.

| matcher          | the actual value fits when                                                      |
|------------------|---------------------------------------------------------------------------------|
| `exact`          | it is the same JSON value: 1 equals 1.0, `true` is not a number                 |
| `ignore`         | always, and also when it is absent                                              |
| `present`        | it is present, with any value                                                   |
| `contains[:text]`| its text contains the expected text, or it is a list that has the expected value|
| `regex[:pattern]`| the pattern is found in its text                                                |
| `normalized`     | both texts are equal apart from case, spacing, width and punctuation            |
| `numeric[:tol]`  | both are numbers (or texts of numbers) no further apart than tol, or tol % of the expected one |
| `one_of[:a|b]`   | it is one of the expected list's values (or of a, b)                            |

The text after the colon replaces the expected value, for fields without one.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

ABSENT: Final = object()
"""Marks a missing field."""

Matcher: TypeAlias = Callable[[Any, Any], bool]
"""(expected or ABSENT, actual or ABSENT) → whether the value matches."""


def json_equal(a: object, b: object) -> bool:
    """Return whether two JSON values are equal: unlike in Python, `True` is not 1; 1 equals 1.0. Not recursive."""
    pairs = [(a, b)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, str):
            if one != other:
                return False
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif isinstance(one, (dict, Mapping)):
            one_mapping, other_mapping = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
            if not isinstance(other, (dict, Mapping)) or len(one_mapping) != len(other_mapping):
                return False
            for key, value in one_mapping.items():
                other_value = other_mapping.get(key, ABSENT)
                if isinstance(value, str):
                    if value != other_value:
                        return False
                else:
                    pairs.append((value, other_value))
        elif isinstance(one, (list, tuple)):
            one_items, other_items = cast("list[Any]", one), cast("list[Any]", other)
            if not isinstance(other, (list, tuple)) or len(one_items) != len(other_items):
                return False
            pairs.extend(zip(one_items, other_items, strict=True))
        elif one != other and (one == one or other == other):  # NaN equals NaN here
            return False
    return True


def matcher(spec: str) -> Matcher:
    """Return the matcher of a specification, "name" or "name:argument"; raise `ValueError` when there is none."""
    return _matcher_of(spec)


@lru_cache(maxsize=1024)
def _matcher_of(spec: str) -> Matcher:
    name, colon, argument = spec.partition(":")
    if name not in MATCHERS:
        raise ValueError(f"There is no matcher {name!r}; the matchers are {', '.join(MATCHERS)}")
    return MATCHERS[name](argument if colon else None)


def needs_expected(spec: str) -> bool:
    """Return whether a matcher compares with the expected value rather than with the text after its colon."""
    name, colon, _ = spec.partition(":")
    return name not in ("ignore", "present") and (name == "numeric" or not colon)


def arguments_match(expected: Mapping[str, Any] | None, matchers: Mapping[str, str], actual: Mapping[str, Any]) -> bool:
    """Return whether a call's arguments match the expected ones.

    Args:
        expected: The exact arguments, without further fields; None lets only the matchers decide.
        matchers: Matchers by field, which override `expected`.
        actual: The arguments of the call.
    """
    if not matchers:
        return expected is None or json_equal(expected, actual)
    if expected is not None:
        for field, value in expected.items():
            if field not in matchers and (field not in actual or not json_equal(value, actual[field])):
                return False
        if any(field not in expected and field not in matchers for field in actual):
            return False
    expected_arguments = expected or {}
    return all(
        matcher(spec)(expected_arguments.get(field, ABSENT), actual.get(field, ABSENT))
        for field, spec in matchers.items()
    )


def _exact(argument: str | None) -> Matcher:
    if argument is not None:
        return lambda expected, actual: json_equal(argument, actual)
    return lambda expected, actual: (
        expected is actual or (ABSENT not in (expected, actual) and json_equal(expected, actual))
    )


def _ignore(argument: str | None) -> Matcher:
    return lambda expected, actual: True


def _present(argument: str | None) -> Matcher:
    return lambda expected, actual: actual is not ABSENT


def _contains(argument: str | None) -> Matcher:
    def fits(expected: Any, actual: Any) -> bool:
        needle = _operand("contains", argument, expected)
        if actual is ABSENT:
            return False
        if isinstance(actual, (list, tuple)):
            return any(json_equal(needle, item) for item in cast("list[Any]", actual))
        return text_of(needle) in text_of(actual)

    return fits


def _regex(argument: str | None) -> Matcher:
    def fits(expected: Any, actual: Any) -> bool:
        pattern = _operand("regex", argument, expected)
        return actual is not ABSENT and re.search(str(pattern), text_of(actual)) is not None

    return fits


def _normalized(argument: str | None) -> Matcher:
    def fits(expected: Any, actual: Any) -> bool:
        expected_value = _operand("normalized", argument, expected)
        return actual is not ABSENT and normalized(text_of(expected_value)) == normalized(text_of(actual))

    return fits


def _numeric(argument: str | None) -> Matcher:
    limit = (argument or "0").strip()
    tolerance, is_share = float(limit.rstrip("%")), limit.endswith("%")

    def fits(expected: Any, actual: Any) -> bool:
        a, b = number_in(expected), number_in(actual)
        if a is None or b is None:
            return False
        return is_near(a, b, tolerance=0.0 if is_share else tolerance, share=tolerance / 100 if is_share else 0.0)

    return fits


def _one_of(argument: str | None) -> Matcher:
    choices = None if argument is None else argument.split("|")

    def fits(expected: Any, actual: Any) -> bool:
        if actual is ABSENT:
            return False
        if choices is not None:
            return text_of(actual) in choices
        allowed = _operand("one_of", None, expected)
        if not isinstance(allowed, (list, tuple)):
            raise ValueError("one_of needs a list of values, or one_of:a|b")
        return any(json_equal(item, actual) for item in cast("list[Any]", allowed))

    return fits


def _operand(name: str, argument: str | None, expected: Any) -> Any:
    if argument is not None:
        return argument
    if expected is ABSENT:
        raise ValueError(f"The matcher {name} has nothing to compare with: give the field a value, or write {name}:…")
    return expected


MATCHERS: Final[Mapping[str, Callable[[str | None], Matcher]]] = {
    "exact": _exact,
    "ignore": _ignore,
    "present": _present,
    "contains": _contains,
    "regex": _regex,
    "normalized": _normalized,
    "numeric": _numeric,
    "one_of": _one_of,
}


def text_of(value: object) -> str:
    """Return a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def number_in(value: object) -> float | None:
    """Return the value of a JSON number or of a text that is a number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value.replace(",", "").replace("−", "-") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if number - number == 0 else None


def is_near(expected: float, actual: float, *, tolerance: float = 0.0, share: float = 0.0) -> bool:
    """Return whether two numbers are close.

    Args:
        expected: The expected number.
        actual: The actual number.
        tolerance: The largest absolute difference.
        share: The largest difference as a share of the expected number; the larger of the two limits applies.
    """
    allowed = max(tolerance, share * abs(expected))
    # 0.1 + 0.2 equals 0.3: allow for rounding errors of floats.
    return abs(expected - actual) <= allowed + 4e-16 * max(abs(expected), abs(actual))


# Punctuation that does not change the meaning of a word. Numbers keep theirs: 1.5, 10:30, -5, .5.
_MARKS: Final = re.escape(
    "".join(mark for mark in string.punctuation if mark not in "$%+<=>^|~`#&@*/\\")
    + "“”„‘’–—…¿¡«»。、，！？；：「」（）"
)
_APOSTROPHE: Final = re.compile(r"(?<=[^\W\d])['’](?=[^\W\d])")
_MARK: Final = re.compile(rf"(?!(?<!\w)-?\.?\d)(?:(?<!\d)[{_MARKS}]|[{_MARKS}](?!\d))")


def normalized(text: str) -> str:
    """Return the text without differences of case, width (NFKC), spacing and punctuation outside numbers."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("−", "-")
    return " ".join(_MARK.sub(" ", _APOSTROPHE.sub("", folded)).split())
