"""Bedrock agents in the Tools panel: questions, results of the calls that they return, and their traces."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.aws.bedrock_agents import TEST_ALIAS
from loomlib.errors import LoomError
from loomlib.json_values import as_mapping
from loomlib.presentation.formats import milliseconds
from loomlib.presentation.text import one_line

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code, frame_rows
from ...kit.texts import short_text

if TYPE_CHECKING:
    from loomlib.workbench.bench_bedrock_agents import BedrockAgentReply

_STEPS: Final = ("kind", "name", "agent", "input", "output", "duration_ms")
_LONGEST_CELL: Final = 160
"""Largest number of characters of a step's input or output; `reply.steps` has the whole texts."""


class AgentActions:
    """The conversation with the chosen Bedrock agent."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._key = ""
        self._reply: BedrockAgentReply | None = None
        self._asked = ""  # the code of the last question, which that of the results continues

    @action(lane="agent")
    def ask_agent(self, form: Form) -> None:
        """Ask the agent; questions to one agent share a session until a new session is requested."""
        key, prompt, alias = form.text("key"), form.text("prompt").strip(), form.text("alias").strip()
        if not key:
            raise LoomError("No agent is chosen", try_="choose a row of the table")
        if not prompt:
            raise LoomError("There is no question", try_="write one")
        if key != self._key or form.flag("anew"):
            self._key, self._reply = key, None
        session = self._reply.session_id if self._reply is not None else None
        arguments = f", session_id={session!r}" if session else ""
        arguments += f", alias={alias!r}" if alias else ""
        opened = f"agent = bench.bedrock.agents.get({key!r})\n"
        self._asked = f"{connect_code(self._panel.bench)}{opened}reply = agent.ask({prompt!r}{arguments})"
        self._panel.show_code(self._asked)
        self._panel.say("Asking …")
        agent = self._panel.bench.bedrock.agents.get(key)
        self._show(agent.ask(prompt, session_id=session, alias=alias or TEST_ALIAS))

    @action(lane="agent")
    def answer_agent(self, form: Form) -> None:
        """Give the agent the results of the calls that it returned, or deny them."""
        if self._reply is None or form.text("key") != self._key:
            raise LoomError("The agent is not waiting for results", try_="ask it")
        raw_results = as_mapping(form.get("results"))
        results = {name: str(text) for name, text in raw_results.items() if str(text).strip()}
        confirm = not form.flag("deny")
        self._asked += f"\nreply = reply.answer({results or None!r}, confirm={confirm})"
        self._panel.show_code(self._asked)
        self._panel.say("Continuing …")
        self._show(self._reply.answer(results or None, confirm=confirm))

    def _show(self, reply: BedrockAgentReply) -> None:
        self._reply = reply
        took = milliseconds(reply.value.duration_ms)
        turn: dict[str, Any] = {
            "key": self._key,
            "text": short_text(reply.text),
            "took": took,
            "labels": list(self._panel.bench.context.labels),
            "requests": [_request(request.name, request.arguments, request.needs) for request in reply.requests],
            "head": [name.removesuffix("_ms") for name in _STEPS],
            "rows": [[_cell(name, row[name]) for name in _STEPS] for row in frame_rows(reply.steps)],
        }
        self._panel.show(turn=turn)
        self._panel.say(f"{'The agent returns control' if reply.requests else 'Answered'} in {took}.")


def _request(name: str, arguments: Mapping[str, str], needs: str) -> dict[str, str]:
    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return {"name": short_text(name), "arguments": short_text(text), "needs": needs}


def _cell(name: str, value: Any) -> str:
    if name == "duration_ms":
        return "" if value is None else milliseconds(value)
    return one_line(short_text(value), _LONGEST_CELL)
