"""Redaction of log records, so that Loom's own logs contain no secrets or personal data."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .redactor import Redactor


class RedactingFormatter(logging.Formatter):
    """Formats a record as `logging.Formatter` does, and redacts the text, tracebacks included.

    Random-looking text stays, because ids look like that. Records below WARNING are not examined: Loom's own have no
    values of callers.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted text of a record."""
        text = super().format(record)
        return text if record.levelno < logging.WARNING else _redactor().redact(text).text


@cache
def _redactor() -> Redactor:
    from .redactor import DEFAULT_RULES, Redactor  # the rules take 20 ms to compile; most processes log no warning
    from .secrets import HIGH_ENTROPY

    return Redactor([rule for rule in DEFAULT_RULES if rule is not HIGH_ENTROPY], numbered=False)
