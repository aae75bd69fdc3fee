"""A request's body, read once within its limit and hashed while it is read."""

from __future__ import annotations

import asyncio
import hashlib
import io
import tempfile
import time
from dataclasses import dataclass
from typing import BinaryIO, Final

from ..wire import AsgiMessage, Receive, RefusedError, invalid
from .errors import refusal

_PAUSE_S: Final = 60.0
"""Maximum pause of a sender within a body, in seconds."""

_LEAST_BYTES_PER_S = 1_000  # a sender that takes longer than a minute must be at least this fast
_SPOOLED_FROM_BYTES = 1 << 20
# Bodies of services that are not listed. DynamoDB's limit of 16 MB is the largest among them.
_OTHER_BYTES = 20_000_000
_INVOCATION_BYTES = 100_000_000  # botocore's model of InvokeAgentRuntime: payload max
_MODEL_BYTES = 25_000_000  # Bedrock quotas: payload of Converse
_LOGS_BYTES = 8_000_000  # PutLogEvents: 1 MiB, which JSON may escape to six times as much
_CONTROL_BYTES = 6_000_000
_LAMBDA_BYTES = 70_167_211  # AWS's own message on a larger PublishLayerVersion: a package of 50 MiB, in base64
_S3_BYTES = 5 << 30  # PutObject and UploadPart: 5 GiB


def largest_body(service: str, path: str) -> int:
    """Return the largest body that a request may have, in bytes.

    Args:
        service: The service that it is signed for.
        path: Its raw path.
    """
    if service == "bedrock-agentcore":
        large = ("/invocations", "/invocations/", "/tools/invoke")
        return _INVOCATION_BYTES if path.endswith(large) else _CONTROL_BYTES
    limits_bytes = {"bedrock": _MODEL_BYTES, "lambda": _LAMBDA_BYTES, "logs": _LOGS_BYTES, "s3": _S3_BYTES}
    return limits_bytes.get(service, _OTHER_BYTES)


@dataclass(slots=True, kw_only=True)
class Body:
    """A body: in memory, or in a file if it is large and its reader accepts a file."""

    content: bytes | None
    file: BinaryIO | None
    size: int
    sha256: str

    def opened(self) -> BinaryIO:
        """Return the body as a file at its beginning."""
        if self.file is None:
            return io.BytesIO(self.content or b"")
        self.file.seek(0)
        return self.file

    def replayed(self, following: Receive) -> Receive:
        """Return an ASGI `receive` that returns the body, or an empty one for a file, and then later messages."""
        given = False

        async def receive() -> AsgiMessage:
            nonlocal given
            if given:
                return await following()
            given = True
            return {"type": "http.request", "body": self.content or b"", "more_body": False}

        return receive

    def close(self) -> None:
        """Remove the file."""
        if self.file is not None:
            self.file.close()


async def read_whole(
    receive: Receive, limit_bytes: int, declared: str, service: str, *, spools: bool, pause_s: float = _PAUSE_S
) -> Body:
    """Read a body.

    Large bodies for moto are written to a file: joining and copying them in memory would block the interpreter while
    agents are invoked.

    Args:
        receive: The ASGI `receive` that returns the body.
        limit_bytes: Its largest size.
        declared: The Content-Length header.
        service: The service that the request is for.
        spools: Whether its reader accepts a file.
        pause_s: Maximum pause of the sender, and maximum time below 1 kB per second, in seconds.

    Raises:
        RefusedError: It is too large, or its sender is too slow.
        ConnectionAbortedError: The client disconnected.
    """
    too_large = invalid(f"The payload is larger than the maximum of {limit_bytes:,} bytes")
    if service == "lambda":
        text = f"Request must be smaller than {limit_bytes} bytes"
        too_large = RefusedError("RequestEntityTooLargeException", 413, text)
    if declared.isdecimal() and int(declared) > limit_bytes:
        raise too_large
    digest, parts, size = hashlib.sha256(), list[bytes](), 0
    begun = time.monotonic()
    text = "Your socket connection to the server was not read from or written to within the timeout period."
    file: BinaryIO | None = None
    try:
        while True:
            try:
                async with asyncio.timeout(pause_s):
                    message = await receive()
            except TimeoutError as error:
                raise refusal("timeout", service, text) from error
            if message["type"] == "http.disconnect":
                raise ConnectionAbortedError("the client disconnected while sending")
            if part := message.get("body", b""):
                size += len(part)
                if size > limit_bytes:
                    raise too_large
                elapsed_s = time.monotonic() - begun
                if elapsed_s > pause_s and size < elapsed_s * _LEAST_BYTES_PER_S:
                    raise refusal("timeout", service, text)
                digest.update(part)
                if file is None and spools and size > _SPOOLED_FROM_BYTES:
                    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - its reader closes it
                    for earlier in parts:
                        file.write(earlier)
                    parts.clear()
                if file is None:
                    parts.append(part)
                else:
                    file.write(part)
            if not message.get("more_body", False):
                break
    except BaseException:
        if file is not None:
            file.close()
        raise
    content = None if file is not None else parts[0] if len(parts) == 1 else b"".join(parts)
    return Body(content=content, file=file, size=size, sha256=digest.hexdigest())
