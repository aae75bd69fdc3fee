"""Interactive shells at `/runtimes/{arn}/ws/shells` (InvokeAgentRuntimeCommandShell), in the SDK's protocol.

Each message is binary: one byte names its channel, the rest is its content, as in Kubernetes' v5.channel.k8s.io.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import parse_qsl

from websockets.frames import CloseCode

from ..sessions.shells import Attachment, Shell, ShellEnd
from ..sessions.use import SessionUse
from ..wire import Headers, Receive, RefusedError, Send, conflict
from .relay import Close

OPERATION: Final = "InvokeAgentRuntimeCommandShell"
SHELL_HEADER: Final = b"x-amzn-bedrock-agentcore-shell-id"
FRAME_BYTES: Final = 64 * 2**10
"""Largest message (AgentCore's limit)."""

_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE, _HEARTBEAT, _CLOSE = 0, 1, 2, 3, 4, 5, 0xFF
_REPLACED: Final = 4_000
# AgentCore's limits.
_FRAMES_A_SECOND: Final = 250
_TEXTS: Final = 5
_LONGEST_S: Final = 3_600.0
# AgentCore's guide says "per runtime", and of the same shells in a harness "in one session".
_MOST_SHELLS: Final = 10
_SLOW_S: Final = 10.0  # how long a client may go without reading
_SOON_S: Final = 1.0
_LARGEST_SIDE: Final = 2**16 - 1
_SHELL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def shell_id_of(query: bytes) -> str:
    """Return the id of the shell that a request names, or a new id.

    Raises:
        RefusedError: The id is malformed.
    """
    shell_id = dict(parse_qsl(query.decode("latin-1"))).get("shellId", "")
    if shell_id and not _SHELL_ID.fullmatch(shell_id):
        raise _refused("Shell ID format invalid: it must be 1-128 alphanumeric characters, underscores or hyphens")
    return shell_id or str(uuid.uuid4())


class Shells:
    """The shells of all sessions, including detached ones."""

    def __init__(self) -> None:
        self._shells: dict[tuple[str, str], Shell | None] = {}  # None while it is started

    async def open(self, use: SessionUse, shell_id: str) -> tuple[Shell, bool]:
        """Return a shell of a session, and whether it already existed.

        Args:
            use: The use of the session.
            shell_id: The shell's id.

        Raises:
            RefusedError: The session has too many shells, or this one is being started.
            OSError: The session's process has ended.
        """
        process = use.running.process
        key = (process.mark, shell_id)
        if key in self._shells:
            open_shell = self._shells[key]
            if open_shell is None:
                raise conflict(f"Another connection is starting the shell {shell_id}; retry in a second")
            return open_shell, True
        if sum(mark == process.mark for mark, _ in self._shells) >= _MOST_SHELLS:
            raise _refused(f"{_MOST_SHELLS} shells are open in the session; end one of them")
        self._shells[key] = None
        try:
            shell = self._shells[key] = await Shell.start(process)
        except BaseException:
            del self._shells[key]
            raise
        shell.ended.add_done_callback(lambda _: self._shells.pop(key, None))
        return shell, False


async def serve_shell(
    shell: Shell,
    use: SessionUse,
    receive: Receive,
    send: Send,
    *,
    accept: Mapping[str, Any],
    shell_id: str,
    known: bool,
) -> None:
    """Attach a client to a shell until one of them ends; a client that leaves finds the shell again.

    Args:
        shell: The shell.
        use: The use of its session.
        receive: The client's messages (ASGI).
        send: Sends to the client (ASGI).
        accept: The message that accepts the WebSocket, without its header fields.
        shell_id: The shell's id.
        known: Whether it already existed.
    """
    attached = shell.attach()
    tasks: list[asyncio.Task[Any]] = []
    try:
        headers: Headers = [*accept["headers"], (SHELL_HEADER, shell_id.encode())]
        await send({**accept, "headers": headers})
        await _send_status(send, metadata={"shellId": shell_id, "reconnected": known}, status="Success")
        loop = asyncio.get_running_loop()
        reading = loop.create_task(_to_shell(receive, send, attached, shell))
        writing = loop.create_task(_to_client(send, attached))
        replaced, over = loop.create_task(attached.replaced.wait()), loop.create_task(use.ended.wait())
        tasks += (reading, writing, replaced, over)
        await asyncio.wait(tasks, timeout=_LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
        if replaced.done():
            close: Close | None = Close(_REPLACED, "replaced by another connection")
        elif reading.done():
            close = reading.result()
        elif writing.done():
            close = writing.result() or await _end_of_shell(send, shell.ended.result(), use)
        elif over.done():
            close = await _end_of_session(send)
        else:
            close = Close(CloseCode.POLICY_VIOLATION, "connection TTL expired")
        if close is not None:
            # Even a client that reads nothing must not hold this up.
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                async with asyncio.timeout(_SOON_S):
                    await send({"type": "websocket.close", "code": close.code, "reason": close.reason})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        attached.close()


async def _to_client(send: Send, attached: Attachment) -> Close | None:
    """Pass the output on until the shell ends (None), or until the client has read nothing for too long."""
    while data := await attached.read():
        try:
            async with asyncio.timeout(_SLOW_S):
                await _send(send, _STDOUT, data)
        except TimeoutError:
            return Close(CloseCode.POLICY_VIOLATION, "write buffer overflow: the client does not read")
        except OSError:  # uvicorn's ClientDisconnected: `receive` says so
            await asyncio.get_running_loop().create_future()
    return None


async def _to_shell(receive: Receive, send: Send, attached: Attachment, shell: Shell) -> Close | None:
    """Handle the client's messages; return how to close the WebSocket, or None if the client has disconnected."""
    texts, times = 0, deque[float](maxlen=_FRAMES_A_SECOND)
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return None
        now = time.monotonic()
        if len(times) == _FRAMES_A_SECOND and now - times[0] < 1:
            return Close(CloseCode.POLICY_VIOLATION, f"more than {_FRAMES_A_SECOND} frames in a second")
        times.append(now)
        frame: bytes | None = message.get("bytes")
        if frame is None:
            texts += 1
            if texts == _TEXTS:
                return Close(CloseCode.UNSUPPORTED_DATA, "a shell accepts only binary messages")
            continue
        texts = 0
        if frame[:1] == bytes([_CLOSE]):
            shell.end()
            return Close(CloseCode.NORMAL_CLOSURE)
        if not _do(frame, attached):
            return Close(CloseCode.POLICY_VIOLATION, "write buffer overflow: the shell does not read its input")
        with contextlib.suppress(OSError):
            if frame[:1] == bytes([_HEARTBEAT]):
                await _send(send, _HEARTBEAT)
            elif problem := _problem(frame):
                await _send(send, _STDERR, f"Loom: {problem}\r\n".encode())


def _do(frame: bytes, attached: Attachment) -> bool:
    """Type the content of a frame, or resize the terminal; return False if too much input is waiting."""
    if frame[:1] == bytes([_STDIN]):
        return attached.write(frame[1:])
    if frame[:1] == bytes([_RESIZE]) and (size := _size(frame[1:])):
        attached.resize(*size)
    return True


def _problem(frame: bytes) -> str:
    """Return the fault of a frame; "" if it is valid."""
    if not frame:
        return "a message without a channel was ignored; its first byte names the channel"
    if frame[0] == _RESIZE and _size(frame[1:]) is None:
        return f'a resize was ignored; it is {{"width": N, "height": N}} with numbers from 1 to {_LARGEST_SIDE}'
    if frame[0] not in (_STDIN, _RESIZE, _HEARTBEAT):
        return f"a message on channel {frame[0]} was ignored; a client sends on 0 (input), 4 (size), 5 and 255"
    return ""


def _size(content: bytes) -> tuple[int, int] | None:
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    message = cast("Mapping[str, Any]", document)
    width, height = message.get("width"), message.get("height")
    if type(width) is int and type(height) is int and 0 < width <= _LARGEST_SIDE and 0 < height <= _LARGEST_SIDE:
        return width, height
    return None


async def _end_of_shell(send: Send, end: ShellEnd, use: SessionUse) -> Close:
    """Report to the client how the shell ended; without an exit code its session may have ended."""
    if end.code is None and not use.ended.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(use.ended.wait(), _SOON_S)
    if end.code is None and use.ended.is_set():
        return await _end_of_session(send)
    with contextlib.suppress(OSError):
        if end.code is None:
            message = f"The shell could not be started: {end.reason}" if end.reason else "The shell was killed"
            await _send_status(send, status="Failure", reason="InternalError", message=message, code=500)
            return Close(CloseCode.INTERNAL_ERROR, message)
        await _send_status(send, **_exit_status(end.code))
    return Close(CloseCode.NORMAL_CLOSURE)


async def _end_of_session(send: Send) -> Close:
    with contextlib.suppress(OSError):
        await _send(send, _CLOSE)
    return Close(CloseCode.GOING_AWAY, "the session has ended")


def _exit_status(code: int) -> dict[str, Any]:
    if code == 0:
        return {"status": "Success"}
    causes: Sequence[Mapping[str, str]] = [{"reason": "ExitCode", "message": str(code)}]
    # An interactive shell ignores other signals, and takes over the exit code of a command that they ended.
    if code - 128 in (signal.SIGHUP, signal.SIGKILL):
        causes = [*causes, {"reason": "Signal", "message": str(code - 128)}]
    message = f"command terminated with exit code {code}"
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": message, "details": {"causes": causes}}


async def _send_status(send: Send, *, metadata: Mapping[str, Any] | None = None, **members: Any) -> None:
    document = {"kind": "Status", "apiVersion": "v1", "metadata": metadata or {}, **members}
    await _send(send, _STATUS, json.dumps(document).encode())


async def _send(send: Send, channel: int, content: bytes = b"") -> None:
    await send({"type": "websocket.send", "bytes": bytes([channel]) + content})


def _refused(message: str) -> RefusedError:
    return RefusedError("RuntimeClientError", 424, message, error=message)
