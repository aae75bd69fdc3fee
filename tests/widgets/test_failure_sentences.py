"""What a panel says when something outside it fails: an expired credential, a stopped service, nothing there yet, an
answer of 5 MB. A kernel that is gone is seen in the browser's tests, a broken plugin in those of the plugins."""

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
from loomlib.evals import EvalCase, EvalSet, Turn

from .conftest import Watched, wait_until

ARN = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/shop-abcDEF1234"
NAMES = ("build", "test", "operate", "evaluate", "memory", "tools")
# What asks the service in each panel; the agent is in the catalog already.
ASKS: dict[str, tuple[str, dict[str, object]]] = {
    "build": ("refresh", {}),
    "test": ("invoke", {"agent": "shop", "prompt": "hi"}),
    "operate": ("compare", {}),
    "evaluate": ("run", {"agents": ["shop"], "set": "file:", "evaluators": "exact"}),
    "memory": ("refresh", {}),
    "tools": ("refresh", {}),
}


def asked(watched: Watched, name: str, folder: Path, agent: str = "shop") -> str:
    """What the panel says of an action that asks the service, wherever it says it: in a line."""
    action, form = ASKS[name]
    form = {
        **form,
        **({"agent": agent} if "agent" in form else {}),
        **({"agents": [agent]} if "agents" in form else {}),
    }
    if name == "evaluate":
        evalset = EvalSet(name="one", cases=(EvalCase(id="one", turns=(Turn(prompt="hi", expected_answer="hi"),)),))
        evalset.write(folder / "one.json")
        form["path"] = str(folder / "one.json")
    watched.messages.clear()
    answer = watched.ask(action, **form)
    watched.panel.stop("after")  # nobody waits here for the answer's trace
    wait_until(lambda: not watched.panel.busy)
    panel = watched.panel
    if name == "test":  # a call that failed is a turn of the conversation, with its reason
        return f"{watched.of('ended')[-1]['status']}: {watched.of('ended')[-1]['sentence']}"
    if name == "operate":  # a place that does not answer is a row, and an agent's page is there without its log
        watched.ask("drill", agent=agent)
        (place,) = [row for row in panel.tables.rows("places") if row["state"] != "not connected"]
        return f"{place['state']}: {place['why']} {watched.of('detail')[-1]['logs_problem']}"
    if answer == {"failed": True}:
        return f"failed: {panel.error['what']} ({panel.error['on']}) {panel.error['try']}"
    assert panel.error == {}
    return "ok"


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


def test_an_expired_credential_is_reported_with_what_to_do_and_shows_no_secret(
    expired: loom.Workbench, tmp_path: Path
) -> None:
    expired.context.catalog.add(
        RuntimeDescription(arn=ARN, runtime_id=ARN.rpartition("/")[2], name="shop", version="1", status="READY")
    )
    for name in NAMES:
        watched = Watched(getattr(loom_widgets, name)(expired))
        texts = asked(watched, name, tmp_path)
        assert texts.startswith(("failed: ", "error: ")), texts
        assert "expired" in texts
        assert "aws sso login" in texts
        assert "none was expected" not in texts
        assert not watched.panel.status.endswith("…")
        assert "hour-ago" not in texts + str(watched.messages) + watched.panel._repr_html_()
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
                html = watched.panel._repr_html_()
                assert any(word in html for word in ("No ", "Nothing ", "no ", "none")), html
                watched.panel.close()
    finally:
        local.stop(home)


def test_a_stopped_service_is_reported_with_what_to_do_and_every_panel_works_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    try:
        with loom.connect(home=home) as bench:
            bench.deploy("echo")
            bench.memories.create("assistant")
            panels = {name: Watched(getattr(loom_widgets, name)(bench)) for name in NAMES}
            for name, watched in panels.items():
                assert asked(watched, name, tmp_path, "echo").startswith(("ok", "complete: ")), name
            local.stop(home)
            for name, watched in panels.items():
                texts = asked(watched, name, tmp_path, "echo")
                assert texts.startswith(("failed: ", "error: ")), texts
                assert "nothing answers" in texts
                assert "`loom up`" in texts
                assert not watched.panel.status.endswith("…")
                assert watched.panel._repr_html_()
                late = Watched(getattr(loom_widgets, name)(bench))  # a panel that is opened now opens all the same
                late.ask("hello")
                wait_until(lambda late=late: not late.panel.busy)
                assert "none was expected" not in f"{dict(late.panel.error)} {late.messages}"
                late.panel.close()
            local.start(home, persistent=True)
            for name, watched in panels.items():
                assert asked(watched, name, tmp_path, "echo").startswith(("ok", "complete: ")), name
                assert watched.panel.error == {}
                watched.panel.close()
    finally:
        local.stop(home)
