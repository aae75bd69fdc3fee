"""Invocations end to end: over HTTP, into the store."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from paced import PacedServer, Reply, Request, Script
from waiting import PATIENCE_S
from waiting import wait_until as eventually

from loomlib.agents import (
    AgentEntry,
    Chunk,
    InvocationError,
    InvocationEvent,
    InvocationRecord,
    Invoker,
    SessionEnd,
    SessionStart,
    record_from_row,
)
from loomlib.errors import InvocationFailedError, RequestRejectedError
from loomlib.store import Store

Serve = Callable[[Script], PacedServer]
InvokerFor = Callable[..., Invoker]
ERROR_BODY = b'{"message": "told by the service"}'


async def three_words(request: Request, reply: Reply) -> None:
    await reply.head()
    for word in ("Two ", "and two ", "is four."):
        await reply.chunk(f"data: {json.dumps(word)}\n\n".encode())
        await asyncio.sleep(0.02)
    await reply.end()


def stored(store: Store, record: InvocationRecord) -> InvocationRecord:
    row = store.invocations.get(record.id)
    assert row is not None
    return record_from_row(row)


def test_a_streamed_answer_is_reported_as_events_and_stored(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    received: list[InvocationEvent] = []

    async def word_by_word(request: Request, reply: Reply) -> None:
        await reply.head()
        for number, word in enumerate(("Two ", "and two ", "is four."), start=2):
            await reply.chunk(f"data: {json.dumps(word)}\n\n".encode())
            while len(received) < number:  # send the next one after this one was received
                await asyncio.sleep(0.001)
        await reply.end()

    stream = invoker_for(serve(word_by_word)).stream(agent, "What is 2+2?", labels=["a", "b"])
    for event in stream:
        received.append(event)
    start, *chunks, end = received
    assert isinstance(start, SessionStart)
    assert isinstance(end, SessionEnd)
    assert [chunk.text for chunk in chunks if isinstance(chunk, Chunk)] == ["Two ", "and two ", "is four."]
    record = stream.record
    assert record is not None
    assert (record.status, record.response, record.failure) == ("complete", "Two and two is four.", None)
    assert record.client_invoke_time == start.client_invoke_time
    assert record.client_done_time == end.client_done_time
    assert record.client_duration_ms == pytest.approx(
        (end.client_done_time - start.client_invoke_time) * 1000, abs=0.01
    )
    assert record.ttft_ms is not None
    assert 0 < record.ttft_ms <= record.chunk_offsets_ms[0] < record.chunk_offsets_ms[2] < record.client_duration_ms
    assert (record.connection_reused, record.request_id, record.content_type) == (False, "req-1", "text/event-stream")
    assert record.connect_ms is not None
    assert stored(store, record) == record


def test_the_request_has_the_form_and_the_signature_that_boto3_would_send(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    server = serve(three_words)
    invoker_for(server).invoke(agent, "hällo", qualifier="prod", session_id="s" * 33)
    (request,) = server.requests
    assert request.arn == str(agent.arn)
    assert (
        request.path == f"/runtimes/{str(agent.arn).replace(':', '%3A').replace('/', '%2F')}/invocations?qualifier=prod"
    )
    assert request.headers["x-amzn-bedrock-agentcore-runtime-session-id"] == "s" * 33
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {"prompt": "hällo"}
    signed = request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    assert "x-amzn-bedrock-agentcore-runtime-session-id" in signed
    again = AWSRequest(
        method="POST",
        url=server.url + request.path,
        data=request.body,
        headers={name: request.headers[name] for name in signed if name not in ("host", "x-amz-date")},
    )
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(Credentials("AKIDEXAMPLE", "secret"), "bedrock-agentcore", "us-east-1")
    again.headers["X-Amz-Date"] = request.headers["x-amz-date"]
    signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    assert request.headers["authorization"].endswith(signature)


def test_a_second_call_uses_the_first_ones_connection(serve: Serve, invoker_for: InvokerFor, agent: AgentEntry) -> None:
    server = serve(three_words)
    invoker = invoker_for(server)
    first, second = invoker.invoke(agent, "1"), invoker.invoke(agent, "2")
    assert (first.connection_reused, second.connection_reused) == (False, True)
    assert second.connect_ms == 0
    assert [request.connection for request in server.requests] == [1, 1]


async def test_async_code_reads_events_without_its_own_loop_being_blocked(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    turns = 0

    async def patient(request: Request, reply: Reply) -> None:
        await reply.head()
        for word in ("Two ", "and two ", "is four."):
            enough = turns + 5
            while turns < enough:  # no word comes before the caller's own loop has gone on
                await asyncio.sleep(0.001)
            await reply.chunk(f"data: {json.dumps(word)}\n\n".encode())
        await reply.end()

    invoker = invoker_for(serve(patient))

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    counting = asyncio.create_task(count())
    stream = invoker.astream(agent, "async")
    texts = [event.text async for event in stream if isinstance(event, Chunk)]
    record = await invoker.ainvoke(agent, "async")
    counting.cancel()
    assert texts == ["Two ", "and two ", "is four."]
    assert stream.record is not None
    assert stream.record.ok
    assert record.ok
    assert turns > 10


async def test_the_synchronous_call_works_inside_a_running_loop(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    assert invoker_for(serve(three_words)).invoke(agent, "notebook").ok


def test_many_invocations_at_once_each_get_their_own_answer(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    async def echo(request: Request, reply: Reply) -> None:
        await asyncio.sleep(0.01)
        await reply.whole(json.dumps({"result": json.loads(request.body)["prompt"]}).encode())

    invoker = invoker_for(serve(echo))

    async def all_of_them() -> list[InvocationRecord]:
        return await asyncio.gather(*(invoker.ainvoke(agent, f"number {number}") for number in range(50)))

    records = asyncio.run(all_of_them())
    assert [record.response for record in records] == [f"number {number}" for number in range(50)]
    assert len({record.session_id for record in records}) == 50


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (400, "rejected"),
        (402, "quota"),
        (403, "rejected"),
        (404, "rejected"),
        (409, "rejected"),
        (424, "agent_error"),
        (429, "throttle"),
        (500, "service_error"),
        (503, "service_error"),
    ],
)
def test_every_error_status_is_a_failure_class_and_is_never_retried(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store, status: int, failure: str
) -> None:
    async def refuse(request: Request, reply: Reply) -> None:
        await reply.whole(ERROR_BODY, status, X_Amzn_ErrorType="SomeException:http://internal/")

    server = serve(refuse)
    stream = invoker_for(server).stream(agent, "?")
    *_, last = list(stream)
    assert isinstance(last, InvocationError)
    assert last.failure == failure
    assert stream.record is not None
    record = stored(store, stream.record)
    assert (record.status, record.failure) == ("error", failure)
    assert record.error_message is not None
    assert "told by the service" in record.error_message
    assert len(server.requests) == 1
    with pytest.raises(InvocationFailedError, match="told by the service"):
        record.raise_for_status()


def test_a_burst_of_429_and_500_is_counted_call_by_call(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    async def burst(request: Request, reply: Reply) -> None:
        number = int(json.loads(request.body)["prompt"])
        if number % 3:
            await reply.whole(ERROR_BODY, 429 if number % 3 == 1 else 500)
        else:
            await reply.whole(b'"fine"')

    server = serve(burst)
    invoker = invoker_for(server)
    failures = [invoker.invoke(agent, str(number)).failure for number in range(30)]
    assert failures == [None, "throttle", "service_error"] * 10
    assert len(server.requests) == 30


def test_an_error_event_inside_a_200_is_an_agent_error_and_the_text_so_far_is_kept(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def breaks(request: Request, reply: Reply) -> None:
        await reply.head()
        await reply.chunk(b'data: "so far"\n\n')
        await reply.chunk(b'data: {"error": "no such tool", "error_type": "KeyError", "message": "An error"}\n\n')
        await reply.end()

    record = invoker_for(serve(breaks)).invoke(agent, "?")
    assert (record.status, record.failure, record.response) == ("error", "agent_error", "so far")
    assert record.error_message is not None
    assert "KeyError: no such tool" in record.error_message
    assert stored(store, record) == record


def test_a_stream_that_is_cut_is_a_transport_failure_with_what_had_come(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def cut(request: Request, reply: Reply) -> None:
        await reply.head()
        await reply.chunk(b'data: "half of"\n\n')
        await asyncio.sleep(0.05)
        reply.cut()

    record = invoker_for(serve(cut)).invoke(agent, "?")
    assert (record.status, record.failure, record.response) == ("error", "transport", "half of")
    assert record.ttft_ms is not None
    assert stored(store, record) == record


def test_a_body_shorter_than_its_content_length_is_a_transport_failure(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    async def short(request: Request, reply: Reply) -> None:
        await reply.head(200, "application/json", **{"Content-Length": "100"})
        reply.writer.write(b'{"result": "cu')
        await reply.writer.drain()
        reply.writer.close()

    assert invoker_for(serve(short)).invoke(agent, "?").failure == "transport"


def test_a_connection_that_is_closed_without_an_answer_is_a_transport_failure(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    async def hang_up(request: Request, reply: Reply) -> None:
        reply.writer.close()

    server = serve(hang_up)
    assert invoker_for(server).invoke(agent, "?").failure == "transport"
    assert len(server.requests) == 1


def test_no_listener_at_the_address_is_a_transport_failure(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    server = serve(three_words)
    invoker = invoker_for(server)
    server.close()
    record = invoker.invoke(agent, "?")
    assert record.failure == "transport"
    assert record.error_message is not None
    assert "No connection" in record.error_message


def test_silence_and_an_overlong_answer_are_timeouts(serve: Serve, invoker_for: InvokerFor, agent: AgentEntry) -> None:
    async def drip(request: Request, reply: Reply) -> None:
        await reply.head()
        while True:
            await reply.chunk(b'data: "."\n\n')
            await asyncio.sleep(0.02)

    async def silent(request: Request, reply: Reply) -> None:
        await asyncio.sleep(30)

    dripping = invoker_for(serve(drip))

    def overlong() -> bool:
        """Whether the beginning of the answer came in time, which a busy machine does not always manage."""
        record = dripping.invoke(agent, "?", timeout_s=1.5)
        assert record.failure == "timeout"
        return record.response[:2] == ".."

    assert eventually(overlong)
    assert invoker_for(serve(silent), read_timeout_s=0.1).invoke(agent, "?").failure == "timeout"


@pytest.mark.parametrize(
    ("content_type", "body"), [("text/event-stream", b"<html>"), ("application/json", b'{"result": ')]
)
def test_a_body_that_is_not_what_its_content_type_says_is_malformed(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, content_type: str, body: bytes
) -> None:
    async def garbage(request: Request, reply: Reply) -> None:
        await reply.whole(body, 200, content_type)

    assert invoker_for(serve(garbage)).invoke(agent, "?").failure == "malformed_stream"


def test_breaking_out_of_a_stream_closes_the_connection_and_is_recorded_as_cancelled(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def endless(request: Request, reply: Reply) -> None:
        await reply.head()
        while True:
            await reply.chunk(b'data: "again "\n\n')
            await asyncio.sleep(0.01)

    server = serve(endless)
    for event in invoker_for(server).stream(agent, "?"):
        if isinstance(event, Chunk) and event.index == 2:
            break
    assert eventually(lambda: server.open_connections == 0)
    assert eventually(lambda: store.invocations.list()[0].status == "error")
    row = store.invocations.list()[0]
    assert row.failure == "cancelled"
    assert (row.response or "").startswith("again again again ")


def test_closing_a_stream_waits_until_its_outcome_is_stored(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def silent(request: Request, reply: Reply) -> None:
        await asyncio.sleep(30)

    with invoker_for(serve(silent)).stream(agent, "?") as stream:
        assert isinstance(next(stream), SessionStart)
    assert stream.record is not None
    assert stored(store, stream.record).failure == "cancelled"
    with invoker_for(serve(silent)).stream(agent, "?") as stream:
        pass
    assert stream.record is not None
    assert stored(store, stream.record).failure == "cancelled"


async def test_a_cancelled_async_caller_leaves_an_honest_record(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def silent(request: Request, reply: Reply) -> None:
        await asyncio.sleep(30)

    server = serve(silent)
    waiting = asyncio.create_task(invoker_for(server).ainvoke(agent, "?"))
    while not server.requests:
        await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    while store.invocations.list()[0].status != "error":
        await asyncio.sleep(0.01)
    assert store.invocations.list()[0].failure == "cancelled"


def test_the_question_is_stored_before_it_is_sent_and_the_answer_while_it_comes(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    stored_states: list[tuple[str, str | None]] = []

    async def look(request: Request, reply: Reply) -> None:
        stored_states.append((store.invocations.list()[0].status, store.invocations.list()[0].prompt))
        await reply.head()
        until = time.monotonic() + PATIENCE_S
        while store.invocations.list()[0].status == "pending" and time.monotonic() < until:
            await reply.chunk(b'data: "word "\n\n')
            await asyncio.sleep(0.02)
        stored_states.append((store.invocations.list()[0].status, (store.invocations.list()[0].response or "")[:5]))
        await reply.end()

    assert invoker_for(serve(look)).invoke(agent, "kept?").ok
    assert stored_states == [("pending", "kept?"), ("streaming", "word ")]


def test_a_session_id_of_32_characters_is_refused_before_anything_is_sent(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    server = serve(three_words)
    with pytest.raises(RequestRejectedError, match="32 characters; AgentCore requires 33 to 256"):
        invoker_for(server).invoke(agent, "?", session_id="x" * 32)
    with pytest.raises(RequestRejectedError, match="257 characters"):
        invoker_for(server).stream(agent, "?", session_id="x" * 257)
    with pytest.raises(RequestRejectedError, match="printable ASCII"):
        invoker_for(server).stream(agent, "?", session_id="x" * 40 + "\r\n")
    assert (server.requests, store.invocations.list()) == ([], ())


def test_a_payload_over_100_mb_is_refused_and_one_of_100_mb_is_sent(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry
) -> None:
    async def count(request: Request, reply: Reply) -> None:
        await reply.whole(json.dumps({"result": f"{len(request.body)}"}).encode())

    server = serve(count)
    with pytest.raises(RequestRejectedError, match="100\u202f000\u202f001 bytes"):
        invoker_for(server).invoke(agent, payload=bytes(100_000_001))
    assert server.requests == []
    assert invoker_for(server).invoke(agent, payload=bytes(100_000_000)).response == "100000000"


def test_an_answer_of_5_mb_arrives_whole(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    async def long(request: Request, reply: Reply) -> None:
        await reply.head()
        for _ in range(5_000):
            await reply.chunk(b'data: "' + b"x" * 1_000 + b'"\n\n')
        await reply.end()

    record = invoker_for(serve(long)).invoke(agent, "?")
    assert len(record.response) == 5_000_000
    assert len(record.chunk_offsets_ms) == 5_000
    assert stored(store, record) == record


def test_a_store_that_fails_later_leaves_the_measurement_whole_and_reports_it(
    serve: Serve,
    invoker_for: InvokerFor,
    agent: AgentEntry,
    store: Store,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    import sqlite3

    async def lose_the_row(request: Request, reply: Reply) -> None:
        with sqlite3.connect(tmp_path / "loom.db") as database:
            database.execute("DELETE FROM invocations")
        database.close()
        await three_words(request, reply)

    record = invoker_for(serve(lose_the_row)).invoke(agent, "?")
    assert (record.status, record.response, record.stored) == ("complete", "Two and two is four.", False)
    assert "could not be stored" in caplog.text


def test_a_call_without_credentials_is_a_record_that_tells_what_to_do(
    store: Store, agent: AgentEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loomlib.aws.connection import Clients, Connection

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    invoker = Invoker(
        store, Clients(Connection(region="us-east-1", environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}))
    )
    record = invoker.invoke(agent, "?")
    assert (record.failure, record.client_invoke_time) == ("rejected", None)
    assert record.error_message is not None
    assert "No AWS credentials" in record.error_message
    invoker.close()


def test_headers_of_the_callers_own_are_signed_and_sent_and_impossible_ones_refused(
    serve: Serve, invoker_for: InvokerFor, agent: AgentEntry, store: Store
) -> None:
    server = serve(three_words)
    invoker = invoker_for(server)
    user = "X-Amzn-Bedrock-AgentCore-Runtime-User-Id"
    assert invoker.invoke(agent, "?", headers={user: "somebody"}).ok
    assert server.requests[0].headers[user.lower()] == "somebody"
    assert user.lower() in server.requests[0].headers["authorization"]
    with pytest.raises(ValueError, match="HTTP does not allow"):
        invoker.invoke(agent, "?", headers={user: "a\r\nb"})
    assert len(store.invocations.list()) == 1
