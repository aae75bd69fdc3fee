"""A real HTTP proxy of the data plane: it forwards what it gets, or answers as a failing service would."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fault = Callable[[BaseHTTPRequestHandler], None]
SSE = "text/event-stream"


def aws_error(status: int, code: str) -> Fault:
    """An error in AWS's REST-JSON form."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        body = json.dumps({"message": f"{code} on purpose"}).encode()
        request.send_response(status)
        request.send_header("x-amzn-ErrorType", code)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def cut(header: str, value: str, body: bytes) -> Fault:
    """A 200 whose framing promises more than comes."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", SSE)
        request.send_header(header, value)
        request.end_headers()
        request.wfile.write(body)
        request.close_connection = True

    return answer


class FaultyProxy:
    """`plan` says for the n-th invocation (from 1) which fault it meets; None: it reaches the service."""

    def __init__(self, behind: str, plan: Callable[[int], Fault | None]) -> None:
        self._behind, self._plan = urlsplit(behind).netloc, plan
        self._lock = threading.Lock()
        self.invocations = self.forwarded = 0
        proxy = self

        class Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet: pytest shows what failed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        fault = None
        if request.path.split("?")[0].endswith("/invocations"):
            with self._lock:
                self.invocations += 1
                fault = self._plan(self.invocations)
                self.forwarded += fault is None
        if fault is not None:
            fault(request)
            return
        headers = {name: value for name, value in request.headers.items() if name.lower() != "connection"}
        with closing(http.client.HTTPConnection(self._behind, timeout=60)) as connection:
            connection.request("POST", request.path, body, headers)
            answer = connection.getresponse()
            response_body = answer.read()
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "date", "server"):
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(response_body)))
        request.end_headers()
        request.wfile.write(response_body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def faulty_proxy(behind: str, plan: Callable[[int], Fault | None]) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(behind, plan)
    try:
        yield proxy
    finally:
        proxy.close()
