"""The harness floor: what the measuring itself costs, from the same client against a process that does nothing."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib.errors import MalformedResponseError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from loomlib.aws.connection import Clients
    from loomlib.aws.engine import Engine
    from loomlib.aws.signing import SignedRequest

FLOOR_CALLS = 40
_UNTIMED = 5
_START_TIMEOUT_S = 20.0
_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/harness_floor-0000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The floor's calls in milliseconds, and the answer they got: its content type and its size in bytes.

    `reason` says why there is none, when there is none.
    """

    durations_ms: tuple[float, ...] = ()
    content_type: str = ""
    size_bytes: int = 0
    reason: str | None = None

    def stored(self) -> dict[str, Any]:
        """The floor as JSON-ready values."""
        return {
            "durations_ms": list(self.durations_ms),
            "content_type": self.content_type,
            "size_bytes": self.size_bytes,
            "reason": self.reason,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> Floor:
        """The floor from its stored form."""
        if not stored:
            return cls(reason="not measured")
        return cls(
            durations_ms=tuple(float(each) for each in stored["durations_ms"]),
            content_type=str(stored["content_type"]),
            size_bytes=int(stored["size_bytes"]),
            reason=stored["reason"],
        )


@asynccontextmanager
async def null_agent(content_type: str, size_bytes: int) -> AsyncGenerator[str, None]:
    """The address of a fresh process that answers every request at once with `size_bytes` of that content type.

    The process ends with the block, and by itself when this process dies: it watches its standard input.
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
            raise MalformedResponseError("The process for the harness floor did not start", on=str(server.name))
        yield f"http://127.0.0.1:{json.loads(line)['port']}"
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()


async def measure_floor(endpoint: str, *, calls: int = FLOOR_CALLS) -> tuple[float, ...]:
    """Durations in milliseconds of `calls` calls to `endpoint` by the client that measures agents, after a few untimed.

    Signed, streamed and stamped as a real call is; only the agent is missing.
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
