"""Sessions of AgentCore's built-in tools: browsers and code interpreters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from .context import Context

if TYPE_CHECKING:
    from .browser import Browser, BrowserOptions
    from .code_interpreter import CodeInterpreter


class BenchTools:
    """AgentCore's built-in tools; `bench.tools`."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
