"""The size of images by their headers, which is known before anything decodes them."""

from __future__ import annotations

import struct

import pytest

from loomlib.telemetry.traces.image_size import image_size

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06\0\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640) + b"\x03"
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480)
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0"


@pytest.mark.parametrize(
    "content",
    [PNG, JPEG, b"GIF89a" + struct.pack("<HH", 640, 480), LOSSY, LOSSLESS, EXTENDED],
    ids=["png", "jpeg", "gif", "webp lossy", "webp lossless", "webp extended"],
)
def test_every_kind_of_image_says_its_size_and_a_part_of_one_does_not(content: bytes) -> None:
    assert image_size(content) == (640, 480)
    for end in range(len(content)):
        assert image_size(content[:end]) in (None, (640, 480))


def test_what_is_no_image_has_no_size() -> None:
    for content in (b"", b"<svg width='9'/>", b"\xff\xd8\xff\xd9", b"RIFF1234WEBPxxxx", b"\xff\xd8" + b"\xff" * 50):
        assert image_size(content) is None
