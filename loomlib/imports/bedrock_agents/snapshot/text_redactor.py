"""Redaction of prompts and descriptions, in which placeholders, ARNs and names of functions are not secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from loomlib.redaction import SECRETS, Redactor

_PLACEHOLDER: Final = re.compile(r"\$[a-z][a-z_.]*\$|\$?\{\{? ?[A-Za-z][A-Za-z_.]* ?\}?\}")
"""`$prompt_session_attributes$`, `${NAME}`, `{name}`, `{{ name }}`."""

_TYPES: Final = frozenset(
    ("string", "number", "integer", "boolean", "object", "array", "optional", "required", "nullable")
)
"""Words that follow the name of a parameter in a description: `token: optional string`."""

_GUESSED: Final = "secret"
"""The rule for values beside a secret's name and random-looking values; the other rules detect known forms."""

_END_OF_SENTENCE: Final = ".,;:?!)"
_LONGEST_ARN: Final = 2_048


class TextRedactor(Redactor):
    """Finds secrets in human-written texts for a model; its placeholders do not have numbers.

    Args:
        names: The names of the agent's own functions, operations and action groups; names can be added later.
    """

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(SECRETS, numbered=False)
        self._names = names

    def find(self, text: str) -> list[tuple[int, int, str, Callable[[str], str]]]:
        """Return the findings of the rules, except text that only names a placeholder, a type, an ARN or a function."""
        return [span for span in super().find(text) if not self._refers(text, *span[:3])]

    def _refers(self, text: str, start: int, end: int, rule: str) -> bool:
        candidate = text[start:end].rstrip(_END_OF_SENTENCE)
        if _PLACEHOLDER.fullmatch(candidate):
            return True
        return rule == _GUESSED and (candidate in _TYPES or candidate in self._names or _is_in_arn(text, start))


def _is_in_arn(text: str, start: int) -> bool:
    before = text[max(0, start - _LONGEST_ARN) : start]
    if not before or before[-1].isspace():
        return False
    return before.split()[-1].strip("\"'`(<[").startswith("arn:aws")
