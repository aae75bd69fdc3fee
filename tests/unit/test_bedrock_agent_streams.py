"""Event streams of InvokeAgent that stall, break off or divide a character, and the connections of measured calls."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from new_store import new_store
from waiting import PATIENCE_S

from loomlib.agents import InvocationRecord
from loomlib.aws import Clients, Connection
from loomlib.aws.bedrock_agents import BedrockAgent, ask_bedrock_agent
from loomlib.settings import Settings
from loomlib.workbench.bedrock_agent_target import BedrockAgentTarget
from loomlib.workbench.context import Context
from loomlib.workbench.environment import AwsEnvironment

AGENT = BedrockAgent(
    id="AAAAAAAAAA", name="support", status="PREPARED", description="", latest_version="DRAFT", region="us-east-1",
    updated_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip
DESCRIPTION = json.dumps({"agent": {"agentArn": "arn:aws:bedrock:us-east-1:123456789012:agent/AAAAAAAAAA"}}).encode()


def header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()


def chunk(text: bytes) -> bytes:
    """An event with a piece of the answer, as an HTTP chunk."""
    payload = json.dumps({"bytes": base64.b64encode(text).decode()}).encode()
    headers = b"".join(
        header(f":{name}", value)
        for name, value in (("event-type", "chunk"), ("content-type", "application/json"), ("message-type", "event"))
    )
    start = struct.pack(">II", 12 + len(headers) + len(payload) + 4, len(headers))
    event = start + struct.pack(">I", binascii.crc32(start)) + headers + payload
    event += struct.pack(">I", binascii.crc32(event))
    return b"%x\r\n%s\r\n" % (len(event), event)


class Service:
    """Describes one agent, and answers InvokeAgent with `parts`; the end of `parts` follows unless it stalls."""

    def __init__(self) -> None:
        self.parts: list[bytes] = [chunk(b"Hello"), b"0\r\n\r\n"]
        self.stalls = False
        self.released = threading.Event()
        self.connections: set[tuple[str, int]] = set()
        service = self

        class Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(DESCRIPTION)))
                self.end_headers()
                self.wfile.write(DESCRIPTION)

            def do_POST(self) -> None:
                service.connections.add(self.client_address)
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/vnd.amazon.eventstream")
                self.send_header("x-amz-bedrock-agent-session-id", "s" * 36)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"".join(service.parts))
                if service.stalls:
                    service.released.wait(PATIENCE_S)
                self.close_connection = not service.parts[-1].startswith(b"0")

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    with closing(Service()) as running:
        yield running


@pytest.fixture
def clients(service: Service) -> Iterator[Clients]:
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    environment = {"AWS_ENDPOINT_URL": service.url, **keys}
    with closing(Clients(Connection(region="us-east-1", environment=environment))) as opened:
        yield opened


@pytest.fixture
def measure(clients: Clients, tmp_path: Path) -> Iterator[Callable[[float | None], InvocationRecord]]:
    store, settings = new_store(tmp_path / "store"), Settings(home=tmp_path)
    context = Context(where="aws", settings=settings, store=store, clients=clients, environment=AwsEnvironment())
    target = BedrockAgentTarget(context, AGENT)

    def measured(timeout_s: float | None) -> InvocationRecord:
        record = asyncio.run(target.measure("hi", session_id="s" * 36, timeout_s=timeout_s))
        (row,) = store.invocations.list(session_id="s" * 36, limit=1)
        assert row.status == record.status
        return record

    yield measured
    context.close()


@pytest.mark.parametrize(
    ("stalls", "part", "failure", "message"),
    [
        (True, chunk(b"Hello"), "timeout", "no further part of the answer in time"),
        (False, chunk(b"Hello"), "transport", "the answer ended before it was complete"),
        (False, chunk(b"Hello").replace(b"chunk", b"xhunk"), "malformed_stream", "Checksum mismatch"),
    ],
)
def test_a_stream_that_stalls_or_breaks_off_is_a_stored_failure(
    service: Service, measure: Callable[[float | None], InvocationRecord],
    stalls: bool, part: bytes, failure: str, message: str,
) -> None:  # fmt: skip
    service.parts, service.stalls = [part], stalls
    record = measure(5.0 if stalls else 60.0)  # the part itself must arrive in time
    assert (record.status, record.failure) == ("error", failure)
    assert message in (record.error_message or "")


def test_a_character_that_two_events_divide_is_complete(service: Service, clients: Clients) -> None:
    text = "café".encode()
    service.parts = [chunk(text[:4]), chunk(text[4:]), b"0\r\n\r\n"]
    assert ask_bedrock_agent(clients, AGENT, "hi").text == "café"


def test_measured_calls_with_a_time_limit_share_a_connection(
    service: Service, measure: Callable[[float | None], InvocationRecord]
) -> None:
    for _ in range(3):
        assert measure(60.0).status == "complete"
    assert len(service.connections) == 1
