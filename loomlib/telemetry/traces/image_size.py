"""The size of an image by its header, without decoding it: a small file can describe an image of gigabytes."""

from __future__ import annotations

import struct
from typing import Final

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_GIF: Final = (b"GIF87a", b"GIF89a")
_JPEG_SIZES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # ITU-T T.81, table B.1: start of frame


def image_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, a GIF, a JPEG or a WebP image; None for anything else.

    Args:
        content: The file.
    """
    try:
        if content.startswith(_PNG):
            return struct.unpack(">II", content[16:24])
        if content.startswith(_GIF):
            return struct.unpack("<HH", content[6:10])
        if content.startswith(b"\xff\xd8"):
            return _jpeg_size(content)
        if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
            return _webp_size(content)
    except (struct.error, IndexError):  # cut off
        pass
    return None


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    at = 2
    while content[at] == 0xFF:
        kind = content[at + 1]
        if kind == 0xFF:  # fill byte
            at += 1
            continue
        if kind in _JPEG_SIZES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", content[at + 2 : at + 4])
        at += 2 + length
    return None


def _webp_size(content: bytes) -> tuple[int, int] | None:
    """Source: RFC 9649, sections 2.5 to 2.7."""
    kind = content[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(content[at : at + 3], "little") + 1 for at in (24, 27))
        return (width, height) if len(content) >= 30 else None
    if kind == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", content[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and content[20] == 0x2F:
        (bits,) = struct.unpack("<I", content[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None
