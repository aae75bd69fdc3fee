"""Replies to long requests, from a separate process, so that reading them does not delay the service's other calls.

The scripted model reads a request with regular expressions. The time of some of them grows with the square of a text's
length, and they do not let other threads run. The process starts with the first request of any length, so that a
conversation which grows long does not wait for it in the middle.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import signal
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, Final

from ..json_values import JsonObject
from ..refusals import ModelRefusedError
from ..reply import Reply
from ..request import read_request
from .reply import scripted_reply

_LENGTH: Final = struct.Struct("!Q")
_LONG_BYTES: Final = 4_000  # any shorter request is read in less than half a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A reply, with the values that determine its timing.

    Attributes:
        reply: The reply.
        input_tokens: The tokens of the request.
        digest: A hash of the request.
    """

    reply: Reply
    input_tokens: int
    digest: str


def answer(model_id: str, request: JsonObject) -> Answered:
    """Answer a request in this process.

    Raises:
        ModelRefusedError: The request fails with an error of AWS.
    """
    read = read_request(model_id, request)
    return Answered(reply=scripted_reply(read), input_tokens=read.input_tokens, digest=read.digest)


class LongRequests:
    """Answers requests in another process, one at a time.

    Args:
        within_s: Seconds of processor time after which a request is refused and the process ends. Time that the process
            spends waiting for a processor does not count.
    """

    def __init__(self, *, within_s: float = 20.0) -> None:
        self._within_s = within_s
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the process in the background, the first time that this is called."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        async with self._turn:
            await self._running()

    async def reply(self, model_id: str, request: JsonObject) -> Answered:
        """Answer a request of any length: a long one in the process, a short one here.

        Raises:
            ModelRefusedError: The request fails with an error of AWS, or takes too long (ModelTimeoutException).
        """
        self.start()
        body = json.dumps(request).encode()
        return await self.answer(model_id, body) if len(body) > _LONG_BYTES else answer(model_id, request)

    async def answer(self, model_id: str, request: bytes) -> Answered:
        """Answer a request in the process.

        Args:
            model_id: The model that is asked for.
            request: The body of the request, as JSON.

        Raises:
            ModelRefusedError: The request fails with an error of AWS, or takes too long (ModelTimeoutException).
        """
        message = json.dumps(model_id).encode() + b"\n" + request
        async with self._turn:
            outcome = await self._ask(message)
        if outcome is None:
            raise ModelRefusedError(
                "ModelTimeoutException",
                f"The scripted model did not finish reading this request of {len(request):,} bytes in "
                f"{self._within_s:g} s of processor time. Send a shorter request.",
            )
        if isinstance(outcome, Answered):
            return outcome
        raise ModelRefusedError(*outcome)

    async def close(self) -> None:
        """End the process."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, message: bytes) -> Answered | tuple[str, str] | None:
        """Return a reply, the code and message of a refusal, or None if the request took too long."""
        for is_last in (False, True):
            process = await self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.writelines([_LENGTH.pack(len(message)), message])
                await process.stdin.drain()
                (size,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
                return pickle.loads(await process.stdout.readexactly(size))  # noqa: S301 - from our own process
            except (ConnectionError, asyncio.IncompleteReadError):  # the process has ended
                # Without `kill` before it, which could reap the process, so that asyncio would not see its exit code.
                if await process.wait() == -signal.SIGPROF:
                    return None
                if is_last:
                    raise ModelRefusedError(
                        "ModelErrorException", "The process that reads long requests ended; see the service's log."
                    ) from None
            except BaseException:  # an abandoned answer must not be read as the next request's
                await self._end()
                raise
        raise AssertionError("unreachable")

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __package__ or "", str(self._within_s)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        return self._process


def serve(requests: BinaryIO, answers: BinaryIO, within_s: float) -> None:
    """Answer requests of `LongRequests` until it closes the pipe.

    Args:
        requests: The requests.
        answers: The pipe for the answers.
        within_s: Seconds of processor time that one request may take. After that, SIGPROF ends the process. The
            signal's default action is used because Python does not call handlers while a regular expression runs.
    """
    while length := requests.read(_LENGTH.size):
        model_id, _, request = requests.read(_LENGTH.unpack(length)[0]).partition(b"\n")
        signal.setitimer(signal.ITIMER_PROF, within_s)
        try:
            outcome: Answered | tuple[str, str] = answer(json.loads(model_id), json.loads(request))
        except ModelRefusedError as refused:
            outcome = refused.code, refused.message
        signal.setitimer(signal.ITIMER_PROF, 0)
        content = pickle.dumps(outcome)
        answers.write(_LENGTH.pack(len(content)) + content)
        answers.flush()
