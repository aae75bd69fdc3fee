"""What a hostile page, or whoever automates the browser, reaches of this machine: nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page
from waiting import wait_until

from loomlib import local

from .browser_sessions import SYSTEM, client_of, connect, processes_of, session
from .conftest import CHROMIUM

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no chromium at {CHROMIUM}")]
FETCH = "url => fetch(url, {mode: 'no-cors'}).then(() => 'reached', () => 'not reached')"
SOCKET = """url => new Promise(done => {
  const socket = new WebSocket(url);
  socket.onopen = () => done('reached');
  socket.onerror = () => done('not reached');
})"""
DEVOUR = """() => {
  const kept = [];
  const more = () => { for (let i = 0; i < 4; i++) kept.push(new Uint8Array(2 ** 25).fill(7)); setTimeout(more, 0); };
  setTimeout(more, 0);
}"""


@pytest.fixture(scope="module")
def contained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    home = tmp_path_factory.mktemp("attacks") / "home"
    state, _ = local.start(home, local.ServiceOptions(limits="memory=1g"), persistent=True)
    if not local.status(home).isolation.startswith("bubblewrap"):
        local.stop(home)
        pytest.skip("bubblewrap does not work here")
    yield state
    local.stop(home)


@pytest.fixture
def page(contained: local.ServiceState, chromium: Browser) -> Iterator[Page]:
    with session(client_of(contained, "bedrock-agentcore")) as browser_session:
        browser = connect(chromium, contained, browser_session)
        yield browser.contexts[0].pages[0]
        browser.close()


@pytest.fixture
def neighbour() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine's loopback, and the paths that it was asked for."""
    requested_paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested_paths.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", requested_paths
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_user_s_files_and_the_service_s_keys_are_not_there(
    contained: local.ServiceState, page: Page, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret of this user")
    for path in (secret, contained.home / "service.json", contained.home / "resources.db", Path.home() / ".bashrc"):
        opened = page.context.new_page()  # a page that failed to open goes on to its error
        with pytest.raises(Error, match="ERR_FILE_NOT_FOUND"):
            opened.goto(f"file://{path}")
        opened.close()
    page.goto("file:///proc/self/environ")
    assert contained.secret_key not in page.content()
    page.goto("file:///etc/passwd")
    assert page.inner_text("body").strip().count("\n") == 0  # one user, the session's own


def test_ports_of_this_machine_are_closed(
    contained: local.ServiceState, page: Page, neighbour: tuple[str, list[str]]
) -> None:
    address, requested_paths = neighbour
    _, _, port = address.partition(":")
    own = contained.url.partition("//")[2]
    hosts = (address, f"localhost:{port}", f"[::1]:{port}", f"10.0.2.2:{port}", own)
    for host in hosts:
        assert page.evaluate(SOCKET, f"ws://{host}/") == "not reached"
        assert page.evaluate(FETCH, f"http://{host}/") == "not reached"
    for host in hosts:
        opened = page.context.new_page()
        with pytest.raises(Error, match=r"ERR_|Timeout"):
            opened.goto(f"http://{host}/", timeout=10_000)
        opened.close()
    assert requested_paths == []


def test_a_page_that_takes_all_memory_ends_its_own_session_only(
    contained: local.ServiceState, chromium: Browser, page: Page
) -> None:
    data = client_of(contained, "bedrock-agentcore")
    browser_session = data.start_browser_session(browserIdentifier=SYSTEM, name="devourer")
    browser = connect(chromium, contained, browser_session)
    browser.contexts[0].pages[0].evaluate(DEVOUR)

    def is_over() -> bool:
        read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"])
        return read["status"] == "TERMINATED"

    wait_until(is_over, what="the end of the session")
    assert page.evaluate("6 * 7") == 42
    browser.close()


def test_a_stopped_service_leaves_no_browser(tmp_path: Path) -> None:
    home = tmp_path / "home"
    state, _ = local.start(home, persistent=True)
    client_of(state, "bedrock-agentcore").start_browser_session(browserIdentifier=SYSTEM)
    assert processes_of(home)
    local.stop(home)
    wait_until(lambda: not processes_of(home), what="the end of the browser")
