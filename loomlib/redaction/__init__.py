"""Redaction of secrets and personal data: rules as data, and placeholders that keep texts readable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from loomlib.deprecation import warn_renamed

if TYPE_CHECKING:
    from .files import read_rules
    from .logs import RedactingFormatter
    from .personal import PERSONAL_DATA
    from .redactor import DEFAULT_RULES, Document, Redacted, Redaction, Redactor, redact
    from .rule import RedactionRule
    from .secrets import HIGH_ENTROPY, KNOWN_FORMS, SECRETS

_MODULES: Final = {
    "DEFAULT_RULES": "redactor",
    "HIGH_ENTROPY": "secrets",
    "KNOWN_FORMS": "secrets",
    "PERSONAL_DATA": "personal",
    "SECRETS": "secrets",
    "Document": "redactor",
    "Redaction": "redactor",
    "Redacted": "redactor",
    "RedactingFormatter": "logs",
    "RedactionRule": "rule",
    "Redactor": "redactor",
    "read_rules": "files",
    "redact": "redactor",
}
"""Module of each name. The rules take 20 ms to compile, so only what is used is imported."""

__all__ = [
    "DEFAULT_RULES",
    "HIGH_ENTROPY",
    "KNOWN_FORMS",
    "PERSONAL_DATA",
    "SECRETS",
    "Document",
    "Redacted",
    "RedactingFormatter",
    "Redaction",
    "RedactionRule",
    "Redactor",
    "read_rules",
    "redact",
]


def __getattr__(name: str) -> object:
    if name == "Found":
        warn_renamed("loomlib.redaction.Found", "loomlib.redaction.Redaction")
        name = "Redaction"
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
