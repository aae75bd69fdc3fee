"""Redaction of secrets and personal data: rules as data, and placeholders that keep texts readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..deprecation import renamed_names
from ..dispatch import names_on_use

if TYPE_CHECKING:
    from .files import read_rules
    from .logs import RedactingFormatter, redact_message
    from .personal import PERSONAL_DATA
    from .redactor import DEFAULT_RULES, READABLE_RULES, Document, Redacted, Redaction, Redactor, redact
    from .rule import RedactionRule
    from .secrets import HIGH_ENTROPY, KNOWN_FORMS, SECRETS

__all__ = [
    "DEFAULT_RULES",
    "HIGH_ENTROPY",
    "KNOWN_FORMS",
    "PERSONAL_DATA",
    "READABLE_RULES",
    "SECRETS",
    "Document",
    "Redacted",
    "RedactingFormatter",
    "Redaction",
    "RedactionRule",
    "Redactor",
    "read_rules",
    "redact",
    "redact_message",
]


# The rules take 20 ms to compile, so only what is used is imported.
__getattr__ = names_on_use(
    __name__,
    {
        "files": "read_rules",
        "logs": "RedactingFormatter redact_message",
        "personal": "PERSONAL_DATA",
        "redactor": "DEFAULT_RULES READABLE_RULES Document Redacted Redaction Redactor redact",
        "rule": "RedactionRule",
        "secrets": "HIGH_ENTROPY KNOWN_FORMS SECRETS",
    },
    renamed_names(__name__, {"Found": "Redaction"}),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
