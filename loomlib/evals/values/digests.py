"""Hashes of content that are the same in every process and release."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from .fast_json import ascii_encoder


def digest_of(*parts: object) -> str:
    """Return 32 hexadecimal digits of the SHA-256 of the parts' canonical JSON (sorted keys, dataclasses by fields)."""
    return digest_of_text(canonical_text(parts))


def digest_of_text(text: str) -> str:
    """Return 32 hexadecimal digits of the SHA-256 of an ASCII text."""
    return sha256(text.encode("ascii")).hexdigest()[:32]


def canonical_text(value: object) -> str:
    """Return plain values as JSON in ASCII with sorted keys, without white space."""
    return _encode(value)


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    items = getattr(value, "items", None)
    if callable(items):
        return dict(items())  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownArgumentType]
    raise TypeError(f"A case contains plain values only, not {type(value).__name__}")


_encode = ascii_encoder(_plain, sort_keys=True)
