"""An MCP client for notebooks: tools, resources and prompts of an agent or of any MCP server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks, ProgressNotification
from ..agents.protocols.measuring import CallOutcome
from ..agents.protocols.running import RunInCaller, Running
from ..agents.protocols.schemas import check_arguments
from ..agents.protocols.stdio_channel import StdioChannel
from ..aws.engine import shared_engine
from ..closing import Closing
from ..errors import LoomError, ProtocolError, ToolNotFoundError
from ..json_values import as_list, as_mapping, as_text
from ..presentation.html import card
from .context import Context
from .frames import invocation_frame, rows_frame
from .protocol_call import ProtocolCall

if TYPE_CHECKING:
    import pandas as pd

    from .session_target import SessionTarget

OpenSession = Callable[[str | None, Callbacks], McpSession]
"""Creates a session that is not open yet; for a new runtime session if the id is None."""

_TOOLS: Final = ("name", "description", "arguments", "input_schema", "output_schema", "annotations")
_RESOURCES: Final = ("uri", "name", "description", "mime_type", "size", "is_template")
_PROMPTS: Final = ("name", "description", "arguments", "input_schema")
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class RunningCall:
    """A call in progress; returned by `McpClient.start`."""

    def __init__(self, running: Running[CallOutcome], finish: Callable[[CallOutcome], ProtocolCall]) -> None:
        self._running, self._finish = running, finish

    @property
    def is_done(self) -> bool:
        """Whether the call has ended."""
        return self._running.is_done

    def cancel(self) -> None:
        """Cancel: the server gets `notifications/cancelled`, and the call is stored with the failure "cancelled"."""
        self._running.cancel()

    def result(self) -> ProtocolCall:
        """Wait for the call; callbacks run in this thread meanwhile."""
        return self._finish(self._running.result())


class McpClient(Closing):
    """An open MCP session; returned by `Agent.protocols.mcp` and `Workbench.tools.mcp`. Close it, or use it in `with`.

        mcp = agent.protocols.mcp()
        mcp.tools()
        mcp.call("add", a=1, b=2).value

    Every call is stored as an invocation with its transcript.

    Args:
        make_session: Creates sessions.
        callbacks: Handlers of the server's notifications and requests.
        context: The workbench's resources.
        session_id: The runtime session to use; a new one by default.
        stop_session: Ends a runtime session; None where there is none.
        timeout_s: Timeout of each call in seconds.
    """

    def __init__(
        self,
        make_session: OpenSession,
        callbacks: Callbacks,
        context: Context,
        *,
        session_id: str | None = None,
        stop_session: Callable[[str], object] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._engine, self._make, self._callbacks, self.context = shared_engine(), make_session, callbacks, context
        self._session = make_session(session_id, callbacks)
        self.timeout_s = timeout_s
        self._stop_session, self._is_own = stop_session, session_id is None
        self._tools: list[Mapping[str, Any]] | None = None
        self._tool_changes = 0
        self._is_closed = False
        try:
            outcome = self._run(lambda _run: self._session.open(timeout_s=timeout_s))
        except BaseException:  # the caller gets no client that it could close
            with suppress(LoomError):
                self._end_own_session()
            raise
        self.opened = self._call_of("initialize", outcome)

    @property
    def name(self) -> str:
        """The agent's or server's name."""
        return self._session.entry.name

    @property
    def server(self) -> Mapping[str, Any]:
        """The server's own name and version: `name`, `version`, and possibly `title`."""
        return self._session.server

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The server's capabilities."""
        return self._session.capabilities

    @property
    def instructions(self) -> str:
        """The server's instructions for a model."""
        return self._session.instructions

    @property
    def protocol_version(self) -> str:
        """The version of the protocol that both sides speak."""
        return self._session.protocol_version

    @property
    def session_id(self) -> str:
        """The runtime session."""
        return self._session.session_id

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines of the server's stderr; empty unless Loom started the server."""
        channel = self._session.channel
        return tuple(channel.log) if isinstance(channel, StdioChannel) else ()

    def tools(self) -> pd.DataFrame:
        """Return the server's tools, one row each, with the JSON schemas of arguments and results."""
        rows = [
            {
                "name": as_text(tool.get("name")),
                "description": as_text(tool.get("description")) or as_text(tool.get("title")),
                "arguments": _signature(as_mapping(tool.get("inputSchema"))),
                "input_schema": tool.get("inputSchema"),
                "output_schema": tool.get("outputSchema"),
                "annotations": tool.get("annotations"),
            }
            for tool in self._known_tools(refresh=True)
        ]
        return rows_frame(rows, _TOOLS)

    def resources(self) -> pd.DataFrame:
        """Return the server's resources and resource templates, one row each."""
        listed = self._run(lambda _run: self._session.list("resources"))
        templates = self._run(lambda _run: self._session.list("resources/templates"))
        rows = [
            {
                "uri": as_text(one.get("uri")) or as_text(one.get("uriTemplate")),
                "name": as_text(one.get("name")),
                "description": as_text(one.get("description")),
                "mime_type": as_text(one.get("mimeType")),
                "size": one.get("size"),
                "is_template": "uriTemplate" in one,
            }
            for one in (*listed, *templates)
        ]
        return rows_frame(rows, _RESOURCES)

    def prompts(self) -> pd.DataFrame:
        """Return the server's prompts, one row each, with the JSON schemas of their arguments, which are strings."""
        rows = [
            {
                "name": as_text(one.get("name")),
                "description": as_text(one.get("description")) or as_text(one.get("title")),
                "arguments": ", ".join(
                    f"{as_text(argument.get('name'))}{'' if argument.get('required') else '?'}"
                    for argument in map(as_mapping, as_list(one.get("arguments")))
                ),
                "input_schema": _prompt_schema(as_list(one.get("arguments"))),
            }
            for one in self._run(lambda _run: self._session.list("prompts"))
        ]
        return rows_frame(rows, _PROMPTS)

    def tool(self, name: str) -> Mapping[str, Any]:
        """Return a tool in the protocol's form.

        Raises:
            ToolNotFoundError: The server has no such tool; the message lists its tools.
        """
        for refresh in (False, True):
            for tool in self._known_tools(refresh=refresh):
                if tool.get("name") == name:
                    return tool
        names = ", ".join(as_text(tool.get("name")) for tool in self._known_tools())
        raise ToolNotFoundError(
            "The server has no such tool", on=f"{name!r} of {self.name}", try_=names or "a server with tools"
        )

    def call(self, tool: str, /, **arguments: Any) -> ProtocolCall:
        """Call a tool and wait for its result. A failed tool call has `ok` False.

            mcp.call("add", a=1, b=2).value

        Args:
            tool: The tool's name.
            **arguments: Its arguments, checked against the schema before anything is sent.

        Raises:
            ToolNotFoundError: The server has no such tool.
            InvalidArgumentsError: The arguments do not match the tool's schema.
        """
        return self.start(tool, arguments).result()

    def start(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[ProgressNotification], object] | None = None,
        timeout_s: float | None = None,
    ) -> RunningCall:
        """Start a call; `result()` waits for it, `cancel()` cancels it.

        Args:
            tool: The tool's name.
            arguments: Its arguments, checked against the schema before anything is sent.
            on_progress: Called with each progress notification of this call; the client's by default.
            timeout_s: Timeout of the call in seconds; the client's by default.
        """
        call_arguments = dict(arguments or {})
        schema = as_mapping(self.tool(tool).get("inputSchema"))
        check_arguments(call_arguments, schema, what=f"The arguments of {tool}", on=self.name)
        return self._start(
            f"{tool}({', '.join(f'{name}={value!r}' for name, value in call_arguments.items())[:200]})",
            "tools/call",
            {"name": tool, "arguments": call_arguments},
            prompt=json.dumps({"tool": tool, "arguments": call_arguments}, ensure_ascii=False),
            on_progress=on_progress,
            timeout_s=timeout_s,
        )

    def read(self, uri: str) -> ProtocolCall:
        """Read a resource."""
        return self.start_read(uri).result()

    def start_read(self, uri: str) -> RunningCall:
        """Start reading a resource; `result()` waits for it, `cancel()` cancels it."""
        return self._start(uri, "resources/read", {"uri": uri}, prompt=json.dumps({"resource": uri}))

    def prompt(self, name: str, /, **arguments: str) -> ProtocolCall:
        """Return a prompt with its arguments filled in; `text` has its messages."""
        return self.start_prompt(name, arguments).result()

    def start_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> RunningCall:
        """Start getting a prompt; `result()` waits for it, `cancel()` cancels it."""
        params = {"name": name, "arguments": dict(arguments or {})}
        prompt = json.dumps({"prompt": name, "arguments": params["arguments"]}, ensure_ascii=False)
        return self._start(name, "prompts/get", params, prompt=prompt)

    def set_log_level(self, level: str) -> None:
        """Request log notifications of this level and above; `on_log` receives them."""
        if level not in _LEVELS:
            raise ValueError(f"level must be one of {', '.join(_LEVELS)}, not {level!r}")
        self._run(lambda _run: self._session.request("logging/setLevel", {"level": level}))

    def set_roots(self, roots: Sequence[str | Path]) -> None:
        """Replace the roots; the server is notified and may then request them.

        Args:
            roots: Folders or URIs.

        Raises:
            ProtocolError: The client was opened without `roots=`.
        """
        self._run(lambda _run: self._session.set_roots(roots))

    def ping(self) -> None:
        """Check that the server responds.

        Raises:
            LoomError: It does not respond.
        """
        self._run(lambda _run: self._session.request("ping"))

    def history(self, *, limit: int = 100) -> pd.DataFrame:
        """Return the stored requests to this agent or server, newest first."""
        return invocation_frame(self.context.store.invocations.list(self._session.entry.id, limit=limit))

    def eval_target(self, tool: str | None = None) -> SessionTarget:
        """Return this server as the target of an evaluation or a latency study.

            loom.evaluate(mcp.eval_target("add"), evalset)

        Args:
            tool: The tool; a case's payload or prompt (as JSON) then contains its arguments. By default, the payload or
                prompt is `{"tool": …, "arguments": {…}}`.
        """
        from .session_target import SessionTarget

        def make(session_id: str) -> McpSession:
            return self._make(session_id, Callbacks())

        return SessionTarget(make, self._session.entry, self.context, tool=tool, end_session=self._stop_session)

    def close(self) -> None:
        """End the session, and the runtime session or process that this client started."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._run(lambda _run: self._session.close())
        finally:
            self._end_own_session()

    def _end_own_session(self) -> None:
        if self._stop_session is not None and self._is_own:
            self._stop_session(self.session_id)

    def _known_tools(self, *, refresh: bool = False) -> Sequence[Mapping[str, Any]]:
        changes = self._session.tool_changes
        if self._tools is None or refresh or changes != self._tool_changes:
            tools: list[Mapping[str, Any]] = self._run(lambda _run: self._session.list("tools"))
            self._tools, self._tool_changes = tools, changes
        return self._tools

    def _start(
        self,
        title: str,
        method: str,
        params: Mapping[str, Any],
        *,
        prompt: str,
        on_progress: Callable[[ProgressNotification], object] | None = None,
        timeout_s: float | None = None,
    ) -> RunningCall:
        if self._is_closed:
            again = "agent.protocols.mcp() or bench.tools.mcp(…) again"
            raise ProtocolError("The session is closed", on=self.name, try_=again)
        limit = self.timeout_s if timeout_s is None else timeout_s

        def make(run_in_caller: RunInCaller) -> Any:
            return self._session.call(
                method, params, prompt=prompt, timeout_s=limit, on_progress=on_progress, run_in_caller=run_in_caller
            )

        return RunningCall(Running(self._engine, make), lambda outcome: self._call_of(title, outcome))

    def _call_of(self, title: str, outcome: CallOutcome) -> ProtocolCall:
        entry = self._session.entry
        return ProtocolCall(title, outcome.record, outcome.result, outcome.events, self.context, entry)

    def _run(self, make: Callable[[RunInCaller], Any]) -> Any:
        return Running(self._engine, make).result()

    def __repr__(self) -> str:
        return f"<MCP client of {self.name}: {self.server.get('name', '')}, protocol {self.protocol_version}>"

    def _repr_html_(self) -> str:
        return card(
            f"{self.name} · MCP",
            state=("wait", "closed") if self._is_closed else ("good", "open"),
            labels=self.context.labels,
            facts=[
                ("server", " ".join(str(self.server.get(key, "")) for key in ("name", "version")).strip()),
                ("protocol", self.protocol_version),
                ("offers", ", ".join(self.capabilities)),
                ("tools", ", ".join(as_text(tool.get("name")) for tool in self._tools or ()) or "mcp.tools()"),
                ("session", self.session_id),
            ],
            note=self.instructions,
        )


def _signature(schema: Mapping[str, Any]) -> str:
    """Return the arguments of a schema in one line, optional ones with a question mark."""
    required = as_list(schema.get("required"))
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {as_mapping(part).get('type', 'any')}"
        for name, part in as_mapping(schema.get("properties")).items()
    )


def _prompt_schema(arguments: Sequence[Any]) -> Mapping[str, Any]:
    """Return the JSON schema of a prompt's arguments; MCP lists them without one."""
    arguments_by_name = {as_text(argument.get("name")): argument for argument in map(as_mapping, arguments)}
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": as_text(argument.get("description"))}
            for name, argument in arguments_by_name.items()
        },
        "required": [name for name, argument in arguments_by_name.items() if argument.get("required") is True],
    }
