"""What MCP servers and A2A agents may answer without breaking a session, a stored call or a card."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from new_store import new_store

from loomlib.agents import new_session_id
from loomlib.agents.invocation_writer import InvocationWriter
from loomlib.agents.protocols import Callbacks, TranscriptEntry, read_transcript
from loomlib.agents.protocols.http_channel import HttpChannel, read_json
from loomlib.agents.protocols.mcp_session import McpSession
from loomlib.agents.protocols.schemas import check_arguments
from loomlib.agents.protocols.servers import server_entry
from loomlib.agents.protocols.stdio_channel import StdioChannel
from loomlib.aws.engine import shared_engine
from loomlib.aws.signing import plain_request
from loomlib.errors import MalformedResponseError
from loomlib.store import Store

HALF_EMOJI = "half an emoji: \ud83d"
NESTED = "[" * 60_000
OPENED: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
STDIO_SERVER = f"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {{"content": [{{"type": "text", "text": {HALF_EMOJI!r}}}]}}
        if message["method"] == "initialize":
            result = {OPENED!r}
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""
CARDS = {
    "/large": json.dumps({"name": "large", "description": "x" * 70_000}),
    "/too-large": json.dumps({"description": "x" * 4_000_000}),
    "/html": "<html>",
    "/list": "[1]",
    "/nested": NESTED,
    "/empty": "",
}


class Handler(BaseHTTPRequestHandler):
    """An MCP server at `/half-emoji` and `/nested`, and the cards of agents."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, CARDS[self.path])

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result: dict[str, Any] = {"content": [{"type": "text", "text": HALF_EMOJI}]}
        if message["method"] == "initialize":
            result = OPENED
        elif self.path == "/nested" and "id" in message:
            self.answer(500, NESTED)
            return
        self.answer(
            200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) if "id" in message else ""
        )

    def do_DELETE(self) -> None:
        self.answer(405, "")

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path / "store") as store:
        yield store


def read_card(url: str) -> Any:
    request = plain_request(url, {}, "GET", b"", {})
    return shared_engine().submit(read_json(request, what="GetAgentCard", on="planner")).result(60)


def open_session(store: Store, writer: InvocationWriter, server: str | list[str]) -> McpSession:
    engine, entry = shared_engine(), server_entry(store, server)
    channel = (
        HttpChannel(engine, partial(plain_request, server, {}), name=entry.name)
        if isinstance(server, str)
        else StdioChannel(server, name=entry.name)
    )
    session = McpSession(channel, entry=entry, writer=writer, callbacks=Callbacks(), session_id=new_session_id())
    engine.submit(session.open(timeout_s=60)).result(60)
    return session


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_half_an_emoji_in_a_result_is_stored_and_ends_no_session(store: Store, address: str, way: str) -> None:
    engine, writer = shared_engine(), InvocationWriter(store)
    server = [sys.executable, "-c", STDIO_SERVER] if way == "stdio" else f"{address}/half-emoji"
    session = open_session(store, writer, server)
    for _ in range(2):
        call = session.call("tools/call", {"name": "t", "arguments": {}}, prompt="x", timeout_s=60)
        record = engine.submit(call).result(60).record
        assert (record.status, record.failure, record.response) == ("complete", None, HALF_EMOJI)
        row = store.invocations.get(record.id)
        assert row is not None
        assert (row.status, row.response) == ("complete", "half an emoji: \ufffd")
        entries = read_transcript(store.invocations.events(record.id))
        assert [entry.direction for entry in entries] == ["sent", "received"]
    engine.submit(session.close()).result(60)
    writer.close()


def test_an_error_response_that_is_nested_too_deeply_is_a_failed_call(store: Store, address: str) -> None:
    engine, writer = shared_engine(), InvocationWriter(store)
    session = open_session(store, writer, f"{address}/nested")
    call = session.call("tools/call", {"name": "t", "arguments": {}}, prompt="x", timeout_s=60)
    record = engine.submit(call).result(60).record
    row = store.invocations.get(record.id)
    assert row is not None
    assert (row.status, row.failure) == ("error", "service_error")
    engine.submit(session.close()).result(60)
    writer.close()


def test_a_message_that_is_nested_too_deeply_to_be_stored_keeps_its_time_and_its_size() -> None:
    message: dict[str, Any] = {}
    for _ in range(50_000):
        message = {"a": message}
    (entry,) = read_transcript([TranscriptEntry(direction="received", at_ms=2.0, size=7, message=message).to_event()])
    assert (entry.direction, entry.at_ms, entry.size) == ("received", 2.0, 7)
    assert entry.message == {"text": "(nested too deeply to be stored)"}


def test_a_schema_that_refers_to_itself_accepts_everything() -> None:
    check_arguments({"a": 1}, {"$ref": "#"}, what="The arguments", on="t")


def test_a_large_card_is_read_in_full(address: str) -> None:
    assert read_card(f"{address}/large") == json.loads(CARDS["/large"])


@pytest.mark.parametrize("path", ["/html", "/list", "/nested", "/empty"])
def test_a_card_that_is_no_json_object_is_malformed(address: str, path: str) -> None:
    with pytest.raises(MalformedResponseError, match=r"GetAgentCard: the response is not a JSON object \(planner: b'"):
        read_card(f"{address}{path}")


def test_a_card_beyond_4_mb_is_malformed(address: str) -> None:
    with pytest.raises(MalformedResponseError, match=r"GetAgentCard: the response is longer than 4(\.0)? MB"):
        read_card(f"{address}/too-large")
