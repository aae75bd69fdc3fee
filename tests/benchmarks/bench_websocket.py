"""WebSockets: the round trip of a message through the service, beside one on the agent's own process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median
from urllib.parse import quote

from websockets.sync.client import ClientConnection, connect

from ..signed_requests import signed_headers
from .laboratory import Laboratory, new_session
from .table import Row, ms

ECHO = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.websocket
async def echo(websocket, context):
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)

if __name__ == "__main__":
    app.run()
"""


def round_trips(laboratory: Laboratory, n: int = 1_000) -> Iterator[Row]:
    """Messages of 1 KB to an agent that sends them back, in turns on both WebSockets."""
    laboratory.deploy("sockets", ECHO)
    session = new_session()
    path = f"/runtimes/{quote(laboratory.arns['sockets'], safe='')}/ws"
    fields = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session}
    headers = signed_headers(laboratory.state, "GET", path, headers=fields)
    served: list[float] = []
    bare: list[float] = []
    with ExitStack() as sockets:
        address = f"ws://127.0.0.1:{laboratory.state.port}{path}"
        through = sockets.enter_context(connect(address, additional_headers=headers))  # it starts the session
        address = f"ws://127.0.0.1:{laboratory.session_port(session)}/ws"
        direct = sockets.enter_context(connect(address, compression=None))
        for turn in range(n + 50):
            round_trips_ms = _round_trip_ms(through), _round_trip_ms(direct)
            if turn >= 50:
                served.append(round_trips_ms[0])
                bare.append(round_trips_ms[1])
    laboratory.end_session("sockets", session)
    added = median(served) - median(bare)
    yield Row(
        what="WebSocket: round trip of 1 KB, beside one on the agent",
        ours=ms(served),
        reference=ms(bare),
        compared=f"{added:+.2f} ms",
        aim="≤ + 1 ms",
        met=added <= 1,
        n=n,
    )


def _round_trip_ms(socket: ClientConnection) -> float:
    start = time.perf_counter()
    socket.send("x" * 1_024)
    socket.recv()
    return (time.perf_counter() - start) * 1e3
