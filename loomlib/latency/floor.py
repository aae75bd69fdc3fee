"""The harness floor: the latency of the same client against a process that does nothing."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib.errors import MalformedResponseError

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.engine import Engine
    from loomlib.aws.signing import SignedRequest

FLOOR_CALLS = 40
_UNTIMED = 5
_START_TIMEOUT_S = 20.0
_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/harness_floor-0000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The harness floor of a study.

    Attributes:
        durations_ms: Durations of its calls, in milliseconds.
        content_type: Content type of the answers.
        size_bytes: Size of the answers.
        reason: Why there are no durations; None when there are.
    """

    durations_ms: tuple[float, ...] = ()
    content_type: str = ""
    size_bytes: int = 0
    reason: str | None = None

    def stored(self) -> dict[str, Any]:
        """Return the floor as JSON-ready values."""
        return {
            "durations_ms": list(self.durations_ms),
            "content_type": self.content_type,
            "size_bytes": self.size_bytes,
            "reason": self.reason,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> Floor:
        """Return a stored floor; one without durations when nothing is stored."""
        if not stored:
            return cls(reason="not measured")
        return cls(
            durations_ms=tuple(float(duration) for duration in stored["durations_ms"]),
            content_type=str(stored["content_type"]),
            size_bytes=int(stored["size_bytes"]),
            reason=stored["reason"],
        )


@asynccontextmanager
async def null_agent(content_type: str, size_bytes: int) -> AsyncGenerator[str, None]:
    """Run a process that answers every request at once, and yield its address.

    The process ends with the block, or when this process ends: it watches its standard input.

    Args:
        content_type: Content type of its answers.
        size_bytes: Size of its answers.
    """
    server = Path(__file__).with_name("floor_server.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(server), "--content-type", content_type, "--size", str(size_bytes)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_TIMEOUT_S)
        if not line:
            raise MalformedResponseError(
                "The process for the harness floor did not start",
                on=str(server.name),
                try_="loom doctor, then the study again",
            )
        yield f"http://127.0.0.1:{json.loads(line)['port']}"
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()


async def measure_floor(endpoint: str, *, calls: int = FLOOR_CALLS) -> tuple[float, ...]:
    """Time calls to `endpoint` by the client that measures agents, after a few untimed ones.

    They are signed, streamed and timed as real calls are; only the agent is missing.

    Args:
        endpoint: Address of the process that does nothing.
        calls: Number of timed calls.

    Returns:
        Durations in milliseconds.
    """
    from loomlib.aws.connection import Clients, Connection
    from loomlib.aws.engine import shared_engine

    environment = {
        "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": endpoint,
        "AWS_ACCESS_KEY_ID": "HARNESSFLOOR",
        "AWS_SECRET_ACCESS_KEY": uuid.uuid4().hex,
    }
    clients = Clients(Connection(region="us-east-1", environment=environment))
    request = await asyncio.to_thread(_request, clients)
    engine = shared_engine()
    timed = [await asyncio.wrap_future(engine.submit(_one_call(engine, request))) for _ in range(_UNTIMED + calls)]
    return tuple(timed[_UNTIMED:])


def _request(clients: Clients) -> SignedRequest:
    from loomlib.aws.signing import sign_invocation

    body = json.dumps({"prompt": "x"}).encode()
    return sign_invocation(
        clients, arn=_ARN, region="us-east-1", qualifier="DEFAULT", session_id=uuid.uuid4().hex * 2, body=body
    )


async def _one_call(engine: Engine, request: SignedRequest) -> float:
    from loomlib.aws.transport import stream_invocation

    async with stream_invocation(engine, request, read_timeout_s=10) as answer:
        last_ns = answer.head_ns
        async for arrival in answer.arrivals():
            last_ns = arrival.at_ns
    return (last_ns - answer.sent_ns) / 1e6
