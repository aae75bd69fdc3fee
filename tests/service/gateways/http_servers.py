"""An HTTP server that answers what it was asked, and in some ways that a gateway has to endure."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


class HttpServer(ThreadingHTTPServer):
    """Says when a silent path was asked and when a caller went away, and is told when to end a stream."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked, self.abandoned, self.may_end = threading.Event(), threading.Event(), threading.Event()
        self.sent_bytes = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        action = parts.path.rpartition("/")[2]
        handler = getattr(self, f"_{action}", None)
        if handler is not None:
            handler()
            return
        echo = {
            "method": self.command,
            "path": parts.path,
            "query": parse_qsl(parts.query, keep_blank_values=True),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "body": body.decode(),
        }
        self._send(404 if action == "missing" else 200, json.dumps(echo).encode(), {"X-Kind": "echo"})

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _flood(self) -> None:
        """1 GB."""
        self._send(200, None, {})
        try:
            for _ in range(1_000):
                self._chunk(b"x" * 1_000_000)
                self.server.sent_bytes += 1_000_000
        except OSError:
            self.server.abandoned.set()
        self.close_connection = True

    def _silent(self) -> None:
        """Nothing, until the caller goes away."""
        self.server.asked.set()
        if not self.rfile.read(1):
            self.server.abandoned.set()
        self.close_connection = True

    def _broken(self) -> None:
        self._send(200, None, {})
        self._chunk(b"half")
        self.close_connection = True

    def _events(self) -> None:
        self._send(200, None, {"Content-Type": "text/event-stream"})
        self._chunk(b"data: first\n\n")
        self.server.may_end.wait(60)
        self._chunk(b"data: last\n\n")
        self._chunk(b"")

    def _redirect(self) -> None:
        self._send(307, b"", {"Location": "http://127.0.0.1:1/"})

    def _page(self) -> None:
        headers = {
            "Content-Type": "text/html",
            "Set-Cookie": "a=b",
            "Access-Control-Allow-Origin": "*",
            "Content-Security-Policy": "default-src *",
            "Refresh": "0; url=/",
        }
        self._send(200, b"<script>alert(1)</script>", headers)

    def _send(self, status: int, body: bytes | None, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body or b"")

    def _chunk(self, part: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def http_server() -> Iterator[HttpServer]:
    """Serve while the block runs."""
    with HttpServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.may_end.set()
        server.shutdown()
        thread.join()
