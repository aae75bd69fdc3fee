"""Test: invoke an agent, watch the answer arrive, and inspect what happened."""

# pyright: basic

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Agent, Workbench
from loomlib.agents import Chunk, InvocationError, SessionStart
from loomlib.agents.agui import conversation_of, read_event, run_input
from loomlib.errors import LoomError

from ...kit import Cancel, Form, action
from ...kit.panel import static_summary
from ...kit.source import frame_rows
from .a2a_messages import A2aMessages
from .code import asking_code, opening_code
from .deciding import Deciding
from .figures import figures_of
from .frames import Frames
from .mcp_session import McpSessions
from .turn_details import TurnDetails
from .turns import PanelTurn
from .websocket import SocketMessages

if TYPE_CHECKING:
    from markupsafe import Markup


_SHOWN_TURNS = 50
_CAPTURED = "captured.json"
_TEXT_IN_ALL = 600_000


class TestPanel(Deciding, Frames, TurnDetails, McpSessions, A2aMessages, SocketMessages):
    """A conversation with an agent of the catalog, and the telemetry of its last answer."""

    __test__ = False  # the name looks like a test to pytest

    opener: ClassVar[str] = "test"
    called: ClassVar[str] = "Test"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.test", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (("loom_widgets.panels.test", "chat.js"),)
    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "protocols": ("loom_widgets.panels.test", "protocols.js"),
        "websocket": ("loom_widgets.panels.test", "websocket.js"),
    }

    def __init__(self, of: Workbench | Agent, **options: Any) -> None:
        bench = Workbench(of.context) if isinstance(of, Agent) else of
        self._turns: list[PanelTurn] = []
        self._number = 0
        self._bearer = ""  # in this process only: what traits hold is saved with the notebook
        super().__init__(bench, **options)
        if isinstance(of, Agent):
            self._show_agent(of.name, of.qualifier)
        else:
            self._show_agent("", "DEFAULT")
        self.later("approvals")

    # Actions.

    @action(lane="view")
    def choose(self, form: Form) -> None:
        """Choose another agent, qualifier or session."""
        self.say("")
        agent, qualifier, session = form.text("agent"), form.text("qualifier", "DEFAULT"), form.text("session")
        other = agent != self.state.get("agent")
        if other or not session:
            self._begin_chat()
        self._show_agent(agent, qualifier, session)
        if other:
            self._send_approvals({})
            self.later("approvals")
        if session:
            self._open(session)

    @action(lane="view")
    def refresh(self) -> None:
        """Reload the catalog and the sessions."""
        self.say("")
        self._show_agent(self.state.get("agent", ""), self.state.get("qualifier", "DEFAULT"), self._session)
        self.later("approvals")

    @action(lane="invoke")
    def invoke(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Invoke the agent; the answer is streamed to the views."""
        prompt, session = form.text("prompt"), form.text("session")
        if not prompt.strip():
            raise LoomError("There is nothing to ask", on="the prompt is empty", try_="write a question")
        self._bearer = form.text("bearer").strip()
        agent = self._agent(form.text("agent"), form.text("qualifier", "DEFAULT"))
        if agent.protocol == "A2A":
            return self._ask_a2a(agent, prompt, session, cancel)
        run = next((turn.run for turn in reversed(self._turns) if turn.run is not None), None)
        agui = run is not None or form.flag("agui")
        self.show_code(asking_code(agent, prompt, session, agui=agui))
        payload = None
        if agui:  # a run goes on in its thread, with the state as it was left
            thread, state = (run.thread_id or None, run.state) if run is not None else (None, None)
            turns = (
                (f"asked-{turn.invocation}", turn.prompt if turn.is_prompt else "", turn.run) for turn in self._turns
            )
            payload = run_input(prompt, thread_id=thread, state=state, messages=conversation_of(turns))
        return self._ask(agent, prompt, session, cancel, payload=payload)

    @action(lane="capture")
    def capture(self, form: Form) -> Mapping[str, Any]:
        """Store a redacted eval case of a turn in the file `captured.json`."""
        turn = next((item for item in self._turns if item.id == form.get("turn")), None)
        if turn is None or turn.invocation is None:
            raise LoomError("This answer is not stored", try_="capture a completed answer")
        agent = self._agent(self.state["agent"], self.state["qualifier"])
        self.show_code(
            f"{self._opening(agent, calls=False)}\nagent.evals.capture_into({_CAPTURED!r}, {turn.invocation})"
        )
        captured = agent.evals.capture_into(_CAPTURED, turn.invocation)
        self.say(captured.sentence())
        return {"sentence": captured.sentence()}

    # How it is done.

    def _ask(
        self, agent: Agent, prompt: str, session: str, cancel: Cancel, *, payload: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        turn = self._begin_turn(prompt, session)
        turn.is_prompt = payload is None or "resume" not in payload
        self.say(f"Asking {agent.name} …")
        try:
            self._listen(agent, turn, session, cancel, payload)
            if turn in self._turns:  # nobody has gone on to another conversation meanwhile
                self._show_agent(agent.name, agent.qualifier, turn.session)
        except Exception:  # the error pane says why
            turn.status = "error"
            turn.sentence = "The question was not sent." if turn.invocation is None else "The answer broke off."
            raise
        finally:
            self.send_message("ended", **turn.message(text=False))
        self._ended(agent, turn)
        return {"turn": turn.id, "stopped": cancel.is_set}

    def _begin_turn(self, prompt: str, session: str, *, is_socket: bool = False) -> PanelTurn:
        self.stop("after")
        self._drop_trace()
        self._number += 1
        turn = PanelTurn(id=self._number, prompt=prompt, session=session, is_socket=is_socket)
        turn.is_prompt = not is_socket
        self._turns.append(turn)
        self.send_message("began", **turn.message())
        return turn

    def _ended(self, agent: Agent, turn: PanelTurn) -> None:
        self.say(turn.summary)
        if turn.waits or self._approvals.get("pending"):
            self.later("approvals")
        if turn.invocation is not None and turn in self._turns:
            self.later("after", turn=turn.id)

    def _listen(
        self, agent: Agent, turn: PanelTurn, session: str, cancel: Cancel, payload: Mapping[str, Any] | None
    ) -> None:
        prompt = turn.prompt if turn.is_prompt else None
        events = agent.stream(prompt, payload=payload, session_id=session or None)
        cancel.then(events.close)
        sent_s = 0.0
        with contextlib.closing(events), self.stream("pieces", turn=turn.id) as pieces:
            for event in events:
                if isinstance(event, SessionStart):
                    turn.session, turn.invocation = event.session_id, event.invocation_id
                    sent_s = event.client_invoke_time
                    self.send_message("session", turn=turn.id, session=turn.session)
                elif isinstance(event, Chunk):
                    at_ms = sent_s * 1000 + event.offset_ms
                    for item in turn.take(event):
                        pieces.put({**item, "at": at_ms})
                elif isinstance(event, InvocationError):
                    turn.status, turn.sentence = "error", f"{event.failure}: {event.message}"
                else:
                    turn.status = "complete"
        if events.record is None:
            turn.status, turn.sentence = "stopped", "Stopped before the outcome was stored."
        else:
            from loomlib import Invocation

            invocation = Invocation(events.record, agent.context, agent.entry)
            turn.end(invocation)
            turn.figures = figures_of(invocation)

    def _opening(self, agent: Agent, *, calls: bool = True) -> str:
        return opening_code(agent, calls=calls)

    def _open(self, session: str) -> None:
        agent = self._agent(self.state["agent"], self.state["qualifier"])
        self.show_code(f"{self._opening(agent, calls=False)}\nagent.history.conversation({session!r})")
        self._turns = []
        for invocation in agent.history.conversation(session, limit=_SHOWN_TURNS):
            self._number += 1
            turn = PanelTurn.of(self._number, invocation)
            turn.figures = figures_of(invocation)
            self._turns.append(turn)
        self.send_message("chat", **self.welcome())
        self._put_logs(agent, session)
        if self._turns:
            self.later("after", turn=self._turns[-1].id)

    def _begin_chat(self) -> None:
        self.stop("after")
        self.stop("socket")
        self._close_mcp()
        self._turns = []
        self._drop_trace()
        self.tables.put("logs", [])
        self.send_message("chat", **self.welcome())

    def _agent(self, name: str, qualifier: str) -> Agent:
        if not name:
            raise LoomError("No agent is chosen", try_='bench.deploy("calculator"), or the Build panel')
        agent = self.bench.agent(name)
        if self._bearer and agent.entry.has_authorizer:
            agent = agent.with_bearer(self._bearer)
        return agent if qualifier == agent.qualifier else agent.at(qualifier)

    def _show_agent(self, name: str, qualifier: str, session: str = "") -> None:
        entries = self.bench.context.catalog.list()
        names = [entry.name for entry in entries]
        chosen = next((entry for entry in entries if entry.name == name), entries[0] if entries else None)
        sessions = self._put_sessions("" if chosen is None else chosen.name)
        qualifiers = [] if chosen is None else list(chosen.qualifiers)
        self.show(
            agents=names[:500],
            agent="" if chosen is None else chosen.name,
            qualifiers=qualifiers,
            qualifier=qualifier if qualifier in qualifiers else (qualifiers[0] if qualifiers else "DEFAULT"),
            session=session,
            sessions=[[row["session_id"], row["invocations"]] for row in sessions[:20]],
            labels=list(self.bench.labels),
            protocol="HTTP" if chosen is None else chosen.protocol,
            agui=chosen is not None and (chosen.protocol == "AGUI" or self._speaks_agui(chosen.id)),
            authorizer=chosen is not None and chosen.has_authorizer,
            sample="" if chosen is None else self.bench.agent(chosen.name).sample_prompt,
        )

    def _speaks_agui(self, agent_id: int) -> bool:
        invocations = self.bench.store.invocations
        last = invocations.list(agent_id=agent_id, limit=1)
        return bool(last) and any(read_event(event) is not None for event in invocations.events(last[0].id)[:1])

    def _put_sessions(self, name: str) -> list[dict[str, Any]]:
        rows = frame_rows(self.bench.agent(name).history.sessions()) if name else []
        sessions = [{**row, "agent": name} for row in rows]
        self.send_message("sessions", count=self.tables.put("sessions", sessions))
        return sessions

    def welcome(self) -> Mapping[str, Any]:
        """Return the conversation so far, the pending approvals, and the question of a server that waits.

        Of a very long conversation only the later answers are whole.
        """
        turns, left = [], _TEXT_IN_ALL
        for turn in reversed(self._turns[-_SHOWN_TURNS:]):
            turns.append(turn.message(longest=max(left, 4_000)))
            left -= len(turns[-1]["text"])
        return {
            "turns": turns[::-1],
            "approvals": dict(self._approvals),
            "question": self._question_message(),
            "socket": self._socket is not None,
        }

    def read_again(self) -> None:
        """Reload the agents and the sessions; conversation and selection stay."""
        names = [entry.name for entry in self.bench.context.catalog.list()]
        if self.state.get("agent") in names:
            self.show(agents=names[:500])
            self._put_sessions(self.state["agent"])
        elif names or self.state.get("agent"):
            self._begin_chat()
            self._show_agent("", "DEFAULT")

    def static_html(self) -> Markup | str:
        """Return the conversation as text."""
        lines: list[str | tuple[str, str]] = []
        for turn in self._turns[-10:]:
            lines += [
                ("You:", turn.prompt[:2000]),
                (f"{self.state.get('agent', '')}:", turn.text[:20_000]),
                turn.sentence,
            ]
        return static_summary(lines or ["No question has been asked yet."])
