"""The sender against collectors that treat connections badly."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import TracerProvider

from loomlib.local.sessions.tracing.processor import SessionSpans
from loomlib.local.sessions.tracing.send import SpanSender

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@contextmanager
def rude_collector(requests: list[bytes], *, dies_on: int = -1) -> Iterator[str]:
    """Closes each connection after one answer without having said so; answers nothing to request `dies_on`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    requests.append(_read(connection))
                    if len(requests) - 1 != dies_on:
                        connection.sendall(ANSWER)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/otlp"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _read(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return body


def sender_and_tracer(url):
    sender = SpanSender(url, {"x-loom-session": "s"})
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SessionSpans(sender, "s", url=url, provider=None))
    return sender, provider.get_tracer("tests")


def test_a_connection_that_was_closed_meanwhile_is_made_again_and_nothing_is_lost_or_doubled(capsys):
    requests: list[bytes] = []
    with rude_collector(requests) as url:
        sender, tracer = sender_and_tracer(url)
        for number in range(3):
            tracer.start_span(f"span {number}").end()
            assert sender.flush(60)
    assert [sum(f"span {number}".encode() in body for body in requests) for number in range(3)] == [1, 1, 1]
    assert capsys.readouterr().err == ""


def test_a_collector_that_dies_over_a_request_gets_it_again(capsys):
    requests: list[bytes] = []
    with rude_collector(requests, dies_on=0) as url:
        sender, tracer = sender_and_tracer(url)
        tracer.start_span("one").end()
        while len(requests) < 2:
            threading.Event().wait(0.01)
        assert sender.flush(60)
    assert len(requests) == 2
    assert capsys.readouterr().err == ""


def test_first_spans_that_end_at_the_same_time_start_one_thread(monkeypatch):
    thread_names: list[str] = []

    class Interrupted(threading.Thread):
        def __init__(self, **given):
            thread_names.append(given["name"])
            if len(thread_names) == 1:
                tracer.start_span("of another thread").end()
            super().__init__(**given)

    requests: list[bytes] = []
    with rude_collector(requests) as url:
        sender, tracer = sender_and_tracer(url)
        monkeypatch.setattr(threading, "Thread", Interrupted)
        tracer.start_span("of this one").end()
        monkeypatch.undo()
        assert sender.flush(60)
    assert thread_names == ["loom-spans"]
    assert all(name in b"".join(requests) for name in (b"of this one", b"of another thread"))


def test_a_flush_with_nothing_to_send_is_done_at_once():
    sender, _ = sender_and_tracer("http://127.0.0.1:1/otlp")
    assert sender.flush(0)
