"""The client of the collecting process, which starts with the first telemetry and is restarted when it dies."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .answers import Answer
from .frames import PREFIX_BYTES, frame, lengths
from .store import StreamKey

_log = logging.getLogger(__name__)
_PENDING_LIMIT_BYTES = 64_000_000
_CLOSE_WITHIN_S = 5.0
_REMEMBERED_SUSPECTS = 1_000

Stored = Callable[[Mapping[StreamKey, tuple[int, int]]], None]


class _Suspects:
    """Requests that were being decoded when the collecting process died.

    A process may be killed from outside, so the sender is asked to send such a request again. If the process ends again
    on the same bytes, they are refused from then on.
    """

    def __init__(self) -> None:
        self._deaths: OrderedDict[bytes, int] = OrderedDict()

    def note(self, body: bytes) -> None:
        """Record that the process died while decoding a request."""
        digest = _digest(body)
        self._deaths[digest] = self._deaths.pop(digest, 0) + 1
        if len(self._deaths) > _REMEMBERED_SUSPECTS:
            self._deaths.popitem(last=False)

    def refuses(self, body: bytes) -> bool:
        """Return whether the process has died twice while decoding these bytes."""
        return bool(self._deaths) and self._deaths.get(_digest(body), 0) > 1


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


class Collector:
    """Sends export requests to the collecting process.

    `on_stored` is called with the places that received records, and the first and last times of the records.
    """

    def __init__(self, home: Path, *, on_stored: Stored) -> None:
        self._home, self._on_stored = home, on_stored
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = self._pending_bytes = 0
        self._bodies: dict[int, bytes] = {}
        self._suspects = _Suspects()
        self._closed = False

    async def take(self, head: Mapping[str, Any], body: bytes) -> Answer:
        """Send a request to be stored.

        The response for its sender is a 503 when too much is pending or the process has ended.
        """
        if self._pending_bytes + len(body) > _PENDING_LIMIT_BYTES:
            return Answer(503, message="The local AgentCore is busy with earlier telemetry; send this again")
        if self._suspects.refuses(body):
            return Answer(400, message="Not stored: the collecting process ended twice while it read this request")
        self._pending_bytes += len(body)
        try:
            reply = await self._ask(head, body)
        except (ConnectionError, OSError) as error:
            return Answer(503, message=f"The collecting process ended; send this again ({error})")
        finally:
            self._pending_bytes -= len(body)
        places = {(group, stream): (first, last) for group, stream, first, last in reply["places"]}
        if places:
            self._on_stored(places)
        return Answer(reply["status"], reply["refused"], reply["message"])

    async def forget(self, places: Sequence[StreamKey]) -> None:
        """Delete the stored records of deleted streams."""
        try:
            await self._ask({"forget": places}, b"")
        except (ConnectionError, OSError) as error:
            _log.warning("Deleted streams could not be forgotten: %s", error)

    async def close(self) -> None:
        """Let the process finish pending requests, and wait until it has exited."""
        self._closed = True
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _CLOSE_WITHIN_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        if self._reading is not None:
            await self._reading

    async def _ask(self, head: Mapping[str, Any], body: bytes) -> dict[str, Any]:
        process = await self._running()
        assert process.stdin is not None
        self._number += 1
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._bodies[number] = body
        try:
            for piece in frame({**head, "id": number}, body):
                if piece:
                    process.stdin.write(piece)
            await process.stdin.drain()
            return await future
        finally:
            self._waiting.pop(number, None)
            self._bodies.pop(number, None)

    async def _running(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._closed:
                raise ConnectionAbortedError("the service is stopping")
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", __package__ or "", str(self._home)),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,  # a terminal's Ctrl-C is for the service, which then closes this one
                )
                self._reading = asyncio.get_running_loop().create_task(self._read(self._process))
            return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                head_bytes, _ = lengths(await process.stdout.readexactly(PREFIX_BYTES))
                reply = json.loads(await process.stdout.readexactly(head_bytes))
                future = self._waiting.get(reply["id"])
                if future is not None and not future.done():
                    future.set_result(reply)
        except asyncio.IncompleteReadError:
            pass
        await process.wait()
        if not self._closed:
            _log.error("The collecting process ended with %s", process.returncode)
            if self._bodies:
                self._suspects.note(self._bodies[min(self._bodies)])  # it reads requests in their order
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionResetError(f"exit code {process.returncode}"))
