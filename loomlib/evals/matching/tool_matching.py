"""Whether a tool call is the one that a case expects: by name, and by its arguments where they count."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..values.tool_use import ExpectedTool, ToolUse
from .matchers import arguments_match, matcher

Arguments: TypeAlias = "bool | Mapping[str, str]"
"""True: they count, as the case states them. False: only names count. A mapping: they count, and these fields by a
matcher each ({"date": "ignore"}; see `loomlib.evals.matching.matchers`), whatever the case says of them."""


@dataclass(frozen=True, slots=True)
class ToolMatching:
    """How calls are compared with expected ones."""

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
        """Whether this call is that one; `unknown` is the answer where nobody recorded the arguments that count."""
        if expected.name != actual.name:
            return False
        if not self._counts:
            return True
        matchers = expected.matchers
        if self._fields:
            matchers = {
                **matchers,
                **{name: spec for name, spec in self._fields.items() if self._concerns(name, expected, actual)},
            }
        if expected.arguments is None and not matchers:
            return True
        if actual.arguments is None:
            return unknown
        return arguments_match(expected.arguments, matchers, actual.arguments)

    def fits_all(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse]) -> bool:
        """Whether two paths are the same, call by call."""
        return len(expected) == len(actual) and all(map(self.fits, expected, actual))

    def needs_arguments(self, expected: Sequence[ExpectedTool]) -> bool:
        """Whether any of these calls is told by its arguments, too."""
        return self._counts and any(each.arguments is not None or each.matchers or self._fields for each in expected)

    def _concerns(self, name: str, expected: ExpectedTool, actual: ToolUse) -> bool:
        """A matcher for all tools concerns those that have such a field."""
        return name in (expected.arguments or ()) or name in (actual.arguments or ())


_json: Final = json.JSONEncoder(ensure_ascii=False, default=str, check_circular=False).encode


def call_text(name: str, arguments: Mapping[str, Any] | None, *, limit: int = 200) -> str:
    """A call in one printable line: `get_weather(city="Paris")`; arguments that nobody recorded are `…`.

    Whatever an agent put into it, no control character is left and no more than about `limit` characters.
    """
    try:
        inside = "…" if arguments is None else ", ".join(f"{key}={_json(value)}" for key, value in arguments.items())
    except RecursionError:
        inside = "…"
    text = printable(f"{name}({inside})")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def printable(text: str) -> str:
    """The text with control characters, direction marks and lone surrogates written out (`\\x1b`)."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
