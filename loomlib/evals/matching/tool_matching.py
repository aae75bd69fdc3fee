"""Compare a tool call with an expected one: by name, and by arguments where they are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..values.tool_use import ExpectedTool, ToolUse
from .matchers import arguments_match, matcher, needs_expected

Arguments: TypeAlias = "bool | Mapping[str, str]"
"""True: arguments are compared as the case specifies. False: only names are compared. A mapping: arguments are
compared, these fields by a matcher ({"date": "ignore"}; see `loomlib.evals.matching.matchers`) that overrides the
case's. A matcher that needs an expected value ("contains") applies only to calls for which the case has one."""


@dataclass(frozen=True, slots=True)
class ToolMatching:
    """How actual calls are compared with expected ones."""

    arguments: Arguments = True
    _counts: bool = field(init=False, repr=False)
    _fields: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields: Mapping[str, str] = {} if isinstance(self.arguments, bool) else dict(self.arguments)
        for spec in fields.values():
            matcher(spec)
        object.__setattr__(self, "_counts", self.arguments is not False)
        object.__setattr__(self, "_fields", fields)

    def fits(self, expected: ExpectedTool, actual: ToolUse, unknown: bool = False) -> bool:
        """Return whether a call matches the expected one.

        Args:
            expected: The expected call.
            actual: The actual call.
            unknown: The result when arguments are compared but were not recorded.
        """
        if expected.name != actual.name:
            return False
        if not self._counts:
            return True
        matchers = expected.matchers
        if self._fields:
            matchers = {
                **matchers,
                **{name: spec for name, spec in self._fields.items() if _concerns(name, spec, expected, actual)},
            }
        if expected.arguments is None and not matchers:
            return True
        if actual.arguments is None:
            return unknown
        return arguments_match(expected.arguments, matchers, actual.arguments)

    def fits_all(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse]) -> bool:
        """Return whether two paths are the same, call by call."""
        return len(expected) == len(actual) and all(map(self.fits, expected, actual))

    def needs_arguments(self, expected: Sequence[ExpectedTool]) -> bool:
        """Return whether the arguments of any of these calls are compared."""
        return self._counts and any(call.arguments is not None or call.matchers or self._fields for call in expected)


def _concerns(name: str, spec: str, expected: ExpectedTool, actual: ToolUse) -> bool:
    """Return whether a matcher for a field of all tools applies to a call: the call has what the matcher compares."""
    return name in (expected.arguments or ()) or (name in (actual.arguments or ()) and not needs_expected(spec))


_json: Final = json.JSONEncoder(ensure_ascii=False, default=str, check_circular=False).encode


def call_text(name: str, arguments: Mapping[str, Any] | None, *, limit: int = 200) -> str:
    """Return a call as one printable line: `get_weather(city="Paris")`; unknown arguments are `…`.

    Args:
        name: The tool.
        arguments: The arguments; None when they were not recorded.
        limit: The longest text, in characters.
    """
    try:
        inside = "…" if arguments is None else ", ".join(f"{key}={_json(value)}" for key, value in arguments.items())
    except RecursionError:
        inside = "…"
    text = printable(f"{name}({inside})")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def printable(text: str) -> str:
    r"""Return the text with control characters, direction marks and lone surrogates escaped (`\x1b`)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
