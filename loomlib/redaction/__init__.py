"""Redaction of secrets and personal data: rules as data, and placeholders that keep texts readable."""

from .files import read_rules
from .personal import PERSONAL_DATA
from .redactor import DEFAULT_RULES, Document, Found, Redacted, Redactor, redact
from .rule import RedactionRule
from .secrets import HIGH_ENTROPY, KNOWN_FORMS, SECRETS

__all__ = [
    "DEFAULT_RULES",
    "HIGH_ENTROPY",
    "KNOWN_FORMS",
    "PERSONAL_DATA",
    "SECRETS",
    "Document",
    "Found",
    "Redacted",
    "RedactionRule",
    "Redactor",
    "read_rules",
    "redact",
]
