"""Agents that speak MCP and A2A in the Test panel: tools with forms, questions of a server, tasks and artifacts."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from loomlib import Agent
from loomlib.agents import new_session_id
from loomlib.agents.protocols import Elicitation, Progress
from loomlib.errors import LoomError
from loomlib.json_values import as_list, as_mapping, as_text

from ...kit import Cancel, Form, action
from .conversing import Conversing
from .figures import figures_of
from .tool_forms import fields_of, values_of
from .words import short_text, well_formed

if TYPE_CHECKING:
    from loomlib.workbench.mcp_client import McpClient
    from loomlib.workbench.protocol_call import ProtocolCall

    from .turns import PanelTurn

_MOST_TOOLS: Final = 500


class Speaking(Conversing):
    """The MCP session of the chosen agent, and messages to A2A agents."""

    _bearer: str
    _mcp: McpClient | None = None
    _mcp_key: tuple[str, str, str] | None = None
    _question: tuple[Event, dict[str, Any], Mapping[str, Any]] | None = None

    @action(lane="invoke")
    def tools(self, form: Form) -> Mapping[str, Any]:
        """Open an MCP session and return the server's tools with the fields of their forms."""
        agent = self._agent_of(form)
        self.say(f"Opening an MCP session with {agent.name} …")
        client = self._mcp_client(agent, form.text("session"))
        self.show_code(f"{self._opening(agent)}\nmcp = agent.mcp()\nmcp.tools()")
        listed = client.tools().to_dict("records")[:_MOST_TOOLS]
        self.say(f"{len(listed)} tools · protocol {client.protocol_version}")
        return {
            "tools": [
                {
                    "name": short_text(tool["name"]),
                    "description": short_text(tool["description"]),
                    "fields": fields_of(as_mapping(tool["input_schema"])),
                }
                for tool in listed
            ],
            "session": client.session_id,
        }

    @action(lane="invoke")
    def call_tool(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Call a tool with the values of its form; the call becomes a turn."""
        agent = self._agent_of(form)
        client = self._mcp_client(agent, form.text("session"))
        tool = form.text("tool")
        schema = as_mapping(client.tool(tool).get("inputSchema"))
        arguments = values_of(schema, as_mapping(form.get("arguments")))
        self.show_code(f"{self._opening(agent)}\nmcp = agent.mcp()\nmcp.start({tool!r}, {arguments!r}).result().value")
        running = client.start(tool, arguments)  # refuses what does not fit before a turn begins
        cancel.then(running.cancel)
        cancel.then(self._drop_question)
        turn = self._begin_turn(f"{tool}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})", client.session_id)
        turn.is_prompt = False
        return self._finish(agent, turn, running.result)

    @action(lane="invoke")
    def agent_card(self, form: Form) -> Mapping[str, Any]:
        """Return the card of an A2A agent."""
        agent = self._agent_of(form)
        self.show_code(f"{self._opening(agent)}\na2a = agent.a2a()\na2a.card()")
        with agent.a2a(session_id=form.text("session") or None) as a2a:
            return {"facts": card_facts(a2a.card())}

    @action(lane="question")
    def answer_server(self, form: Form) -> None:
        """Answer a question that a server asks during a call: accept with the form's values, decline or cancel."""
        if self._question is None:
            raise LoomError("This question can no longer be answered", try_="call the tool again")
        settled, answer, schema = self._question
        if form.text("action") == "accept":
            answer["values"] = values_of(schema, as_mapping(form.get("values")))
        else:
            answer["values"] = "cancel" if form.text("action") == "cancel" else None
        settled.set()

    def _ask_a2a(self, agent: Agent, prompt: str, session: str, cancel: Cancel) -> Mapping[str, Any]:
        """Send a message to an A2A agent as a new turn; its task and artifacts are cards that change meanwhile."""
        call = f"a2a = agent.a2a()\ncall = a2a.send({prompt!r})\ncall.task, call.artifacts"
        self.show_code(f"{self._opening(agent)}\n{call}")
        session_id = session or new_session_id()
        with agent.a2a(session_id=session_id) as a2a:
            turn = self._begin_turn(prompt, session_id)
            self.send_message("session", turn=turn.id, session=session_id)
            task_id, context_id = self._waiting_task(session_id)
            stream = a2a.stream(prompt, task_id=task_id, context_id=context_id)
            cancel.then(stream.cancel)

            def listen() -> ProtocolCall:
                results: list[Mapping[str, Any]] = []
                with self.stream("pieces", turn=turn.id) as pieces:
                    for event in stream:
                        results.append(event.result)
                        for item in _cards(results):
                            pieces.put(item)
                call = stream.result()
                turn.tasks = turn.tools = _cards(results)
                if call.state in ("input-required", "auth-required"):
                    self._a2a_waiting = (session_id, call.task.id, call.task.context_id)
                return call

            return self._finish(agent, turn, listen)

    _a2a_waiting: tuple[str, str, str] | None = None

    def _waiting_task(self, session_id: str) -> tuple[str | None, str | None]:
        """Return the task and context that wait for the next message of this session; once."""
        waiting, self._a2a_waiting = self._a2a_waiting, None
        if waiting is None or waiting[0] != session_id:
            return None, None
        return waiting[1], waiting[2]

    def _finish(self, agent: Agent, turn: PanelTurn, listen: Any) -> Mapping[str, Any]:
        try:
            call: ProtocolCall = listen()
            invocation = call.invocation
            if not turn.text:
                turn._add(invocation.text)
            turn.end(invocation)
            turn.figures = figures_of(invocation)
            if turn in self._turns:
                self._show_agent(agent.name, agent.qualifier, turn.session)
        except Exception:
            turn.status, turn.sentence = "error", "The request broke off."
            raise
        finally:
            self._drop_question()
            self.send_message("ended", **turn.message())
        self._ended(agent, turn)
        return {"turn": turn.id}

    def _agent_of(self, form: Form) -> Agent:
        self._bearer = form.text("bearer").strip()
        return self._agent(form.text("agent"), form.text("qualifier", "DEFAULT"))

    def _mcp_client(self, agent: Agent, session: str) -> McpClient:
        """Return the open session of the chosen agent; another one is closed."""
        key = (agent.arn, agent.qualifier, session)
        client = self._mcp
        is_same = self._mcp_key is not None and self._mcp_key[:2] == key[:2]
        if client is not None and is_same and session in ("", client.session_id):
            return client
        self._close_mcp()
        self._mcp = agent.mcp(
            session_id=session or None,
            on_progress=self._show_progress,
            on_elicit=self._elicit,
        )
        self._mcp_key = key
        return self._mcp

    def _close_mcp(self) -> None:
        client, self._mcp, self._mcp_key = self._mcp, None, None
        if client is not None:
            client.close()

    def _show_progress(self, progress: Progress) -> None:
        total = "" if progress.total is None else f" of {progress.total:g}"
        self.say(f"{short_text(progress.message) or 'Progress'}: {progress.progress:g}{total} …")
        if self._turns:
            item = {"kind": "event", "data": f"progress {progress.progress:g}{total} {short_text(progress.message)}"}
            self.send_message("pieces", turn=self._turns[-1].id, items=[item])

    def _elicit(self, question: Elicitation) -> Mapping[str, Any] | str | None:
        """Show a question of the server and wait for its answer."""
        settled, answer = Event(), dict[str, Any]()
        self._question = (settled, answer, question.schema)
        self.send_message("question", **self._question_message(question))
        self.say("The server asks a question.")
        settled.wait()
        return answer.get("values")

    def _question_message(self, question: Elicitation) -> dict[str, Any]:
        return {
            "message": short_text(question.message),
            "fields": fields_of(question.schema),
            "url": well_formed(question.url)[:2_000],
        }

    def _drop_question(self) -> None:
        question, self._question = self._question, None
        if question is not None:
            question[0].set()
        self.send_message("question")

    def close(self) -> None:
        """End the MCP session, then close the panel."""
        self._drop_question()
        self._close_mcp()
        super().close()


def _cards(results: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a task and its artifacts as cards of a turn."""
    from loomlib.agents.protocols.a2a_values import ENDED, WAITING, fold_task

    task = fold_task(results)
    if not task.id:
        return []
    is_over = task.state in ENDED | WAITING
    state = "done" if task.state == "completed" else task.state if is_over else "running"
    head = {"kind": "tool", "id": task.id, "name": f"task {task.id[:8]}", "state": state, "arguments": ""}
    cards = [{**head, "result": short_text(task.message), "arguments": short_text(task.state)}]
    for artifact in task.artifacts[:50]:
        cards.append(
            {
                "kind": "tool",
                "id": f"{task.id} {artifact.id}",
                "name": f"artifact {short_text(artifact.name or artifact.id)}",
                "state": "done" if is_over else "running",
                "arguments": short_text(artifact.text),
                "result": "",
            }
        )
    return cards


def card_facts(card: Mapping[str, Any]) -> list[list[str]]:
    """Return what an agent's card says, for a page."""
    skills = ", ".join(as_text(as_mapping(skill).get("name")) for skill in as_list(card.get("skills")))
    named = [("name", "name"), ("description", "description"), ("version", "version")]
    return [[shown, short_text(as_text(card.get(key)))] for key, shown in named] + [["skills", short_text(skills)]]
