"""Agents that speak MCP in the Test panel: tools, resources and prompts with forms, log lines and roots."""

# pyright: basic

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from loomlib import Agent
from loomlib.agents.protocols import LogMessage, ProgressNotification
from loomlib.errors import LoomError
from loomlib.json_values import as_mapping
from loomlib.presentation.formats import number, size

from ...kit import Cancel, Form, PanelPort, action
from ...kit.schema_forms import fields_of, template_fields, template_uri, values_of
from .agent_calls import AgentCalls
from .code import opening_code
from .conversation import ChatConversation
from .server_questions import ServerQuestions
from .words import short_text, well_formed

if TYPE_CHECKING:
    from loomlib.workbench.mcp_client import McpClient, RunningCall
    from loomlib.workbench.protocol_call import ProtocolCall


_MOST_LISTED: Final = 500
_MOST_ROOTS: Final = 50
_PROGRESS_INTERVAL_S: Final = 0.1


class McpActions:
    """The MCP session of the chosen agent."""

    def __init__(
        self, panel: PanelPort, conversation: ChatConversation, calls: AgentCalls, questions: ServerQuestions
    ) -> None:
        self._panel, self._conversation, self._calls, self._questions = panel, conversation, calls, questions
        self._client: McpClient | None = None
        self._key: tuple[object, ...] | None = None
        self._call = ""
        """The last call as Python."""
        self._callback_answers: dict[str, str] = {}
        """The answers to the server's questions during the last call, as Python by the callbacks' names."""
        self._agent: Agent | None = None
        self._progress_s = 0.0
        conversation.on_leave.append(self.close)
        questions.on_answer.append(self._note_answer)

    @action(lane="invoke")
    def server(self, form: Form) -> Mapping[str, Any]:
        """Open an MCP session and return what the server says about itself."""
        client = self._open_client(form, "mcp.server, mcp.capabilities, mcp.instructions")
        names = [str(client.server.get(key) or "") for key in ("title", "name", "version")]
        facts = [
            ("server", " ".join(dict.fromkeys(filter(None, names)))),
            ("protocol", client.protocol_version),
            ("offers", ", ".join(map(str, client.capabilities))),
            ("instructions", client.instructions),
            ("session", client.session_id),
        ]
        return {"facts": [[name, short_text(value)] for name, value in facts if value]}

    @action(lane="invoke")
    def tools(self, form: Form) -> Mapping[str, Any]:
        """Return the server's tools with the fields of their forms."""
        client = self._open_client(form, "mcp.tools()")
        listed = client.tools().to_dict("records")
        return self._listed(client, "tool", [_form(row, row["name"], row["input_schema"]) for row in listed])

    @action(lane="invoke")
    def resources(self, form: Form) -> Mapping[str, Any]:
        """Return the server's resources and templates; a template's variables are the fields of its form."""
        client = self._open_client(form, "mcp.resources()")
        return self._listed(client, "resource", [_resource(row) for row in client.resources().to_dict("records")])

    @action(lane="invoke")
    def prompts(self, form: Form) -> Mapping[str, Any]:
        """Return the server's prompts with the fields of their forms."""
        client = self._open_client(form, "mcp.prompts()")
        listed = client.prompts().to_dict("records")
        return self._listed(client, "prompt", [_form(row, row["name"], row["input_schema"]) for row in listed])

    @action(lane="invoke")
    def call_tool(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Call a tool with the values of its form; the call becomes a turn."""
        client, name = self._open_client(form), form.text("name")
        arguments = values_of(as_mapping(client.tool(name).get("inputSchema")), as_mapping(form.get("values")))
        self._show_call(f"mcp.start({name!r}, {arguments!r}).result().value")
        running = client.start(name, arguments)  # rejects invalid arguments before a turn starts
        return self._run_call(client, running, f"{name}({_listing(arguments)})", cancel)

    @action(lane="invoke")
    def read_resource(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Read a resource, or the one that a template names with the values of its form; the call becomes a turn."""
        client = self._open_client(form)
        uri = template_uri(form.text("name"), as_mapping(form.get("values")))
        self._show_call(f"mcp.read({uri!r}).text")
        return self._run_call(client, client.start_read(uri), uri, cancel)

    @action(lane="invoke")
    def get_prompt(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Get a prompt with the values of its form; the call becomes a turn."""
        client, name = self._open_client(form), form.text("name")
        values = as_mapping(form.get("values"))
        arguments = {key: value for key, value in values.items() if isinstance(value, str) and value}
        self._show_call(f"mcp.start_prompt({name!r}, {arguments!r}).result().text")
        return self._run_call(client, client.start_prompt(name, arguments), f"{name}({_listing(arguments)})", cancel)

    @action(lane="invoke")
    def log_level(self, form: Form) -> None:
        """Ask the server for log lines of a level and above."""
        level = form.text("level")
        client = self._open_client(form, f"mcp.set_log_level({level!r})")
        client.set_log_level(level)
        self._panel.say(f"The server sends log lines of the level {level} and above.")

    def _run_call(self, client: McpClient, running: RunningCall, title: str, cancel: Cancel) -> Mapping[str, Any]:

        def stop() -> None:
            running.cancel()
            self._questions.drop()  # after the cancellation: a declined question would otherwise end the call first

        cancel.then(stop)
        assert self._agent is not None
        turn = self._conversation.begin_turn(well_formed(title), client.session_id)
        turn.is_prompt = False

        def listen() -> ProtocolCall:
            call = running.result()
            if call.failure == "transport":  # the runtime session has ended; the next call opens a new one
                with suppress(LoomError):
                    self.close()
            return call

        try:
            return self._calls.finish(self._agent, turn, listen)
        finally:
            self._questions.drop()

    def _listed(self, client: McpClient, noun: str, items: list[dict[str, Any]]) -> Mapping[str, Any]:
        count = f"{len(items)} {noun}{'s' * (len(items) != 1)}"
        self._panel.say(f"{count} · protocol {client.protocol_version}")
        return {"items": items[:_MOST_LISTED], "session": client.session_id}

    def _open_client(self, form: Form, call: str = "") -> McpClient:
        """Return the open session of the chosen agent with these roots; another one is closed."""
        agent, session = self._conversation.agent_of(form), form.text("session")
        roots = tuple(line.strip() for line in form.text("roots").splitlines() if line.strip())[:_MOST_ROOTS]
        self._agent, key = agent, (agent.arn, agent.qualifier, roots)
        client = self._client
        if client is None or self._key != key or session not in ("", client.session_id):
            self.close()
            self._panel.say(f"Opening an MCP session with {agent.name} …")
            self._client = client = agent.protocols.mcp(
                session_id=session or None,
                on_progress=self._show_progress,
                on_log=self._show_log,
                on_elicit=self._questions.ask,
                on_sample=self._questions.ask,
                roots=roots,
            )
            self._key = key
        if call:
            self._show_call(call)
        return client

    def _show_call(self, call: str) -> None:
        self._call, self._callback_answers = call, {}
        self._show_answered()

    def _note_answer(self, callback: str, answer: str) -> None:
        self._callback_answers[callback] = answer
        self._show_answered()

    def _show_answered(self) -> None:
        agent, roots = self._agent, list(self._key[-1]) if self._key else []  # type: ignore[call-overload]
        if agent is None:
            return
        options = [f"roots={roots!r}"] if roots else []
        options += [f"{name}={value}" for name, value in self._callback_answers.items()]
        self._panel.show_code(f"{opening_code(agent)}\nmcp = agent.protocols.mcp({', '.join(options)})\n{self._call}")

    def close(self) -> None:
        """Close the MCP session, if one is open."""
        client, self._client, self._key = self._client, None, None
        if client is not None:
            client.close()

    def _show_progress(self, progress: ProgressNotification) -> None:
        total = "" if progress.total is None else f" of {number(progress.total)}"
        share = progress.progress / progress.total if progress.total else None
        text = f"{number(progress.progress)}{total} {short_text(progress.message)}".rstrip()
        item = {"kind": "progress", "text": text, "share": share, "data": f"progress {text}"}
        is_kept = self._show_in_turn(item)
        if time.monotonic() - self._progress_s < _PROGRESS_INTERVAL_S:
            return
        self._progress_s = time.monotonic()
        self._panel.say(f"{short_text(progress.message) or 'Progress'}: {number(progress.progress)}{total} …")
        if not is_kept and self._conversation.turns:  # the list of events is full; the progress bar continues
            self._panel.send_message("pieces", turn=self._conversation.turns[-1].id, items=[{**item, "unlisted": True}])

    def _show_log(self, line: LogMessage) -> None:
        text = f"{short_text(line.level)} {short_text(line.logger)}".rstrip()
        self._show_in_turn({"kind": "log", "data": f"{text}: {short_text(line.data)}"})

    def _show_in_turn(self, item: dict[str, Any]) -> bool:
        """Show a report of the server at the running call, or in the session's list when no call runs.

        Returns:
            Whether it is listed: a turn keeps a limited number of events.
        """
        turn = self._conversation.turns[-1] if self._conversation.turns else None
        if turn is None or turn.status != "streaming":
            self._panel.send_message("server_log", text=item["data"])
            return True
        if pieces := turn._keep(item):
            self._panel.send_message("pieces", turn=turn.id, items=pieces)
        return bool(pieces)


def _form(row: Mapping[Any, Any], name: str, schema: object) -> dict[str, Any]:
    return {
        "name": well_formed(str(name)),
        "label": short_text(str(name)),
        "description": short_text(row["description"]),
        "fields": fields_of(as_mapping(schema)),
    }


def _resource(row: Mapping[Any, Any]) -> dict[str, Any]:
    uri = well_formed(str(row["uri"]))
    length = row.get("size")
    size_text = size(length) if isinstance(length, int | float) and length == length else ""
    about = " · ".join(
        filter(None, [*(str(row[key] or "") for key in ("name", "description", "mime_type")), size_text])
    )
    return {
        "name": uri,
        "label": short_text(uri),
        "description": short_text(about),
        "fields": template_fields(uri) if row["is_template"] else [],
    }


def _listing(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
