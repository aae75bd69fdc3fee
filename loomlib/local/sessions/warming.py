"""The build hook of a version, a request that warms up a process: before a snapshot, or in a session that is booted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from ..contract import RuntimeVersion
from .commands import connect_port
from .connections import Connections
from .lifeline import SessionProcess
from .wire import AgentConnection, ConnectionClosedError, NotHttpError

WARM_UP_WITHIN_S = 120.0
"""API reference, BuildLifecycleHooks: the hook must complete within 120 seconds."""


class WarmUpError(Exception):
    """A warm-up hook failed; the message is a sentence for the client."""


def name_of_hook(runtime: RuntimeVersion) -> str:
    """Return the request by which a version's hook is called, such as `POST /warmup`."""
    port = "" if runtime.warm_up_port == runtime.port else f" at port {runtime.warm_up_port}"
    return f"POST {runtime.warm_up}{port}"


def boot_note(runtime: RuntimeVersion, reasons: Sequence[str]) -> str:
    """Return the log line of a session that is booted although its platform restores sessions."""
    note = f"Loom: this session was booted and not restored: {'; '.join(reasons)}"
    if runtime.warm_up:
        note += f". So the warm-up hook {name_of_hook(runtime)} is called in this session before its first request"
    return note


async def call_hook(
    runtime: RuntimeVersion,
    process: SessionProcess,
    connections: Connections,
    explain: Callable[[Exception], Awaitable[str]],
) -> None:
    """Call a version's hook once.

    Args:
        runtime: The version.
        process: A process of it that serves.
        connections: The connections to its own port.
        explain: Returns a sentence that explains why a connection failed.

    Raises:
        WarmUpError: It did not succeed within `WARM_UP_WITHIN_S`.
    """
    port, hook_name = runtime.warm_up_port, name_of_hook(runtime)
    try:
        async with asyncio.timeout(WARM_UP_WITHIN_S):
            connection = await (connections.take() if port == runtime.port else _connect(process, runtime))
            try:
                headers = {"host": f"127.0.0.1:{port}", "content-type": "application/json"}
                head = await connection.ask("POST", runtime.warm_up, headers, b"{}")
                while await connection.next_chunk() is not None:
                    continue
            finally:
                if port == runtime.port:
                    connections.give_back(connection)
                else:
                    connection.close()
    except TimeoutError as failure:
        raise WarmUpError(
            f"The warm-up hook failed: {hook_name} did not succeed within {WARM_UP_WITHIN_S:g} s"
        ) from failure
    except (ConnectionClosedError, NotHttpError) as failure:
        raise WarmUpError(f"The warm-up hook failed: {hook_name}: {await explain(failure)}") from failure
    if not 200 <= head.status < 300:
        raise WarmUpError(f"The warm-up hook failed: {hook_name} answered {head.status}")


async def _connect(process: SessionProcess, runtime: RuntimeVersion) -> AgentConnection:
    """Return a connection to another port of a process's loopback."""
    port = runtime.warm_up_port
    try:
        connected = await connect_port(process, port)
    except ConnectionRefusedError as failure:  # the process itself answered, so it has not ended
        raise WarmUpError(
            f"The warm-up hook failed: {name_of_hook(runtime)}: nothing accepts connections at port {port}: {failure}"
        ) from failure
    except OSError as failure:
        raise ConnectionClosedError(f"nothing accepts connections at port {port}: {failure}") from failure
    _, connection = await asyncio.get_running_loop().create_connection(AgentConnection, sock=connected)
    return connection
