"""Responses to OTLP/HTTP requests, in the request's own encoding.

Source: OpenTelemetry protocol specification 1.x, "OTLP/HTTP Response". The messages are a handful of fields, so their
protobuf form is written here, and the service's process imports no protobuf library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .documents import Signal

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_REJECTED = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}
_INVALID_ARGUMENT, _UNAVAILABLE = 3, 14  # google.rpc.Code


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status 200 with the number of refused records and the reason, or a failure with its message."""

    status: int
    refused: int = 0
    message: str = ""

    def body(self, content_type: str, signal: Signal) -> bytes:
        """Encode the response for a content type and a signal."""
        if self.status == 200:
            if content_type == JSON:
                partial = {_REJECTED[signal]: str(self.refused), "errorMessage": self.message}
                return json.dumps({"partialSuccess": partial} if self.refused else {}).encode()
            partial_bytes = _number(1, self.refused) + _text(2, self.message) if self.refused else b""
            return _embedded(1, partial_bytes) if partial_bytes else b""
        code = _UNAVAILABLE if self.status in (429, 503) else _INVALID_ARGUMENT
        if content_type == JSON:
            return json.dumps({"code": code, "message": self.message}).encode()
        return _number(1, code) + _text(2, self.message)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _embedded(field, value.encode("utf-8", "replace"))


def _embedded(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
