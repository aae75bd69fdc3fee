"""Trace and span ids, as lower-case hex whatever form they came in."""

from __future__ import annotations

import base64
import binascii
import re

_HEX = re.compile(r"[0-9a-fA-F]+\Z")
TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8


def hex_id(value: object, size_bytes: int) -> str | None:
    """An OTLP/JSON id: hex as the specification has it, base64 as protobuf's own JSON has it; None for anything else.

    An id of zeros is none (W3C Trace Context, "invalid").
    """
    if not isinstance(value, str):
        return None
    if len(value) == 2 * size_bytes and _HEX.match(value):
        found = value.lower()
    else:
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(decoded) != size_bytes:
            return None
        found = decoded.hex()
    return found if found.strip("0") else None


def bytes_id(value: bytes, size_bytes: int) -> str | None:
    """An id of OTLP/protobuf; None when it has another size or is all zeros."""
    return value.hex() if len(value) == size_bytes and any(value) else None
