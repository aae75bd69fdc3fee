"""An authorization server for tests: every grant that the local AgentCore uses, over HTTP on loopback."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT_ID, CLIENT_SECRET = "loom-client", "s3cr3t/+of the client"


@dataclass
class TokenIssuer:
    """What the server was asked, and how it answers next."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    lifetime_s: int = 3600
    refusal: str = ""
    """OAuth's error code for all further requests."""
    nests_user_tokens: bool = False
    """Whether a user's first token comes within `authed_user`, as from Slack."""
    raw: tuple[int, dict[str, str], bytes] | None = None
    """An answer to send in place of the server's own."""

    @property
    def discovery_url(self) -> str:
        return f"{self.url}/.well-known/openid-configuration"

    @property
    def grants(self) -> list[str]:
        return [request["grant_type"] for request in self.requests]

    def token(self, form: dict[str, str], client: tuple[str, str], how: str) -> tuple[int, dict[str, Any]]:
        self.requests.append({**form, "authentication": how})
        grant = form["grant_type"]
        if self.refusal:
            return 400, {"error": self.refusal, "error_description": f"for {client[1]}"}
        if client != (CLIENT_ID, CLIENT_SECRET) and how != "none":
            return 401, {"error": "invalid_client"}
        if grant == "authorization_code":
            authorization = self.codes.pop(form["code"], None)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
            if authorization is None or authorization["code_challenge"] != challenge.decode().rstrip("="):
                return 400, {"error": "invalid_grant"}
            if authorization["redirect_uri"] != form["redirect_uri"]:
                return 400, {"error": "invalid_grant"}
        answer = {"access_token": f"{grant}-{secrets.token_hex(8)}", "token_type": "Bearer"}
        answer |= {"expires_in": self.lifetime_s}
        if grant in ("authorization_code", "refresh_token"):
            answer["refresh_token"] = secrets.token_hex(8)
        if self.nests_user_tokens and grant == "authorization_code":
            answer = {"ok": True, "authed_user": answer}
        return 200, answer

    def consent(self, query: dict[str, str]) -> str:
        """A user agrees: the address to which the browser goes next."""
        code = secrets.token_hex(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"


@contextlib.contextmanager
def serving() -> Iterator[TokenIssuer]:
    issuer = TokenIssuer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self._send(302, {"location": issuer.consent(query)}, b"")
                return
            document = {
                "issuer": issuer.url,
                "authorization_endpoint": f"{issuer.url}/authorize",
                "token_endpoint": f"{issuer.url}/token",
            }
            self._send(200, {"content-type": "application/json"}, json.dumps(document).encode())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            if issuer.raw is not None:
                self._send(*issuer.raw)
                return
            fields = {name: values[0] if len(values) == 1 else " ".join(values) for name, values in form.items()}
            header = self.headers.get("authorization", "")
            if header.startswith("Basic "):
                pair = base64.b64decode(header.removeprefix("Basic ")).decode()
                first, _, second = pair.partition(":")
                (client_id,), (secret,) = parse_qs(f"a={first}")["a"], parse_qs(f"a={second}")["a"]
                client, how = (client_id, secret), "basic"
            elif "client_secret" in fields:
                client, how = (fields.pop("client_id"), fields.pop("client_secret")), "post"
            else:
                client, how = ("", ""), "none"
            status, answer = issuer.token(fields, client, how)
            self._send(status, {"content-type": "application/json"}, json.dumps(answer).encode())

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
