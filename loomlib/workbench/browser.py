"""Browser sessions from notebooks: `bench.tools.browser()`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from ..aws.browser_pages import open_page
from ..aws.browsers import (
    MANAGED_BROWSER,
    StartedBrowser,
    automation_headers,
    browser_screenshot,
    presigned_live_view,
    save_browser_profile,
    start_browser,
    stop_browser,
)
from ..closing import Closing
from ..errors import NotSupportedError
from ..presentation.formats import size
from ..presentation.html import picture
from .context import Context

_MOST_EXPIRES_S = 300  # what AgentCore's SDK allows


@dataclass(frozen=True, slots=True)
class PageImage:
    """A screenshot, which a notebook shows.

    Attributes:
        png: The image.
    """

    png: bytes

    def save(self, path: str | Path) -> Path:
        """Write the image to a file and return its path."""
        file = Path(path)
        file.write_bytes(self.png)
        return file

    def _repr_html_(self) -> str:
        return picture(self.png, about="Screenshot of the browser's page", caption=f"PNG, {size(len(self.png))}")

    def __repr__(self) -> str:
        return f"<PageImage: PNG, {size(len(self.png))}>"


class BrowserOptions(TypedDict, total=False):
    """Options of a session; see `Browser`."""

    timeout_s: int
    viewport: tuple[int, int] | None
    profile: str


class Browser(Closing):
    """A session of a browser, started at the first call and stopped by `close()` or at the end of `with`.

    Playwright, or any other client of the Chrome DevTools Protocol, drives it.

    Examples:
        >>> from playwright.sync_api import sync_playwright
        >>> with bench.tools.browser() as browser, sync_playwright() as playwright:
        ...     url, headers = browser.connection()
        ...     page = playwright.chromium.connect_over_cdp(url, headers=headers).contexts[0].pages[0]
        ...     page.goto("https://example.com")
        ...     browser.screenshot().save("page.png")

    Args:
        context: The workbench's resources.
        browser: The browser's id or ARN.
        timeout_s: Seconds after which the session ends, even if work is still running; at most 28,800.
        viewport: Width and height of the pages in pixels; the service's own if None.
        profile: The id of the saved profile that it starts with; empty for a new one.
    """

    def __init__(
        self,
        context: Context,
        browser: str = MANAGED_BROWSER,
        *,
        timeout_s: int = 3_600,
        viewport: tuple[int, int] | None = None,
        profile: str = "",
    ) -> None:
        self._context, self.browser, self.timeout_s = context, browser, timeout_s
        self.viewport, self.profile = viewport, profile
        self._started_browser: StartedBrowser | None = None

    @property
    def session_id(self) -> str:
        """The session's id; empty until the first call."""
        return self._started_browser.session_id if self._started_browser else ""

    def connection(self) -> tuple[str, dict[str, str]]:
        """Return the address of the Chrome DevTools Protocol and the headers that open it within five minutes."""
        address = self._session().automation
        return address, automation_headers(self._context.clients, address)

    def open(self, url: str, *, timeout_s: float = 30.0) -> str:
        """Open an address in the session's first page, wait until it is loaded, and return its title.

        Args:
            url: The address.
            timeout_s: Maximum wait in seconds.

        Raises:
            RequestRejectedError: The browser cannot open the address.
            RequestTimeoutError: The page did not load in time.
        """
        return open_page(self._context.clients, self._session().automation, url, timeout_s=timeout_s)

    def screenshot(self) -> PageImage:
        """Return an image of what the browser shows.

        Raises:
            ConflictError: The session has ended.
            ServiceFailedError: The browser did not return a screenshot.
        """
        return PageImage(browser_screenshot(self._context.clients, self.browser, self._session().session_id))

    def live_view_url(self, *, expires_s: int = _MOST_EXPIRES_S) -> str:
        """Return the address of a page with the live view: screenshots locally; on AWS a stream for the AWS SDK.

        Args:
            expires_s: Seconds for which the address is valid; at most 300.

        Raises:
            NotSupportedError: The session has no live view.
        """
        if not 0 < expires_s <= _MOST_EXPIRES_S:
            raise ValueError(f"expires_s must be from 1 to {_MOST_EXPIRES_S}, not {expires_s}")
        session = self._session()
        if not session.live_view:
            raise NotSupportedError(
                "This session has no live view", on=session.session_id, try_="take screenshots with .screenshot()"
            )
        return presigned_live_view(self._context.clients, session.live_view, expires_s=expires_s)

    def save_profile(self, profile: str) -> None:
        """Save the session's cookies and local storage, with which a later session can start.

        Args:
            profile: The id of a browser profile (CreateBrowserProfile).
        """
        save_browser_profile(self._context.clients, self.browser, self._session().session_id, profile)

    def close(self) -> None:
        """Stop the session with all its pages; without effect if none was started."""
        if self._started_browser is not None:
            session, self._started_browser = self._started_browser, None
            stop_browser(self._context.clients, self.browser, session.session_id)

    def _session(self) -> StartedBrowser:
        if self._started_browser is None:
            self._started_browser = start_browser(
                self._context.clients,
                self.browser,
                timeout_s=self.timeout_s,
                viewport=self.viewport,
                profile=self.profile,
            )
        return self._started_browser

    def __repr__(self) -> str:
        return f"<Browser: {self.browser}, {self.session_id or 'no session yet'}>"
