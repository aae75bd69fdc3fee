"""Redaction of log records and messages, so that Loom's own logs and errors show no secrets or personal data."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .redactor import Redactor


class RedactingFormatter(logging.Formatter):
    """Formats a record as `logging.Formatter` does, and redacts the text, tracebacks included.

    Random-looking text stays, because ids look like that. Records below WARNING are not examined: Loom's own do not
    contain values of callers.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted text of a record."""
        text = super().format(record)
        return text if record.levelno < logging.WARNING else redact_message(text)


def redact_message(text: str) -> str:
    """Return a message without secrets and personal data; random-looking text stays, because ids look like that.

    Args:
        text: The text of an error or of a log record.
    """
    return _redactor().redact(text).text


@cache
def _redactor() -> Redactor:
    from .redactor import READABLE_RULES, Redactor  # the rules take 20 ms to compile; most processes log no warning

    return Redactor(READABLE_RULES, numbered=False)
