"""Test: invoke an agent, watch the answer arrive, and inspect what happened."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Agent, Workbench
from loomlib.agents.agui import conversation_of, run_input
from loomlib.errors import LoomError

from ...kit import Cancel, Form, Panel, action
from ...kit.panel import static_summary
from .a2a_messages import A2aMessages
from .agent_calls import AgentCalls
from .approval_actions import ApprovalActions
from .code import asking_code, opening_code
from .conversation import SHOWN_TURNS, ChatConversation
from .detail_actions import DetailActions
from .mcp_actions import McpActions
from .server_questions import ServerQuestions
from .view_frames import ViewFrames
from .websocket import WebSocketMessages

if TYPE_CHECKING:
    from markupsafe import Markup


_CAPTURED = "captured.json"
_TEXT_IN_ALL = 600_000


class TestPanel(Panel):
    """A conversation with an agent of the catalog, and the telemetry of its last answer."""

    __test__ = False  # the name looks like a test to pytest

    opener: ClassVar[str] = "test"
    called: ClassVar[str] = "Test"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.test", "panel.js")
    lazy: ClassVar[Mapping[str, Sequence[tuple[str, str]]]] = {
        "chat": (("loom_widgets.panels.test", "chat.js"),),
        "protocols": (("loom_widgets.kit", "schema_form.js"), ("loom_widgets.panels.test", "protocols.js")),
        "websocket": (("loom_widgets.panels.test", "websocket.js"),),
    }

    def __init__(self, of: Workbench | Agent, **options: Any) -> None:
        self._conversation = conversation = ChatConversation(self)
        self._calls = calls = AgentCalls(self, conversation)
        self._approvals = ApprovalActions(self, conversation, calls)
        self._a2a = A2aMessages(self, conversation, calls)
        self._socket = WebSocketMessages(self, conversation, calls)
        self._questions = ServerQuestions(self)
        self._mcp = McpActions(self, conversation, calls, self._questions)
        details, self.frames = DetailActions(self, conversation), ViewFrames(conversation)
        bench = Workbench(of.context) if isinstance(of, Agent) else of
        actions = (self._approvals, self._a2a, self._socket, self._questions, self._mcp, details, self.frames)
        super().__init__(bench, actions=actions, **options)
        if isinstance(of, Agent):
            self._conversation.show_agent(of.name, of.qualifier)
        else:
            self._conversation.show_agent("", "DEFAULT")
        self.later("approvals")

    # Actions.

    @action(lane="view")
    def choose(self, form: Form) -> None:
        """Choose another agent, qualifier or session."""
        self.say("")
        agent, qualifier, session = form.text("agent"), form.text("qualifier", "DEFAULT"), form.text("session")
        other = agent != self.state.get("agent")
        if other or not session:
            self._conversation.leave()
        self._conversation.show_agent(agent, qualifier, session)
        if other:
            self._approvals.clear()
            self.later("approvals")
        if session:
            self._conversation.open(session)

    @action(lane="view")
    def refresh(self) -> None:
        """Reload the catalog and the sessions."""
        self.say("")
        self._conversation.show_agent(
            self.state.get("agent", ""), self.state.get("qualifier", "DEFAULT"), self._conversation.session
        )
        self.later("approvals")

    @action(lane="invoke")
    def invoke(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Invoke the agent; the answer is streamed to the views."""
        prompt, session = form.text("prompt"), form.text("session")
        if not prompt.strip():
            raise LoomError("There is nothing to ask", on="the prompt is empty", try_="write a question")
        agent = self._conversation.agent_of(form)
        if agent.protocol == "A2A":
            return self._a2a.send(agent, prompt, session, cancel)
        turns = self._conversation.turns_of(agent, session)
        run = next((turn.run for turn in reversed(turns) if turn.run is not None), None)
        agui = run is not None or form.flag("agui")
        self.show_code(asking_code(agent, prompt, session, agui=agui))
        payload = None
        if agui:  # the run continues in the AG-UI thread of the last one, with its state
            thread, state = (run.thread_id or None, run.state) if run is not None else (None, None)
            messages = conversation_of(
                (f"asked-{turn.invocation}", turn.prompt if turn.is_prompt else "", turn.run) for turn in turns
            )
            payload = run_input(prompt, thread_id=thread, state=state, messages=messages)
        return self._calls.invoke(agent, prompt, session, cancel, payload=payload)

    @action(lane="capture")
    def capture(self, form: Form) -> Mapping[str, Any]:
        """Store a redacted eval case of a turn in the file `captured.json`."""
        turn = self._conversation.turn(form)
        if turn is None or turn.invocation is None:
            raise LoomError("This answer is not stored", try_="capture a completed answer")
        agent = self._conversation.chosen_agent()
        self.show_code(
            f"{opening_code(agent, calls=False)}\nagent.evals.capture_into({_CAPTURED!r}, {turn.invocation})"
        )
        captured = agent.evals.capture_into(_CAPTURED, turn.invocation)
        self.say(captured.sentence())
        return {"sentence": captured.sentence()}

    def welcome(self) -> Mapping[str, Any]:
        """Return the conversation so far, the pending approvals, and the question of a server that waits.

        Of a very long conversation only the later answers are whole.
        """
        turns, remaining = [], _TEXT_IN_ALL
        for turn in reversed(self._conversation.turns[-SHOWN_TURNS:]):
            turns.append(turn.message(longest=max(remaining, 4_000)))
            remaining -= len(turns[-1]["text"])
        return {
            "turns": turns[::-1],
            "approvals": dict(self._approvals.documents),
            "question": self._questions.message(),
            "socket": self._socket.is_open,
        }

    def read_again(self) -> None:
        """Reload the agents and the sessions; conversation and selection stay."""
        names = [entry.name for entry in self.bench.context.catalog.list()]
        if self.state.get("agent") in names:
            self.show(agents=names[:500])
            self._conversation.put_sessions(self.state["agent"])
        elif names or self.state.get("agent"):
            self._conversation.leave()
            self._conversation.show_agent("", "DEFAULT")

    def close(self) -> None:
        """End the MCP session, then close the panel."""
        self._questions.drop()
        self._mcp.close()
        super().close()

    def static_html(self) -> Markup | str:
        """Return the conversation as text."""
        lines: list[str | tuple[str, str]] = []
        for turn in self._conversation.turns[-10:]:
            lines += [
                ("You:", turn.prompt[:2000]),
                (f"{self.state.get('agent', '')}:", turn.text[:20_000]),
                turn.sentence,
            ]
        return static_summary(lines or ["No question has been asked yet."])
