"""What MCP servers and A2A agents may answer without breaking a session, a stored call or a card."""

from __future__ import annotations

import asyncio
import json
import math
import queue
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from new_store import new_store
from waiting import PATIENCE_S

from loomlib.agents import entry_from_row, new_session_id
from loomlib.agents.invocation_writer import InvocationWriter
from loomlib.agents.protocols import Callbacks, TranscriptEntry, read_transcript
from loomlib.agents.protocols.a2a_session import A2aSession
from loomlib.agents.protocols.http_channel import HttpChannel, MakeRequest, read_json
from loomlib.agents.protocols.mcp_session import McpSession
from loomlib.agents.protocols.measuring import CallOutcome
from loomlib.agents.protocols.running import Running
from loomlib.agents.protocols.schemas import check_arguments
from loomlib.agents.protocols.servers import server_entry
from loomlib.agents.protocols.socket_session import SocketSession
from loomlib.agents.protocols.stdio_channel import StdioChannel
from loomlib.aws import Clients, Connection
from loomlib.aws.engine import shared_engine
from loomlib.aws.signing import SignedRequest, plain_request
from loomlib.errors import InvalidArgumentsError, MalformedResponseError, ProtocolError
from loomlib.store import Store

AGENT_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/talker-AbC123dEf4"
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
WORKING = {"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "working"}, "final": False}
ANSWERS = {
    "/resumable": (
        200,
        "text/event-stream",
        "id: e1\ndata: \n\nid: e2\n"
        'data: {"jsonrpc": "2.0", "id": ID, "result": {"content": [], "tools": [{"name": "t"}]}}\n\n',
    ),
    "/ended": (
        404,
        "application/json",
        '{"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "The session has ended"}}',
    ),
    "/cut": (200, "text/event-stream", f'data: {{"jsonrpc": "2.0", "id": ID, "result": {json.dumps(WORKING)}}}\n\n'),
    "/canceled": (
        200,
        "application/json",
        '{"jsonrpc": "2.0", "id": ID, "result": {"kind": "task", "id": "t", "status": {"state": "canceled"}}}',
    ),
}
"""Statuses, content types and bodies of answers; ID stands for the request's id."""
ARRIVED: queue.SimpleQueue[str] = queue.SimpleQueue()
"""The methods that arrived at `/hanging`, where no answer follows."""
CLOSED: queue.SimpleQueue[str] = queue.SimpleQueue()
"""The methods of requests whose connection the client closed before the answer ended."""
METHODS: list[str] = []
"""The methods that arrived at `/noted`."""


class Handler(BaseHTTPRequestHandler):
    """MCP servers, an A2A agent at `/endless`, and the cards of agents."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, CARDS[self.path])

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result: dict[str, Any] = {"content": [{"type": "text", "text": HALF_EMOJI}]}
        if self.path == "/noted":
            METHODS.append(message["method"])
        if message["method"] == "initialize":
            result = OPENED
        elif self.path in ANSWERS and "id" in message:
            status, kind, body = ANSWERS[self.path]
            self.answer(status, body.replace("ID", str(message["id"])), kind)
            return
        elif self.path == "/endless":
            self.begin_stream({"jsonrpc": "2.0", "id": message["id"], "result": WORKING})
            self.wait_until_closed(message["method"])
            return
        elif self.path == "/failing" and "id" in message:
            failed = {"content": [{"type": "text", "text": "no"}], "isError": True}
            self.begin_stream({"jsonrpc": "2.0", "id": message["id"], "result": failed})
            self.rfile.read(1)  # the stream stays open until the client closes it
            return
        elif self.path == "/hanging" and message["method"] in ("tools/call", "notifications/cancelled"):
            ARRIVED.put(message["method"])
            self.wait_until_closed(message["method"])
            return
        elif self.path == "/nested" and "id" in message:
            self.answer(500, NESTED)
            return
        self.answer(
            200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) if "id" in message else ""
        )

    def begin_stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(message)}\n\n".encode())

    def wait_until_closed(self, method: str) -> None:
        self.close_connection = True
        self.connection.settimeout(PATIENCE_S)
        if self.rfile.read(1) == b"":
            CLOSED.put(method)

    def do_DELETE(self) -> None:
        self.answer(405, "")

    def answer(self, status: int, text: str, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
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
    return shared_engine().submit(read_json(request, what="GetAgentCard", on="planner")).result(PATIENCE_S)


def open_session(
    store: Store, writer: InvocationWriter, server: str | list[str], make: MakeRequest | None = None
) -> McpSession:
    engine, entry = shared_engine(), server_entry(store, server)
    channel = (
        HttpChannel(engine, make or partial(plain_request, server, {}), name=entry.name)
        if isinstance(server, str)
        else StdioChannel(server, name=entry.name)
    )
    session = McpSession(channel, entry=entry, writer=writer, callbacks=Callbacks(), session_id=new_session_id())
    engine.submit(session.open(timeout_s=60)).result(PATIENCE_S)
    return session


@pytest.fixture
def writer(store: Store) -> Iterator[InvocationWriter]:
    writer = InvocationWriter(store)
    yield writer
    writer.close()


def call_tool(session: McpSession, *, timeout_s: float = 60.0) -> CallOutcome:
    call = session.call("tools/call", {"name": "t", "arguments": {}}, prompt="x", timeout_s=timeout_s)
    return shared_engine().submit(call).result(PATIENCE_S)


def open_a2a(store: Store, writer: InvocationWriter, url: str) -> A2aSession:
    engine, entry = shared_engine(), server_entry(store, url)
    channel = HttpChannel(engine, partial(plain_request, url, {}), name=entry.name)
    session = A2aSession(channel, entry=entry, writer=writer, session_id=new_session_id())
    engine.submit(session.open()).result(PATIENCE_S)
    return session


def list_tools(session: McpSession) -> list[Mapping[str, Any]]:
    return shared_engine().submit(session.list("tools")).result(PATIENCE_S)


def close_session(session: McpSession | A2aSession) -> None:
    shared_engine().submit(session.close()).result(PATIENCE_S)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_half_an_emoji_in_a_result_is_stored_and_ends_no_session(
    store: Store, writer: InvocationWriter, address: str, way: str
) -> None:
    server = [sys.executable, "-c", STDIO_SERVER] if way == "stdio" else f"{address}/half-emoji"
    session = open_session(store, writer, server)
    for _ in range(2):
        record = call_tool(session).record
        assert (record.status, record.failure, record.response) == ("complete", None, HALF_EMOJI)
        row = store.invocations.get(record.id)
        assert row is not None
        assert (row.status, row.response) == ("complete", "half an emoji: \ufffd")
        entries = read_transcript(store.invocations.events(record.id))
        assert [entry.direction for entry in entries] == ["sent", "received"]
    close_session(session)


def test_an_error_response_that_is_nested_too_deeply_is_a_failed_call(
    store: Store, writer: InvocationWriter, address: str
) -> None:
    session = open_session(store, writer, f"{address}/nested")
    record = call_tool(session).record
    row = store.invocations.get(record.id)
    assert row is not None
    assert (row.status, row.failure) == ("error", "service_error")
    close_session(session)


def test_a_call_that_ends_before_it_is_sent_is_never_sent(store: Store, writer: InvocationWriter, address: str) -> None:
    signing, url = threading.Event(), f"{address}/noted"

    def make(method: str, body: bytes, headers: Mapping[str, str]) -> SignedRequest:
        if b'"tools/call"' in body:
            signing.wait(PATIENCE_S)
        return plain_request(url, {}, method, body, headers)

    session = open_session(store, writer, url, make)
    outcome = call_tool(session, timeout_s=0.05)
    assert (outcome.record.failure, outcome.record.client_invoke_time, outcome.events) == ("timeout", None, ())
    signing.set()
    assert call_tool(session).record.failure is None
    assert METHODS == ["initialize", "notifications/initialized", "tools/call"]
    close_session(session)


def test_a_stream_that_begins_with_an_event_without_data_is_read(
    store: Store, writer: InvocationWriter, address: str
) -> None:
    session = open_session(store, writer, f"{address}/resumable")
    assert call_tool(session).record.failure is None
    assert list_tools(session) == [{"name": "t"}]
    close_session(session)


def test_an_error_beside_a_status_belongs_to_the_request_whatever_its_id(
    store: Store, writer: InvocationWriter, address: str
) -> None:
    session = open_session(store, writer, f"{address}/ended")
    record = call_tool(session).record
    assert record.failure == "rejected"
    assert "The session has ended" in (record.error_message or "")
    with pytest.raises(ProtocolError, match="The session has ended"):
        list_tools(session)
    close_session(session)


def test_a_failed_answer_ends_when_it_was_read(store: Store, writer: InvocationWriter, address: str) -> None:
    """As a good one does, although the rest of the response is waited for."""
    session = open_session(store, writer, f"{address}/failing")
    outcome = call_tool(session)
    assert outcome.record.failure == "agent_error"
    assert outcome.record.client_duration_ms == pytest.approx(read_transcript(outcome.events)[-1].at_ms, abs=250)
    close_session(session)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, math.nan])
def test_a_limit_that_is_not_above_0_is_refused_and_nothing_is_stored(
    store: Store, writer: InvocationWriter, address: str, timeout_s: float
) -> None:
    session = open_session(store, writer, f"{address}/half-emoji")
    with pytest.raises(ValueError, match="timeout_s must be above 0"):
        call_tool(session, timeout_s=timeout_s)
    assert [row.prompt for row in store.invocations.list()] == ["initialize"]
    close_session(session)


def test_a_call_ends_although_the_server_accepts_no_cancellation(
    store: Store, writer: InvocationWriter, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The notification must arrive before it is given up, also where the loop of the client stops for a while.
    monkeypatch.setattr("loomlib.agents.protocols.mcp_session._NOTICE_S", 5.0)
    session = open_session(store, writer, f"{address}/hanging")
    arguments = {"name": "t", "arguments": {}}
    running = Running(shared_engine(), lambda _run: session.call("tools/call", arguments, prompt="x"))
    assert ARRIVED.get(timeout=PATIENCE_S) == "tools/call"
    running.cancel()
    assert running.result().record.failure == "cancelled"
    assert [CLOSED.get(timeout=PATIENCE_S) for _ in range(2)] == ["tools/call", "notifications/cancelled"]
    close_session(session)


@pytest.mark.parametrize(
    ("path", "method", "error"),
    [
        ("/cut", "message/stream", "The stream ended before the task did"),
        ("/canceled", "message/send", "The agent canceled the task"),
    ],
)
def test_a_task_of_an_a2a_agent_that_does_not_complete_is_a_failed_call(
    store: Store, writer: InvocationWriter, address: str, path: str, method: str, error: str
) -> None:
    session = open_a2a(store, writer, f"{address}{path}")
    record = shared_engine().submit(session.call(method, {}, prompt="x")).result(PATIENCE_S).record
    assert (record.failure, record.error_message) == ("agent_error", error)
    close_session(session)


def test_a_cancelled_stream_of_an_a2a_agent_is_closed(store: Store, writer: InvocationWriter, address: str) -> None:
    session = open_a2a(store, writer, f"{address}/endless")
    started = threading.Event()

    def cancel(_event: object) -> None:
        assert started.wait(PATIENCE_S)
        running.cancel()

    running = Running(shared_engine(), lambda _run: session.call("message/stream", {}, prompt="x", on_event=cancel))
    started.set()
    assert running.result().record.failure == "cancelled"
    assert CLOSED.get(timeout=PATIENCE_S) == "message/stream"
    close_session(session)


def test_a_websocket_that_is_cancelled_while_it_opens_is_stored_as_cancelled(
    store: Store, writer: InvocationWriter
) -> None:
    row = store.agents.upsert(
        scope="aws", arn=AGENT_ARN, runtime_id="talker-AbC123dEf4", region="us-east-1", account_id="123456789012",
        name="talker", status="READY",
    )  # fmt: skip
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        environment["AWS_ENDPOINT_URL_BEDROCK_AGENTCORE"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with closing(Clients(Connection(environment=environment))) as clients:
            session = SocketSession(
                shared_engine(), clients, entry=entry_from_row(row), writer=writer, session_id=new_session_id(),
                qualifier="DEFAULT",
            )  # fmt: skip
            opening = Running(shared_engine(), lambda _run: session.open())
            with silent.accept()[0]:
                opening.cancel()
                with pytest.raises(CancelledError):
                    opening.result()
        assert session.outcome is not None
        assert session.outcome.record.failure == "cancelled"
        (stored,) = store.invocations.list(row.id)
        assert (stored.status, stored.failure) == ("error", "cancelled")
        assert shared_engine().submit(session.close()).result(PATIENCE_S) is session.outcome


def test_a_message_that_is_nested_too_deeply_to_be_stored_keeps_its_time_and_its_size() -> None:
    message: dict[str, Any] = {}
    for _ in range(50_000):
        message = {"a": message}
    (entry,) = read_transcript([TranscriptEntry(direction="received", at_ms=2.0, size=7, message=message).to_event()])
    assert (entry.direction, entry.at_ms, entry.size) == ("received", 2.0, 7)
    assert entry.message == {"text": "(nested too deeply to be stored)"}


def test_a_call_that_is_cancelled_while_it_is_being_started_stores_its_outcome() -> None:
    calls: queue.SimpleQueue[Running[str]] = queue.SimpleQueue()

    async def call() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "stored"
        return "not cancelled"

    def start(_run: object) -> Coroutine[Any, Any, str]:
        calls.get(timeout=PATIENCE_S).cancel()
        return call()

    running = Running(shared_engine(), start)
    calls.put(running)
    assert running.result() == "stored"


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$schema": []}, {"$schema": {}}, {"type": "x"}])
def test_a_schema_that_is_invalid_or_refers_to_itself_accepts_everything(schema: dict[str, Any]) -> None:
    check_arguments({"a": 1}, schema, what="The arguments", on="t")


def test_an_argument_that_a_schema_of_draft_3_requires_is_named() -> None:
    field = {"type": [{"type": "string"}], "required": True}
    schema = {"$schema": "http://json-schema.org/draft-03/schema#", "properties": {"a": field}}
    with pytest.raises(InvalidArgumentsError, match=r"a: .*required"):
        check_arguments({}, schema, what="The arguments", on="t")


def test_a_large_card_is_read_in_full(address: str) -> None:
    assert read_card(f"{address}/large") == json.loads(CARDS["/large"])


@pytest.mark.parametrize("path", ["/html", "/list", "/nested", "/empty"])
def test_a_card_that_is_no_json_object_is_malformed(address: str, path: str) -> None:
    with pytest.raises(MalformedResponseError, match=r"GetAgentCard: the response is not a JSON object \(planner: b'"):
        read_card(f"{address}{path}")


def test_a_card_beyond_4_mb_is_malformed(address: str) -> None:
    with pytest.raises(MalformedResponseError, match=r"GetAgentCard: the response is longer than 4(\.0)? MB"):
        read_card(f"{address}/too-large")
