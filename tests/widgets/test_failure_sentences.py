"""What a panel says when something outside it fails: an expired credential, a stopped service, nothing there yet, a
broken plugin. A kernel that is gone is seen in the browser's tests, an answer of 5 MB in the Test panel's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loomlib import local
from loomlib.aws.runtimes import RuntimeDescription

from .conftest import Watched, wait_until

ARN = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/shop-abcDEF1234"
NAMES = ("build", "test", "operate", "evaluate", "memory")
# What asks AWS in each panel; the agent is in the catalog already.
ASKS = {
    "build": ("register", {"arn": ARN}),
    "test": ("invoke", {"agent": "shop", "prompt": "hi"}),
    "memory": ("refresh", {}),
}


class Expired(BaseHTTPRequestHandler):
    """AWS as it answers when a session token is too old."""

    def do_GET(self) -> None:
        body = (
            b'{"__type": "ExpiredTokenException", "message": "The security token included in the request is expired"}'
        )
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("x-amzn-ErrorType", "ExpiredTokenException")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the console."""


@pytest.fixture
def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[loom.Workbench]:
    """A bench whose AWS says that the credentials have expired."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Expired) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-an-hour-ago-0123456789")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "of-an-hour-ago-as-well")
        with loom.connect("aws", region="eu-west-1", home=tmp_path / "home") as bench:
            yield bench
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", sorted(ASKS))
def test_an_expired_credential_is_told_with_what_to_do_and_shows_no_secret(expired: loom.Workbench, name: str) -> None:
    expired.catalog.add(
        RuntimeDescription(arn=ARN, runtime_id=ARN.rpartition("/")[2], name="shop", version="1", status="READY")
    )
    watched = Watched(getattr(loom_widgets, name)(expired))
    action, form = ASKS[name]
    watched.ask(action, **form)
    wait_until(lambda: watched.panel.error or (name == "test" and "expired" in str(watched.told)))
    if name != "test":  # a call that failed is a turn of the conversation, with its reason
        assert "expired" in watched.panel.error["what"]
        assert "aws sso login" in watched.panel.error["try"]
    assert "none was expected" not in str(watched.told)
    assert "hour-ago" not in str(watched.told) + watched.panel._repr_html_()
    watched.panel.close()


def test_an_empty_catalog_is_a_sentence_not_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    try:
        with loom.connect(home=home) as bench:
            for name in NAMES:
                watched = Watched(getattr(loom_widgets, name)(bench))
                watched.ask("hello")
                wait_until(lambda watched=watched: not watched.panel.busy)
                assert watched.panel.error == {}
                face = watched.panel._repr_html_()
                assert any(word in face for word in ("No ", "Nothing ", "no ", "none")), face
                watched.panel.close()
    finally:
        local.stop(home)


@pytest.mark.parametrize(
    ("name", "action", "form"),
    [
        ("test", "invoke", {"agent": "echo", "prompt": "hi"}),
        ("build", "refresh", {}),
        ("memory", "refresh", {}),
        ("evaluate", "run", {"agent": "echo", "agents": ["echo"], "set": "shipped:calculator", "evaluators": []}),
    ],
)
def test_a_stopped_service_is_told_with_what_to_do(
    name: str, action: str, form: dict[str, object], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    try:
        with loom.connect(home=home) as bench:
            bench.deploy("echo")
            watched = Watched(getattr(loom_widgets, name)(bench))
            watched.ask("hello")
            wait_until(lambda: not watched.panel.busy)
            local.stop(home)
            watched.ask(action, **form)
            wait_until(lambda: not watched.panel.busy)
            told = f"{dict(watched.panel.error)} {watched.panel.status}"
            assert "none was expected" not in told
            assert "Traceback" not in told
            assert watched.panel.error.get("try") or "transport" in told or "service" in told, told
            watched.panel.close()
    finally:
        local.stop(home)
