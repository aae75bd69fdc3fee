"""Frames between the service and its collecting process: a length-prefixed JSON head, then bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

_LENGTHS = struct.Struct(">II")


def frame(head: Mapping[str, Any], body: bytes = b"") -> tuple[bytes, bytes]:
    """Return the two pieces of a frame; `body` is not copied."""
    text = json.dumps(head).encode()
    return _LENGTHS.pack(len(text), len(body)) + text, body


def lengths(prefix: bytes) -> tuple[int, int]:
    """Return the lengths of head and body."""
    head, body = _LENGTHS.unpack(prefix)
    return head, body


PREFIX_BYTES = _LENGTHS.size


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Read the next frame; None when the other side has closed the stream, even in the middle of a frame."""
    prefix = stream.read(PREFIX_BYTES)
    if len(prefix) < PREFIX_BYTES:
        return None
    head_bytes, body_bytes = lengths(prefix)
    head, body = stream.read(head_bytes), stream.read(body_bytes)
    if len(head) < head_bytes or len(body) < body_bytes:
        return None
    return json.loads(head), body
