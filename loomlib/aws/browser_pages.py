"""Pages of a browser session, opened over its automation stream (the Chrome DevTools Protocol)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from loomlib.errors import RequestRejectedError, RequestTimeoutError, TransportError

from ..json_values import as_list, as_mapping, as_text, parse_object
from ..presentation.formats import time_limit
from .browsers import automation_headers
from .connection import Clients
from .engine import Engine, shared_engine
from .errors import failure
from .signing import plain_request
from .websocket import WebSocket, open_websocket

_LOADED: Final = "Page.loadEventFired"


def open_page(clients: Clients, automation: str, url: str, *, timeout_s: float = 30.0) -> str:
    """Open an address in the first page of a session, wait until it is loaded, and return its title.

    Args:
        clients: The AWS clients of a connection.
        automation: The address of the session's automation stream.
        url: The address to open.
        timeout_s: The longest wait.

    Raises:
        RequestRejectedError: The browser cannot open the address.
        RequestTimeoutError: The page did not load in time.
        TransportError: The connection to the browser broke.
    """
    engine, headers = shared_engine(), automation_headers(clients, automation)
    return engine.submit(_open(engine, automation, headers, url, clients.ca_bundle(), timeout_s)).result()


async def _open(
    engine: Engine, automation: str, headers: Mapping[str, str], url: str, ca_bundle: str | None, timeout_s: float
) -> str:
    from dataclasses import replace

    request = replace(plain_request(automation, headers, "GET", b"", {}), ca_bundle=ca_bundle, is_agentcore=True)
    try:
        async with asyncio.timeout(timeout_s), open_websocket(engine, request, on=url) as socket:
            return await _Devtools(socket, url).open()
    except TimeoutError as error:
        raise failure(
            RequestTimeoutError, f"The page did not load within {time_limit(timeout_s)}", on=url[:200]
        ) from error


class _Devtools:
    """Commands of the protocol, one after the other."""

    def __init__(self, socket: WebSocket, url: str) -> None:
        self._socket, self._url, self._count = socket, url, 0
        self._events: set[str] = set()

    async def open(self) -> str:
        """Open the address in the first page and return the page's title."""
        targets = as_list((await self._call("Target.getTargets")).get("targetInfos")) or []
        pages = [as_mapping(target) for target in targets if as_mapping(target).get("type") == "page"]
        target = pages[0] if pages else await self._call("Target.createTarget", url="about:blank")
        attached = await self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        session = as_text(attached.get("sessionId"))
        await self._call("Page.enable", session)
        self._events.clear()
        opened = await self._call("Page.navigate", session, url=self._url)
        if opened.get("errorText"):
            raise self._refused(as_text(opened["errorText"]))
        while opened.get("loaderId") and _LOADED not in self._events:
            await self._message()
        title = await self._call("Runtime.evaluate", session, expression="document.title", returnByValue=True)
        return as_text(as_mapping(title.get("result")).get("value"))

    async def _call(self, method: str, session: str = "", **parameters: Any) -> Mapping[str, Any]:
        self._count += 1
        command: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        await self._socket.send(json.dumps(command | ({"sessionId": session} if session else {})))
        while (message := await self._message()).get("id") != self._count:
            pass
        if "error" in message:
            raise self._refused(as_text(as_mapping(message["error"]).get("message")))
        return as_mapping(message.get("result"))

    async def _message(self) -> Mapping[str, Any]:
        frame = await self._socket.receive()
        if frame.data is None:
            raise failure(TransportError, "The browser closed the connection", on=self._url[:200])
        message = parse_object(frame.data)
        if "method" in message:
            self._events.add(as_text(message["method"]))
        return message

    def _refused(self, reason: str) -> RequestRejectedError:
        return RequestRejectedError(
            f"The browser cannot open the page: {reason}",
            on=self._url[:200],
            try_="an address that the browser can reach, such as https://example.com",
        )
