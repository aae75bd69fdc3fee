"""Trace and span ids as lower-case hex without a prefix."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from functools import lru_cache

_HEX = re.compile(r"(?!0+$)[0-9a-f]{16}(?:[0-9a-f]{16})?").fullmatch
_XRAY = re.compile(r"1-([0-9a-fA-F]{8})-([0-9a-fA-F]{24})").fullmatch
_BASE64_LENGTHS = frozenset({11, 12, 22, 24})
"""8 and 16 bytes in base64, without and with padding; hex has 16 and 32 characters, so no text is both."""


def normal_id(value: object) -> str:
    """Return the id as lower-case hex, "" for none.

    Reads hex (with or without 0x), base64, X-Ray's `1-…`, bytes and integers. Other text is returned unchanged, so that
    spans which use it still find each other.
    """
    if type(value) is str:
        return _normal_text(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex() if any(value) else ""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return f"{value:016x}" if value < 1 << 64 else f"{value:032x}"
    return ""


@lru_cache(1 << 14)
def _normal_text(value: str) -> str:
    """Return an id in one spelling.

    Cached, since spans of a trace name each other: less work, and one string for each id.
    """
    if _HEX(value):
        return value
    text = value.strip()
    if text[:2] in ("0x", "0X"):
        text = text[2:]
    lower = text.lower()
    if _HEX(lower):
        return lower
    if xray := _XRAY(text):
        return (xray[1] + xray[2]).lower()
    if len(text) in _BASE64_LENGTHS:
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            raw = b64decode(standard + "=" * (-len(standard) % 4), validate=True)
        except (Error, ValueError):
            return text
        if len(raw) in (8, 16):
            return raw.hex() if any(raw) else ""
    return text if text.strip("0") else ""
