"""Changes to uvicorn in a session: it checks less often whether it should stop, and it always reports a client address.

`bootstrap` loads this module in the agent's process, after uvicorn; it uses the standard library only.
"""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False  # `typing` itself takes two milliseconds
if TYPE_CHECKING:
    from types import FrameType, ModuleType

    from uvicorn.server import Server


def look_once_a_second(server: Server) -> None:
    """Make an agent's server check once a second whether it should stop, and at once after a signal.

    uvicorn checks ten times a second, so a hundred idle sessions use a fifth of a core. Call it in the server's
    event loop, before it starts.
    """
    loop, stopping, handle_exit = asyncio.get_running_loop(), asyncio.Event(), server.handle_exit

    def handle_exit_at_once(sig: int, frame: FrameType | None) -> None:
        handle_exit(sig, frame)
        loop.call_soon_threadsafe(stopping.set)

    async def main_loop() -> None:
        counter = 0  # of tenths of a second: at each multiple of ten uvicorn renews the header `date`
        while not await server.on_tick(counter):
            counter = (counter + 10) % 864_000
            try:
                await asyncio.wait_for(stopping.wait(), 1)
            except asyncio.TimeoutError:  # noqa: UP041 (another class before Python 3.11)
                continue
            stopping.clear()

    server.handle_exit = handle_exit_at_once
    server.main_loop = main_loop


def give_addresses(module: ModuleType) -> None:
    """Make uvicorn report loopback addresses for connections over a Unix socket, which have none.

    Agents read `request.client.host`, and on AWS it is always present.
    """
    remote, local = module.get_remote_addr, module.get_local_addr

    def get_remote_addr(transport: object) -> tuple[str, int]:
        return remote(transport) or ("127.0.0.1", 0)

    def get_local_addr(transport: object) -> tuple[str, int]:
        address = local(transport)
        return address if address is not None and address[1] is not None else ("127.0.0.1", 8080)

    vars(module).update(get_remote_addr=get_remote_addr, get_local_addr=get_local_addr)
