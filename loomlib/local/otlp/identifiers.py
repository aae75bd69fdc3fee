"""Trace and span ids as lower-case hex."""

from __future__ import annotations

import base64
import binascii
import re

_HEX = re.compile(r"[0-9a-fA-F]+\Z")
TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8


def hex_id(value: object, size_bytes: int) -> str | None:
    """Parse an id of OTLP/JSON: hex (by the specification) or base64 (protobuf's own JSON mapping).

    An id of zeros is invalid (W3C Trace Context).

    Args:
        value: The id as JSON holds it.
        size_bytes: The size of an id: 16 for a trace, 8 for a span.

    Returns:
        The id in lower-case hex; None for anything that is not an id.
    """
    if not isinstance(value, str):
        return None
    if len(value) == 2 * size_bytes and _HEX.match(value):
        identifier = value.lower()
    else:
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(decoded) != size_bytes:
            return None
        identifier = decoded.hex()
    return identifier if identifier.strip("0") else None


def bytes_id(value: bytes, size_bytes: int) -> str | None:
    """Parse an id of OTLP/protobuf; None when it has the wrong size or is all zeros."""
    return value.hex() if len(value) == size_bytes and any(value) else None
