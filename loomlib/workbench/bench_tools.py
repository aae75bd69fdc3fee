"""What agents use as tools: AgentCore's browsers, code interpreters and web search, and Lambda functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from .context import Context

if TYPE_CHECKING:
    import pandas as pd

    from .bench_functions import BenchFunctions
    from .browser import Browser, BrowserOptions
    from .code_interpreter import CodeInterpreter


class BenchTools:
    """AgentCore's built-in tools, and functions of AWS Lambda; `bench.tools`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def functions(self) -> BenchFunctions:
        """The account's Lambda functions: list, get, create, call, delete."""
        from .bench_functions import BenchFunctions

        return BenchFunctions(self._context)

    def browsers(self, *, region: str | None = None) -> pd.DataFrame:
        """Return the browsers of which sessions can be started, one row each; AWS manages the first.

        Args:
            region: The AWS region; the connection's by default.
        """
        from ..aws.browsers import list_browsers
        from .frames import browser_frame

        return browser_frame(list_browsers(self._context.clients, region=region))

    def browser(self, browser: str | None = None, **options: Unpack[BrowserOptions]) -> Browser:
        """Return a session of a browser, which starts at its first use.

        Examples:
            >>> with bench.tools.browser() as browser:
            ...     url, headers = browser.connection()

        Args:
            browser: The browser's id or ARN; the one that AWS manages by default.
            options: `timeout_s`, `viewport` and `profile`; see `Browser`.
        """
        from .browser import MANAGED_BROWSER, Browser

        return Browser(self._context, browser or MANAGED_BROWSER, **options)

    def code_interpreter(self, interpreter: str | None = None, *, timeout_s: int = 900) -> CodeInterpreter:
        """Return a session of a code interpreter, which starts at its first use.

        Examples:
            >>> with bench.tools.code_interpreter() as code:
            ...     code.run("x = 20")
            ...     print(code.run("x + 1").text)

        Args:
            interpreter: The code interpreter's id or ARN; the one that AWS manages by default.
            timeout_s: Seconds after which the session ends, whatever runs in it; at most 28,800.
        """
        from .code_interpreter import MANAGED, CodeInterpreter

        return CodeInterpreter(self._context, interpreter or MANAGED, timeout_s=timeout_s)

    def web_search(
        self,
        query: str,
        *,
        k: int = 10,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> pd.DataFrame:
        """Search the web and return the results, one row each, the best first.

        The local AgentCore is offline: it searches the pages of `loom up --web-search-folder FOLDER`, and refuses
        without one.

        Examples:
            >>> bench.tools.web_search("python release notes", k=3, include=["python.org"])

        Args:
            query: What to search for, up to 200 characters.
            k: How many results at most, up to 25.
            include: Only pages of these domains and those below them.
            exclude: No pages of these domains.
            after: Only pages that were published then or later.
            before: Only pages that were published then or earlier.

        Raises:
            AwsError: The search failed.
        """
        from ..aws.web_search import search_web
        from .frames import web_result_frame

        found = search_web(
            self._context.clients, query, most=k, include=include, exclude=exclude, after=after, before=before
        )
        return web_result_frame(found)
