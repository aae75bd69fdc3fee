"""Whether AgentCore's data plane accepts connections."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final
from urllib.parse import urlsplit

from ..aws import Clients

_TIMEOUT_S: Final = 10.0


async def accepts_connections(clients: Clients, region: str) -> bool:
    """Return whether the data plane accepts connections and, if it is the local one, responds to a request.

    While a process is being killed, the kernel still accepts its connections until the end, and then resets them; so a
    response is required. No request is sent to AWS's TLS endpoint.
    """
    address = urlsplit(await asyncio.to_thread(clients.data_endpoint, region))
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(address.hostname, port)
            try:
                if address.scheme != "http":
                    return True
                writer.write(f"HEAD / HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
                return bool(await reader.read(1))
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError):
        return False
