"""A view's frame in Chromium: its messages come through, and nothing else does, whatever the page tries."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from loomlib.agents.mcp_apps import VIEW_SANDBOX, frame_document

pytestmark = [pytest.mark.browser]

HOST = """<!doctype html><title>host</title><p id="host">host</p><script>
window.got = [];
const frame = document.createElement("iframe");
frame.setAttribute("sandbox", SANDBOX);
window.addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow) return;
  const said = typeof event.data === "string" ? JSON.parse(event.data) : event.data;
  window.got.push(said);
  if (said.ping) frame.contentWindow.postMessage({ pong: said.ping }, "*");
});
frame.srcdoc = DOCUMENT;
document.body.append(frame);
</script>"""

POLITE = """<script>
addEventListener("message", ({ source, data }) => {
  if (source === parent && data.pong) parent.postMessage({ heard: data.pong }, "*");
});
parent.postMessage({ ping: 5 }, "*");
</script>"""

HOSTILE = """<!doctype html><html><head>
<link rel="stylesheet" href="LEAK/css">
<link rel="prefetch" href="LEAK/prefetch"><script src="LEAK/script"></script></head><body>
<img src="LEAK/img"><iframe src="LEAK/frame"></iframe><object data="LEAK/object"></object>
<form id="f" action="LEAK/form" method="post"><input name="a" value="b"></form>
<a id="a" href="LEAK/link" target="_blank">x</a><a id="p" href="LEAK/own" ping="LEAK/ping">y</a>
<script>
const tried = [];
const attempt = (name, f) => { try { f(); tried.push(name); } catch (error) { tried.push(`${name}: refused`); } };
attempt("fetch", () => fetch("LEAK/fetch").catch(() => 0));
attempt("beacon", () => navigator.sendBeacon("LEAK/beacon", "x"));
attempt("socket", () => new WebSocket("LEAK/socket".replace("http", "ws")));
attempt("events", () => new EventSource("LEAK/events"));
attempt("worker", () => new Worker("LEAK/worker"));
attempt("image", () => { new Image().src = "LEAK/image"; });
attempt("open", () => window.open("LEAK/open"));
attempt("form", () => document.getElementById("f").submit());
attempt("link", () => document.getElementById("a").click());
attempt("parent", () => { parent.document.title = "taken"; });
attempt("top", () => { top.document.title = "taken"; });
attempt("parent.location", () => { parent.location = "LEAK/parent"; });
attempt("top.location", () => { top.location = "LEAK/top"; });
attempt("cookie", () => { document.cookie = "a=b"; });
attempt("storage", () => localStorage.setItem("a", "b"));
parent.postMessage({ tried }, "*");
</script>LAST</body></html>"""

LEAVING = {
    "link": '<script>setTimeout(() => document.getElementById("p").click(), 100);</script>',
    "location": '<script>setTimeout(() => { location = "LEAK/self"; }, 100);</script>',
    "refresh": '<meta http-equiv="refresh" content="1;url=LEAK/refresh">',
}
"""How a view goes elsewhere in the end. What Chromium refuses leaves a page of errors, which tries nothing more."""


@pytest.fixture(scope="module")
def canary() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    requested_paths: list[str] = []
    pages: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            if body is None:
                requested_paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write((body or "").encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", requested_paths, pages
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_views_frame_can_talk_to_its_page_and_reach_nothing(
    chromium: Browser, canary: tuple[str, list[str], dict[str, str]]
) -> None:
    address, requested_paths, pages = canary
    hostile = {name: HOSTILE.replace("LAST", last).replace("LEAK", f"{address}/leak") for name, last in LEAVING.items()}
    for name, html in {"polite": POLITE, **hostile}.items():
        document = json.dumps(frame_document(html)).replace("<", "\\u003c")
        pages[f"/{name}"] = HOST.replace("SANDBOX", json.dumps(VIEW_SANDBOX)).replace("DOCUMENT", document)
    with chromium.new_context() as context:
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(f"{address}/polite")
        page.wait_for_function("window.got.some((each) => each.heard === 5)")
        for name in hostile:
            page.goto(f"{address}/{name}")
            page.wait_for_function("window.got.length > 0")
            tried = page.evaluate("window.got[0].tried")
            view = page.main_frame.child_frames[0].child_frames[0]
            view.wait_for_url("chrome-error://**", wait_until="commit")
            assert len(tried) == 15
            assert page.url == f"{address}/{name}"
            assert page.title() == "host"
            assert len(context.pages) == 1
            page.evaluate("fetch('/favicon.ico')")  # what left before has arrived
    assert [path for path in requested_paths if path != "/favicon.ico"] == []
