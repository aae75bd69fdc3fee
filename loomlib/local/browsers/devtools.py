"""The Chrome DevTools Protocol over Chromium's pipe, shared by several clients.

The pipe has one connection. Each client gets a session of its own with the browser target
(`Target.attachToBrowserTarget`), whose messages carry its id: they are relayed without it, so that a client sees what
it would see on a connection of its own. No port listens, so neither a page nor another user can reach the protocol.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import deque
from typing import Any, cast

_MESSAGE_BYTES = 128 * 2**20
"""Largest message of the browser: a screenshot of the largest viewport takes about 30 MB."""
_WAITING_BYTES = 256 * 2**20
_END = b"\0"


class BrowserGoneError(Exception):
    """The browser has ended, or its client was ended because it reads too slowly."""


class CommandError(Exception):
    """The browser refused a command; the message is the browser's."""


class DevTools(asyncio.Protocol):
    """The connection to one browser.

    Attributes:
        ended: Set once the connection is closed because the browser has ended.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._channels: dict[str, DevToolsChannel] = {}
        self._may_write = asyncio.Event()
        self._may_write.set()

    @classmethod
    async def open(cls, sock: socket.socket) -> DevTools:
        """Take over a socket whose other end is the browser's pipe."""
        _, connection = await asyncio.get_running_loop().create_unix_connection(cls, sock=sock)
        return connection

    def close(self) -> None:
        """Close the connection; the browser then ends."""
        if self._transport is not None:
            self._transport.abort()

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the browser itself and return its result.

        Raises:
            BrowserGoneError: The browser ended.
            CommandError: It refused the command.
        """
        self._number = number = self._number + 1  # others send commands before this one is answered
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self.send({"id": number, "method": method, "params": parameters})
            return _result(await future)
        finally:
            self._waiting.pop(number, None)

    async def channel(self) -> DevToolsChannel:
        """Return a view of the browser for a new client.

        Raises:
            BrowserGoneError: The browser ended.
        """
        session = str((await self.command("Target.attachToBrowserTarget"))["sessionId"])
        channel = DevToolsChannel(self, session)
        self._channels[session] = channel
        return channel

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message, once the browser has read enough of the earlier ones.

        Raises:
            BrowserGoneError: The browser ended.
        """
        await self._may_write.wait()
        if self._transport is None or self.ended.is_set():
            raise BrowserGoneError("The browser has ended")
        self._transport.write(json.dumps(message).encode() + _END)

    async def leave(self, channel: DevToolsChannel) -> None:
        """End a client's view, with everything that it is attached to."""
        sessions = [session for session, owner in self._channels.items() if owner is channel]
        for session in sessions:
            del self._channels[session]
        if not self.ended.is_set() and sessions:
            try:
                await self.command("Target.detachFromTarget", sessionId=channel.session)
            except (BrowserGoneError, CommandError):
                return

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End all clients."""
        self.ended.set()
        self._may_write.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(BrowserGoneError("The browser has ended"))
        for channel in set(self._channels.values()):
            channel.end()

    def pause_writing(self) -> None:
        """Let senders wait."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Let senders continue."""
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        """Split the stream into messages and pass each to its recipient."""
        *messages, rest = data.split(_END)
        for part in messages:
            message = bytes(self._received) + part if self._received else part
            self._received.clear()
            self._take(message)
        self._received += rest
        if len(self._received) > _MESSAGE_BYTES:
            self.close()

    def _take(self, encoded: bytes) -> None:
        try:
            message: dict[str, Any] = json.loads(encoded)
        except (ValueError, RecursionError):  # a page can make a result that is nested too deeply
            self.close()
            return
        session = message.get("sessionId", "")
        if not session:
            waiting = self._waiting.get(message.get("id", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            return
        channel = self._channels.get(session)
        if channel is None:
            return
        parameters: dict[str, Any] = message.get("params") or {}
        if message.get("method") == "Target.attachedToTarget":
            self._channels[parameters["sessionId"]] = channel
        elif message.get("method") == "Target.detachedFromTarget":
            self._channels.pop(parameters["sessionId"], None)
        if session == channel.session:
            del message["sessionId"]
            encoded = json.dumps(message).encode()
        channel.put(encoded)


class DevToolsChannel:
    """One client's view of a browser.

    Attributes:
        session: The id of its session with the browser target.
    """

    def __init__(self, devtools: DevTools, session: str) -> None:
        self.session = session
        self._devtools = devtools
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._has_ended = False
        self._number = 0

    async def send(self, text: str | bytes) -> None:
        """Pass a client's message on.

        Raises:
            ValueError: It is not a message of the protocol.
            BrowserGoneError: The browser ended.
        """
        try:
            message = json.loads(text)
        except RecursionError as error:
            raise ValueError("the message is nested too deeply") from error
        if not isinstance(message, dict):
            raise ValueError("a message must be a JSON object")
        fields = cast("dict[str, Any]", message)
        await self._devtools.send({**fields, "sessionId": fields.get("sessionId") or self.session})

    async def receive(self) -> str:
        """Return the next message for the client.

        Raises:
            BrowserGoneError: The browser or the view has ended.
        """
        while not self._queue:
            if self._has_ended:
                raise BrowserGoneError("The browser has ended")
            self._arrived.clear()
            await self._arrived.wait()
        encoded = self._queue.popleft()
        self._bytes -= len(encoded)
        return encoded.decode()

    async def command(self, method: str, *, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events before it are dropped. Not for a channel that is relayed.

        Args:
            method: The command.
            session: The id of an attached target's session; the browser's own if empty.
            parameters: Its parameters.

        Raises:
            BrowserGoneError: The browser ended.
            CommandError: It refused the command.
        """
        self._number = number = self._number + 1
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        await self._devtools.send({**message, "sessionId": session or self.session})
        while True:
            answer = json.loads(await self.receive())
            if answer.get("id") == number:
                return _result(answer)

    async def close(self) -> None:
        """End the view."""
        self.end()
        await self._devtools.leave(self)

    def put(self, encoded: bytes) -> None:
        """Queue a message for the client; end a client that leaves too many unread."""
        if self._has_ended:
            return
        self._queue.append(encoded)
        self._bytes += len(encoded)
        if self._bytes > _WAITING_BYTES:
            self._queue.clear()
            self._has_ended = True
        self._arrived.set()

    def end(self) -> None:
        """Make `receive` raise `BrowserGoneError` once all messages have been read."""
        self._has_ended = True
        self._arrived.set()


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise CommandError(str(message["error"].get("message", "the browser refused the command")))
    return cast("dict[str, Any]", message.get("result", {}))
