"""Tools around agents: AgentCore's own, Lambda functions, MCP servers, A2A agents, triggers, snapshot checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ..agents.protocols import CallbackOptions, Callbacks
from ..aws.browsers import list_browsers
from ..aws.web_search import search_web
from .context import Context

if TYPE_CHECKING:
    import pandas as pd

    from ..snapshot_check import SnapshotReport
    from .a2a_client import A2aClient
    from .agent_triggers import AgentTriggers
    from .bench_functions import BenchFunctions
    from .browser import Browser, BrowserOptions
    from .code_interpreter import CodeInterpreter
    from .mcp_client import McpClient
    from .snapshot_checks import CheckOptions


class BenchTools:
    """AgentCore's built-in tools, Lambda functions, and tools for agent developers; `bench.tools`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def functions(self) -> BenchFunctions:
        """The account's Lambda functions: list, get, create, call, delete."""
        from .bench_functions import BenchFunctions

        return BenchFunctions(self._context)

    def browsers(self, *, region: str | None = None) -> pd.DataFrame:
        """Return the browsers for which sessions can be started, one row each; AWS manages the first.

        Args:
            region: The AWS region; the connection's by default.
        """
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
            timeout_s: Seconds after which the session ends, even if work is still running; at most 28,800.
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

        The local AgentCore is offline: it searches the pages of `loom up --web-search-folder FOLDER`, and refuses the
        request without such a folder.

        Examples:
            >>> bench.tools.web_search("python release notes", k=3, include=["python.org"])

        Args:
            query: What to search for, up to 200 characters.
            k: Maximum number of results, up to 25.
            include: Only pages of these domains and their subdomains.
            exclude: Exclude pages of these domains.
            after: Only pages that were published at or after this time.
            before: Only pages that were published at or before this time.

        Raises:
            AwsError: The search failed.
        """
        from .frames import web_result_frame

        results = search_web(
            self._context.clients, query, most=k, include=include, exclude=exclude, after=after, before=before
        )
        return web_result_frame(results)

    def mcp(
        self,
        server: str | Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
        timeout_s: float | None = None,
        **callbacks: Unpack[CallbackOptions],
    ) -> McpClient:
        """Open an MCP session with any server: by its URL (streamable HTTP), or by its command (stdio).

            bench.tools.mcp("http://127.0.0.1:8000/mcp").tools()
            bench.tools.mcp(["python", "server.py"]).call("add", a=1, b=2).value

        Args:
            server: The URL, or the command as a list. Loom starts the command, and ends it with the client.
            headers: HTTP headers, such as Authorization; Loom does not store them.
            environment: Variables of the process. It inherits PATH, HOME and similar variables, but no keys.
            folder: The process's working directory.
            timeout_s: Timeout of each call in seconds.
            **callbacks: `on_progress`, `on_log`, `on_elicit`, `on_sample` and `roots`, as in
                `loomlib.agents.protocols.Callbacks`.

        Raises:
            ProtocolError: There is no MCP server, or it cannot be started.
        """
        from .protocol_sessions import open_server_mcp

        return open_server_mcp(
            self._context,
            server,
            Callbacks(**callbacks),
            headers=headers,
            environment=environment,
            folder=folder,
            timeout_s=timeout_s,
        )

    def a2a(self, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float | None = None) -> A2aClient:
        """Open a client of any A2A agent by its URL.

        Args:
            url: The agent's address; its card is at `/.well-known/agent-card.json` below it.
            headers: HTTP headers, such as Authorization; Loom does not store them.
            timeout_s: Timeout of each request in seconds.
        """
        from .protocol_sessions import open_server_a2a

        return open_server_a2a(self._context, url, headers=headers, timeout_s=timeout_s)

    def check_snapshot(self, source: str | Path, **options: Unpack[CheckOptions]) -> SnapshotReport:
        """Find what sessions of an agent would share when they are restored from a snapshot (platform V2).

            bench.tools.check_snapshot("my_agent/agent.py")

        Args:
            source: A blueprint's name, the path of an `agent.py` or of its folder, or an agent of the catalog.
            **options: `environment`, `warmup` and `progress`, as in `deploy`.
        """
        from .snapshot_checks import check_snapshot

        return check_snapshot(self._context, source, **options)

    def triggers(self, source: str | Path) -> AgentTriggers:
        """Return the triggers of an agent's `loom-agent.toml`: schedules, and new objects in S3.

            bench.tools.triggers("my_agent").fire("schedule-1").answer

        Args:
            source: A blueprint's name, or the path of an `agent.py` or of its folder.

        Raises:
            LoomError: There is no agent under that name or path, or its `loom-agent.toml` is invalid.
        """
        from .agent_triggers import AgentTriggers

        return AgentTriggers(self._context, source)
