"""The streams of a browser session: automation over a WebSocket, and a live view as a page of screenshots."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from ..resources import Place
from ..wire import Receive, RefusedError, Send, conflict, send_body
from .devtools import BrowserGoneError, CommandError, DevToolsChannel
from .plane import BrowserPlane
from .session import BrowserSession

PREFIX: Final = "/browser-streams/"
ACTIONS: Final = {"automation": "ConnectBrowserAutomationStream", "live-view": "ConnectBrowserLiveViewStream"}
"""IAM's names of the actions that open a stream."""
_NORMAL, _GOING_AWAY, _BAD_MESSAGE = 1000, 1001, 1007
_REASON_BYTES: Final = 123  # RFC 6455, section 5.5
_REFRESH_S: Final = 2
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="{refresh}">'
    "<title>Browser session {session}</title><style>body{{margin:0;font:14px sans-serif}}p{{margin:8px}}"
    "img{{max-width:100%;border-top:1px solid #888}}</style>"
    "<p>Browser session {session}: a screenshot every {refresh} seconds. It shows the page only; AWS streams video "
    "that takes mouse and keyboard.</p>"
    '<img alt="The page of browser session {session}" src="data:image/jpeg;base64,{image}"></html>'
)
_PAGE_HEADERS: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; img-src data:; style-src 'unsafe-inline'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass(frozen=True, slots=True)
class StreamPath:
    """The parts of a stream's path: the browser, the session, and "automation" or "live-view"."""

    browser: str
    session: str
    kind: str

    @classmethod
    def of(cls, raw_path: str) -> StreamPath | None:
        """Return the parts of a path; None for a path of another form."""
        parts = raw_path.split("/")
        if len(parts) != 6 or parts[1] != "browser-streams" or parts[3] != "sessions" or parts[5] not in ACTIONS:
            return None
        return cls(unquote(parts[2]), parts[4], parts[5])

    @property
    def action(self) -> str:
        """IAM's name of the action that opens the stream."""
        return f"bedrock-agentcore:{ACTIONS[self.kind]}"


class BrowserStreams:
    """Answers the streams of all sessions.

    Args:
        plane: The data plane, which manages the sessions.
    """

    def __init__(self, plane: BrowserPlane) -> None:
        self._plane = plane

    def arn(self, path: StreamPath, place: Place) -> str:
        """Return the ARN of a stream's browser."""
        return self._plane.browser(path.browser, place).arn or "*"

    async def automate(self, path: StreamPath, place: Place, receive: Receive, send: Send) -> None:
        """Relay a WebSocket of the Chrome DevTools Protocol to its end.

        Raises:
            RefusedError: The session is not running, or its automation stream is disabled.
        """
        session = self._plane.ready_session(path.browser, path.session, place)
        if path.kind != "automation":
            raise RefusedError("UnknownOperationException", 404, "The live view is a page, not a WebSocket")
        if not session.automated.is_set():
            raise conflict(f"The automation stream of browser session {session.id} is DISABLED")
        try:
            channel = await session.channel()
        except (BrowserGoneError, CommandError) as failure:
            raise conflict(f"Browser session {session.id} is TERMINATED: {failure}") from failure
        try:
            await receive()  # websocket.connect
            await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
            await _relay(session, channel, receive, send)
        finally:
            await channel.close()

    async def show(self, path: StreamPath, place: Place, method: str, send: Send) -> None:
        """Answer with the live view.

        Raises:
            RefusedError: The session is not running, or the request is not for a page.
        """
        session = self._plane.ready_session(path.browser, path.session, place)
        if path.kind != "live-view" or method != "GET":
            raise RefusedError("UnknownOperationException", 404, "The automation stream is a WebSocket")
        try:
            image = await session.screenshot("jpeg", quality=60)
        except BrowserGoneError as failure:
            raise conflict(f"Browser session {session.id} is TERMINATED: {failure}") from failure
        except CommandError as failure:
            raise conflict(f"Browser session {session.id} has no page to show: {failure}") from failure
        page = _PAGE.format(session=session.id, refresh=_REFRESH_S, image=base64.b64encode(image).decode())
        await send_body(send, page.encode(), 200, _PAGE_HEADERS)


async def _relay(session: BrowserSession, channel: DevToolsChannel, receive: Receive, send: Send) -> None:
    from_client = asyncio.ensure_future(_to_browser(session, channel, receive))
    to_client = asyncio.ensure_future(_to_client(session, channel, send))
    tasks = (from_client, to_client)
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        close = next((task.result() for task in done), None)
        if close is not None:
            code, reason = close
            reason = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
            with contextlib.suppress(OSError, RuntimeError):  # the client has gone as well
                await send({"type": "websocket.close", "code": code, "reason": reason})
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_browser(session: BrowserSession, channel: DevToolsChannel, receive: Receive) -> tuple[int, str] | None:
    """Pass a client's commands on; return how to close the WebSocket; None if the client has closed it."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return None
        await session.automated.wait()
        try:
            await channel.send(message.get("text") or message.get("bytes") or b"")
        except ValueError as failure:
            return _BAD_MESSAGE, f"Not a message of the Chrome DevTools Protocol: {failure}"
        except BrowserGoneError as failure:
            return _GOING_AWAY, session.why_ended or str(failure)


async def _to_client(session: BrowserSession, channel: DevToolsChannel, send: Send) -> tuple[int, str] | None:
    """Pass the browser's messages on; return how to close the WebSocket."""
    try:
        while True:
            await send({"type": "websocket.send", "text": await channel.receive()})
    except BrowserGoneError as failure:
        return (_NORMAL if session.why_ended else _GOING_AWAY), session.why_ended or str(failure)
    except OSError:  # the client has disconnected, which `receive` reports
        await asyncio.get_running_loop().create_future()
        raise
