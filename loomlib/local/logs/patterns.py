"""Filter patterns of CloudWatch Logs for unstructured lines.

Source: CloudWatch Logs user guide, "Filter pattern syntax".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..patterns import Pattern, PatternError
from .requests import invalid_parameter

Matches = Callable[[str], bool]
_LONGEST_PATTERN = 1_024  # CloudWatch Logs: filterPattern has at most 1,024 characters
_TERM = re.compile(r'(?P<sign>[?-]?)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|%(?P<regex>[^%]+)%|(?P<plain>[^\s"]+))')


def compile_pattern(pattern: str) -> Matches:
    """Return a test of lines: words and "phrases" that must occur, -excluded, ?optional, %regex%.

    Optional terms are matched only if there are no others.

    Args:
        pattern: The filter pattern; an empty one matches every line.

    Raises:
        RefusedError: A pattern that is too long, a JSON or space-delimited pattern, which is not supported, or an
            invalid regular expression.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise invalid_parameter(f"filterPattern must have at most {_LONGEST_PATTERN:,} characters")
    text = pattern.strip()
    if text.startswith(("{", "[")):
        raise invalid_parameter(
            "The local AgentCore does not support JSON or space-delimited filter patterns; use quoted terms"
        )
    required: list[Matches] = []
    optional: list[Matches] = []
    for term in _TERM.finditer(text):
        test = _test(term)
        if term["sign"] == "-":
            required.append(lambda line, test=test: not test(line))
        else:
            (optional if term["sign"] == "?" else required).append(test)
    if required:
        return lambda line: all(test(line) for test in required)
    return lambda line: not optional or any(test(line) for test in optional)


def required_texts(pattern: str) -> list[str]:
    """Return texts contained in every event that matches a pattern, as a first selection for a search."""
    terms = [term for term in _TERM.finditer(pattern.strip()) if not term["sign"] and term["regex"] is None]
    return [_text_of(term) for term in terms]


def _test(term: re.Match[str]) -> Matches:
    if term["regex"] is not None:
        try:
            return Pattern(term["regex"]).occurs_in
        except PatternError as error:
            raise invalid_parameter(f"Invalid regular expression: {error}") from error
    text = _text_of(term)
    return lambda line: text in line


def _text_of(term: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", term["quoted"]) if term["quoted"] is not None else term["plain"]
