"""The measured request: one POST, its response timestamped as the socket delivers it; no retries, no decompression."""

from __future__ import annotations

import io
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

from loomlib.errors import RequestTimeoutError, TransportError

from ..presentation.formats import time_limit
from .engine import Engine
from .errors import failure, unreachable
from .signing import SignedRequest

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TraceConfig

    from .wire import WireBytes

CONNECT_TIMEOUT_S = 10.0
KEEP_ALIVE_S = 15.0
_LARGE_BODY = 2**19
_READ_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Arrival:
    """Bytes of the body, and the time (`time.perf_counter_ns`) at which the socket delivered them."""

    at_ns: int
    data: bytes = field(repr=False)


@dataclass(slots=True)
class _Connecting:
    """Filled by aiohttp's tracing while the connection is opened."""

    started_ns: int = 0
    ended_ns: int = 0
    reused: bool = False


class HttpResponse:
    """A response whose head has arrived. `sent_ns` and `head_ns` are readings of `time.perf_counter_ns`.

    `connect_ms` is the time to open the connection (DNS, TCP, TLS), 0 for a reused one. It falls between `sent_ns` and
    the first byte, so a time to first byte includes it.
    """

    def __init__(self, response: ClientResponse, sent_ns: int, head_ns: int, connecting: _Connecting) -> None:
        self._response = response
        self.sent_ns, self.head_ns = sent_ns, head_ns
        self.status: int = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.connection_reused = connecting.reused
        self.connect_ms = max(0, connecting.ended_ns - connecting.started_ns) / 1e6

    def wire(self) -> WireBytes | None:
        """Return the bytes that the connection carried for this request so far, the head and TLS records included.

        The bytes for opening a new connection count towards its first request.
        """
        counting = getattr(self._response, "counting", None)
        return None if counting is None else counting.carried - counting.handed_out

    async def arrivals(self) -> AsyncIterator[Arrival]:
        """Yield the body as it arrives, one `Arrival` for each read from the socket."""
        read = self._response.content.readany
        while data := await read():
            yield Arrival(time.perf_counter_ns(), data)


@asynccontextmanager
async def stream_invocation(
    engine: Engine,
    request: SignedRequest,
    *,
    read_timeout_s: float,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    on_send: Callable[[int], None] | None = None,
) -> AsyncGenerator[HttpResponse]:
    """Send `request` and yield its response. Call it on the engine's loop.

    Leaving the block before the end of the body closes the connection.

    Args:
        engine: The engine whose loop is running.
        request: The signed request.
        read_timeout_s: Seconds to wait for each read; it does not limit the whole response.
        connect_timeout_s: Seconds to wait for a connection.
        on_send: Called with the time (`time.perf_counter_ns`) right before the request is handed to the network.
            Credentials, signature and TLS settings are prepared before it and are not part of any measured time.

    Raises:
        TransportError: No connection was possible, or it was closed before the response was complete.
        RequestTimeoutError: A timeout expired.
    """
    import aiohttp

    session = await engine.session(
        f"{request.endpoint} {request.ca_bundle or ''}", lambda: _new_session(request.ca_bundle)
    )
    connecting = _Connecting()
    # aiohttp requires a file where it would copy a large body on the loop.
    body = io.BytesIO(request.body) if len(request.body) > _LARGE_BODY else request.body
    try:
        from yarl import URL

        url = URL(request.url, encoded=True)  # the ARN stays percent-encoded: the signature covers this spelling
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=connect_timeout_s, sock_read=read_timeout_s, ceil_threshold=3600
        )
        sent_ns = time.perf_counter_ns()
        if on_send is not None:
            on_send(sent_ns)
        async with session.request(
            request.method,
            url,
            data=body or None,
            headers=request.headers,
            proxy=request.proxy,
            timeout=timeout,
            allow_redirects=False,
            trace_request_ctx=connecting,
        ) as response:
            try:
                yield HttpResponse(response, sent_ns, time.perf_counter_ns(), connecting)
            finally:
                if (counting := getattr(response, "counting", None)) is not None:
                    counting.handed_out = counting.carried
    except aiohttp.ConnectionTimeoutError as error:
        raise failure(
            RequestTimeoutError,
            f"No connection within {time_limit(connect_timeout_s)}",
            on=request.endpoint,
            code="connect",
        ) from error
    except (aiohttp.SocketTimeoutError, TimeoutError) as error:
        raise failure(
            RequestTimeoutError, f"No data received for {time_limit(read_timeout_s)}", on=request.endpoint
        ) from error
    except aiohttp.ClientPayloadError as error:
        raise failure(TransportError, "The response ended before it was complete", on=request.endpoint) from error
    except aiohttp.ServerDisconnectedError as error:
        raise failure(TransportError, "The connection was closed without a response", on=request.endpoint) from error
    except aiohttp.ClientConnectorError as error:
        why = "nothing answers" if isinstance(error.os_error, ConnectionRefusedError) else error.strerror or error
        if not request.is_agentcore:
            raise TransportError(f"No connection: {why}", on=request.endpoint) from error
        raise unreachable(f"No connection: {why}", request.endpoint, on=request.endpoint) from error
    except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
        raise failure(TransportError, f"The connection broke: {error}", on=request.endpoint) from error


def _new_session(ca_bundle: str | None) -> ClientSession:
    import aiohttp

    from .wire import CountedResponse, make_socket

    connector = aiohttp.TCPConnector(
        socket_factory=make_socket,
        limit=0,  # waiting in a connection queue would become part of the measured time
        keepalive_timeout=KEEP_ALIVE_S,
        use_dns_cache=False,  # a new connection resolves the name again: connect_ms is the time of a first connection
        ssl=ssl.create_default_context(cafile=ca_bundle),
    )
    return aiohttp.ClientSession(
        connector=connector,
        response_class=CountedResponse,
        auto_decompress=False,
        trust_env=False,  # proxies come with the request; ~/.netrc must not add an Authorization header
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_AT_ONCE,
        trace_configs=[_tracing()],
    )


def _tracing() -> TraceConfig:
    import aiohttp

    tracing = aiohttp.TraceConfig()

    async def started(_session: ClientSession, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.started_ns = time.perf_counter_ns()

    async def ended(_session: ClientSession, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.ended_ns = time.perf_counter_ns()

    async def reused(_session: ClientSession, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.reused = True

    tracing.on_connection_create_start.append(started)
    tracing.on_connection_create_end.append(ended)
    tracing.on_connection_reuseconn.append(reused)
    return tracing
