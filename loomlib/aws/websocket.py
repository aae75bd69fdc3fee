"""A WebSocket to a runtime, opened with a signed request (InvokeAgentRuntimeWithWebSocketStream)."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loomlib.errors import RequestTimeoutError, TransportError

from ..presentation.formats import time_limit
from .engine import Engine
from .errors import error_from_response, failure, unreachable
from .signing import SignedRequest

if TYPE_CHECKING:
    import aiohttp

    from .wire import WireBytes

MESSAGE_MAX_BYTES: Final = 64 * 2**20
_OPEN_TIMEOUT_S: Final = 60.0
"""A handshake can include a session's start, so it may take longer than a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A received message, or the end of the connection.

    Attributes:
        at_ns: When it was read, a reading of `time.perf_counter_ns`.
        data: Text or bytes; None at the end of the connection.
        close_code: The close code at the end; None when the connection broke.
    """

    at_ns: int
    data: str | bytes | None = field(repr=False)
    close_code: int | None = None


class WebSocket:
    """An open WebSocket. For the engine's loop only.

    Args:
        response: aiohttp's connection.
        opened_ns: When it was opened, a reading of `time.perf_counter_ns`.
        sent_ns: When the handshake was sent.
    """

    def __init__(self, response: aiohttp.ClientWebSocketResponse[bool], *, sent_ns: int, opened_ns: int) -> None:
        self._response = response
        self.sent_ns, self.opened_ns, self._closing = sent_ns, opened_ns, False
        # aiohttp has no public API for the headers of the handshake's response.
        headers = response._response.headers  # pyright: ignore[reportPrivateUsage]
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in headers.items()}

    def wire(self) -> WireBytes | None:
        """Return the bytes that the connection has carried since it was opened, the handshake included."""
        from .wire import counting_socket

        counting = counting_socket(self._response.get_extra_info("socket"))
        return None if counting is None else counting.carried

    async def send(self, data: str | bytes) -> int:
        """Send a message and return when it was handed to the network.

        Raises:
            TransportError: The connection is closed.
        """
        at_ns = time.perf_counter_ns()
        try:
            if isinstance(data, str):
                await self._response.send_str(data)
            else:
                await self._response.send_bytes(data)
        except (ConnectionError, RuntimeError) as error:
            raise failure(TransportError, "The WebSocket is closed", on=f"code {self._response.close_code}") from error
        return at_ns

    async def receive(self) -> Frame:
        """Wait for the next message, or for the end of the connection."""
        import aiohttp

        message = await self._response.receive()
        at_ns = time.perf_counter_ns()
        if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            return Frame(at_ns=at_ns, data=message.data)
        code = 1000 if self._closing else self._response.close_code
        broke = message.type is aiohttp.WSMsgType.ERROR or code == aiohttp.WSCloseCode.ABNORMAL_CLOSURE
        return Frame(at_ns=at_ns, data=None, close_code=None if broke else code)

    async def close(self) -> None:
        """Close the connection."""
        self._closing = not self._response.closed
        await self._response.close()


@asynccontextmanager
async def open_websocket(engine: Engine, request: SignedRequest, *, on: str) -> AsyncGenerator[WebSocket]:
    """Open a WebSocket and close it at the end of the block. Call it on the engine's loop.

    Args:
        engine: The engine whose loop is running.
        request: The signed request.
        on: The agent, for errors.

    Raises:
        AwsError: The handshake was rejected, or no connection was possible.
    """
    import aiohttp
    from yarl import URL

    from .wire import make_socket

    connector = aiohttp.TCPConnector(
        socket_factory=make_socket, ssl=ssl.create_default_context(cafile=request.ca_bundle)
    )
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
    async with aiohttp.ClientSession(connector=connector, trust_env=False, timeout=timeout) as session:
        sent_ns = time.perf_counter_ns()
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                response = await session.ws_connect(
                    URL(request.url, encoded=True),
                    headers=request.headers,
                    proxy=request.proxy,
                    max_msg_size=MESSAGE_MAX_BYTES,
                )
        except aiohttp.WSServerHandshakeError as error:
            headers = {name.lower(): value for name, value in (error.headers or {}).items()}
            raise error_from_response(
                error.status,
                what="Opening a WebSocket",
                on=on,
                code=headers.get("x-amzn-errortype", "").partition(":")[0],
                message=error.message,
                request_id=headers.get("x-amzn-requestid", ""),
            ) from error
        except TimeoutError as error:
            raise failure(
                RequestTimeoutError, f"The WebSocket was not open within {time_limit(_OPEN_TIMEOUT_S)}", on=on
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(f"No connection: {error}", request.endpoint, on=request.endpoint) from error
        try:
            yield WebSocket(response, sent_ns=sent_ns, opened_ns=time.perf_counter_ns())
        finally:
            await response.close()
