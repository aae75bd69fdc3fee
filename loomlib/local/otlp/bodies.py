"""Decompression of a request body within a size limit."""

from __future__ import annotations

import zlib

from .json_values import MalformedTelemetryError

BODY_LIMIT_BYTES = 32_000_000
"""The longest accepted body, compressed or not. AWS's own OTLP endpoint accepts 5 MB."""

UNPACKED_LIMIT_BYTES = 128_000_000
"""The longest body after decompression, against decompression bombs."""


def unpacked(body: bytes, encoding: str) -> bytes:
    """Decode a request body's content encoding.

    Raises:
        MalformedTelemetryError: The encoding is unknown, the body does not match it, or the decoded body is too large.
    """
    if encoding in ("", "identity"):
        return body
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | (16 if encoding == "gzip" else 0))
    try:
        content = unpacking.decompress(body, UNPACKED_LIMIT_BYTES)
    except zlib.error as error:
        raise MalformedTelemetryError(f"the body is not {encoding}: {error}") from error
    if unpacking.unconsumed_tail:
        raise MalformedTelemetryError(f"the body is larger than {UNPACKED_LIMIT_BYTES:,} bytes once unpacked")
    if not unpacking.eof:
        raise MalformedTelemetryError(f"the body ends in the middle of its {encoding}")
    return content
