"""A browser in the Tools panel: pages of one session, shown as screenshots."""

# pyright: basic

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code
from ...kit.texts import short_text

if TYPE_CHECKING:
    from loomlib.workbench.browser import Browser

_VIEWPORT: Final = (1024, 640)


class BrowsingActions:
    """The panel's session, which starts with the first page."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._key = ""
        self._session: Browser | None = None

    @action(lane="browser")
    def open_page(self, form: Form) -> None:
        """Open an address in the session's page, and show it as a screenshot."""
        key, url = form.text("key"), form.text("url").strip()
        if not key:
            raise LoomError("No browser is chosen", try_="choose a row of the table")
        if not url:
            raise LoomError("There is no address", try_="such as https://example.com")
        opening = f"browser = bench.tools.browser({key!r}, viewport={_VIEWPORT})\n"
        calls = f"browser.open({url!r})\nbrowser.screenshot()"
        self._panel.show_code(f"{connect_code(self._panel.bench)}{opening}{calls}")
        if self._session is None or key != self._key:
            self.close()
            self._panel.say("Starting a session …")
            self._key, self._session = key, self._panel.bench.tools.browser(key, viewport=_VIEWPORT)
        began = time.perf_counter()
        title = self._session.open(url)
        took = milliseconds((time.perf_counter() - began) * 1_000)
        image = base64.b64encode(self._session.screenshot().png).decode()
        page: dict[str, Any] = {
            "key": key,
            "title": short_text(title),
            "url": short_text(url),
            "image": image,
            "took": took,
            "labels": list(self._panel.bench.context.labels),
        }
        self._panel.show(page=page)
        self._panel.say(f"Opened in {took}.")

    @action(lane="browser")
    def stop_browser(self) -> Mapping[str, Any]:
        """Stop the session with its pages."""
        self.close()
        self._panel.show(page={})
        self._panel.say("The session has ended. The next address starts a new one.")
        return {}

    def close(self) -> None:
        """Stop the session, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
