"""An issuer of tokens on loopback, with keys that can be rotated and answers that can be made wrong."""

from __future__ import annotations

import hmac
import json
import threading
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwk, jwt

Answer = Callable[[BaseHTTPRequestHandler], bool]


class TokenIssuer:
    """An OpenID issuer; `answer`, if set, may answer a request in place of it (and then returns True).

    Its URL contains a unique path, because the service caches keys by URL and the system may reuse the port of
    an issuer that was closed.
    """

    def __init__(self) -> None:
        self.path = f"/{uuid.uuid4().hex}"
        self.keys: dict[str, Any] = {}
        self.requests: list[str] = []
        self.answer: Answer | None = None
        self.jwks_uri: str | None = None
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requests.append(self.path)
                if issuer.answer is not None and issuer.answer(self):
                    return
                if self.path == f"{issuer.path}/.well-known/openid-configuration":
                    send_json(self, {"issuer": issuer.name, "jwks_uri": issuer.jwks_uri or f"{issuer.name}/jwks"})
                elif self.path == f"{issuer.path}/jwks":
                    send_json(self, issuer.jwks())
                else:
                    self.send_error(404)

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.name = f"http://127.0.0.1:{self._server.server_port}{self.path}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.rotate("first")

    @property
    def discovery_url(self) -> str:
        return f"{self.name}/.well-known/openid-configuration"

    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**key.as_dict(private=False), "kid": kid} for kid, key in self.keys.items()]}

    def rotate(self, kid: str, *, key: Any = None) -> None:
        """Have one key, with this id."""
        self.keys = {kid: key or jwk.ECKey.generate_key("P-256", auto_kid=False)}

    def token(self, *, kid: str | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token of `alice` for the client `web`, valid for an hour; a claim of None is left out."""
        kid = kid or next(iter(self.keys))
        key = self.keys[kid]
        now = int(time.time())
        content = {
            "iss": self.name,
            "sub": "alice",
            "client_id": "web",
            "iat": now,
            "exp": now + 3600,
            "jti": str(uuid.uuid4()),
            **claims,
        }
        algorithm = "ES256" if isinstance(key, jwk.ECKey) else "RS256"
        head = {"alg": algorithm, "kid": kid, **(header or {})}
        payload = {name: value for name, value in content.items() if value is not None}
        return jwt.encode({k: v for k, v in head.items() if v is not None}, payload, key, algorithms=[head["alg"]])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def send_json(handler: BaseHTTPRequestHandler, document: object) -> None:
    content = json.dumps(document).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def unsigned_token(claims: dict[str, Any]) -> str:
    """A token with the algorithm none."""
    return _encoded({"alg": "none", "typ": "JWT"}) + "." + _encoded(claims) + "."


def forged_token(claims: dict[str, Any], *, kid: str, secret: bytes) -> str:
    """A token with HS256, written by hand: libraries refuse to take a public key for a secret."""
    content = _encoded({"alg": "HS256", "typ": "JWT", "kid": kid}) + "." + _encoded(claims)
    digest = hmac.digest(secret, content.encode(), "sha256")
    return content + "." + urlsafe_b64encode(digest).rstrip(b"=").decode()


def _encoded(part: object) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
