"""Test: ask an agent, watch the answer come, and look into what happened."""

# pyright: basic

from __future__ import annotations

import contextlib
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib.agents import Chunk, InvocationError, SessionStart
from loomlib.errors import LoomError
from loomlib.workbench.trace_look import PART_COLOURS, PART_NAMES

from .chat import Turn, bar_rows, figures_of, tools_of
from .kit import Cancel, Form, Panel, action
from .kit.failures import told

if TYPE_CHECKING:
    from loomlib import Agent, Workbench

_SHOWN_TURNS = 50
_LOG_LINES = 10_000


class TestPanel(Panel):
    """A conversation with an agent of the catalog, and the telemetry of its last answer."""

    __test__ = False  # the name looks like a test to pytest

    called: ClassVar[str] = "Test"
    script: ClassVar[tuple[str, str]] = ("loom_widgets", "test_panel.js")

    def __init__(self, of: Workbench | Agent, **options: Any) -> None:
        from loomlib import Agent

        bench = of.bench if isinstance(of, Agent) else of
        self._turns: list[Turn] = []
        self._number = 0
        super().__init__(bench, **options)
        if isinstance(of, Agent):
            self._look_around(of.name, of.qualifier)
        else:
            self._look_around("", "DEFAULT")

    # Actions.

    @action(lane="look")
    def choose(self, form: Form) -> None:
        """Another agent, qualifier or session."""
        agent, qualifier, session = form.text("agent"), form.text("qualifier", "DEFAULT"), form.text("session")
        if agent != self.state.get("agent") or not session:
            self._begin_chat()
        self._look_around(agent, qualifier, session)
        if session:
            self._open(session)

    @action(lane="look")
    def refresh(self) -> None:
        """Look at the catalog and the sessions again."""
        self._look_around(self.state.get("agent", ""), self.state.get("qualifier", "DEFAULT"), self._session)

    @action(lane="invoke")
    def invoke(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Ask the agent; the answer is streamed to the views."""
        prompt, session = form.text("prompt"), form.text("session")
        if not prompt.strip():
            raise LoomError("There is nothing to ask", on="the prompt is empty", try_="write a question")
        agent = self._agent(form.text("agent"), form.text("qualifier", "DEFAULT"))
        self.stop("after")
        self.show_code(_code(agent, prompt, session))
        self._number += 1
        turn = Turn(id=self._number, prompt=prompt, session=session)
        self._turns.append(turn)
        self.tell("began", **turn.told())
        self.say(f"Asking {agent.name} …")
        try:
            self._listen(agent, turn, session, cancel)
            if turn in self._turns:  # nobody has gone on to another conversation meanwhile
                self._look_around(agent.name, agent.qualifier, turn.session)
        except Exception as error:
            turn.status, turn.sentence = "error", told(error)["what"]
            raise
        finally:
            self.tell("ended", **turn.told(text=False))
        self.say(turn.sentence)
        if turn.invocation is not None and turn in self._turns:
            self.later("after", turn=turn.id)
        return {"turn": turn.id, "stopped": cancel.is_set}

    @action(lane="after")
    def after(self, form: Form, cancel: Cancel) -> None:
        """What is known afterwards: the agent's start, the spans, the cost, the lines of the session."""
        turn = next((each for each in self._turns if each.id == form.get("turn")), None)
        if turn is None or turn.invocation is None:
            return
        agent = self._agent(self.state["agent"], self.state["qualifier"])
        invocation = agent.invocation(turn.invocation)

        def progress(sentence: str) -> None:
            cancel.check()
            self.say(f"{turn.sentence} · {sentence}")

        start = invocation.latency(progress=progress)
        self._tell_figures(turn, figures_of(invocation, start))
        self._put_logs(agent, turn.session)
        trace = invocation.trace(progress=progress)
        cancel.check()
        turn.tools = tools_of(trace) or turn.tools
        self._tell_figures(turn, figures_of(invocation, start, trace))
        self._put_trace(turn.id, trace)
        self._put_logs(agent, turn.session)
        self.say(turn.sentence)

    @action(lane="look")
    def logs(self) -> None:
        """Read the session's log lines again."""
        agent = self._agent(self.state.get("agent", ""), self.state.get("qualifier", "DEFAULT"))
        self.show_code(f"{_agent_line(agent)}\nagent.logs(session_id={self._session!r}, limit={_LOG_LINES})")
        self._put_logs(agent, self._session)

    @action(lane="after")
    def look(self, form: Form, cancel: Cancel) -> None:
        """The telemetry of a turn that was asked earlier."""
        self.after(form, cancel)

    # How it is done.

    @property
    def _session(self) -> str:
        return self.state.get("session", "")

    def _listen(self, agent: Agent, turn: Turn, session: str, cancel: Cancel) -> None:
        events = agent.stream(turn.prompt, session_id=session or None)
        cancel.then(events.close)
        sent_s = 0.0
        with contextlib.closing(events), self.stream("pieces", turn=turn.id) as pieces:
            for event in events:
                if isinstance(event, SessionStart):
                    turn.session, turn.invocation = event.session_id, event.invocation_id
                    sent_s = event.client_invoke_time
                    self.tell("session", turn=turn.id, session=turn.session)
                elif isinstance(event, Chunk):
                    at_ms = sent_s * 1000 + event.offset_ms
                    for item in turn.take(event):
                        pieces.put({**item, "at": at_ms})
                elif isinstance(event, InvocationError):
                    turn.status, turn.sentence = "error", f"{event.failure}: {event.message}"
                else:
                    turn.status = "complete"
        if events.record is None:
            turn.status, turn.sentence = "stopped", "Stopped before its outcome was stored."
        else:
            from loomlib import Invocation

            invocation = Invocation(events.record, agent)
            turn.end(invocation)
            turn.figures = figures_of(invocation)

    def _open(self, session: str) -> None:
        agent = self._agent(self.state["agent"], self.state["qualifier"])
        self.show_code(f"{_agent_line(agent)}\nagent.conversation({session!r})")
        self._turns = []
        for invocation in agent.conversation(session, limit=_SHOWN_TURNS):
            self._number += 1
            turn = Turn.of(self._number, invocation)
            turn.figures = figures_of(invocation)
            self._turns.append(turn)
        self.tell("chat", **self.welcome())
        self._put_logs(agent, session)
        if self._turns:
            self.later("after", turn=self._turns[-1].id)

    def _begin_chat(self) -> None:
        self.stop("after")
        self._turns = []
        self.tables.put("logs", [])
        self.tables.put("bars", [])
        self.tell("chat", **self.welcome())

    def _agent(self, name: str, qualifier: str) -> Agent:
        if not name:
            raise LoomError("No agent is chosen", try_='bench.deploy("calculator"), or the Build panel')
        agent = self.bench.agent(name)
        return agent if qualifier == agent.qualifier else agent.at(qualifier)

    def _look_around(self, name: str, qualifier: str, session: str = "") -> None:
        entries = self.bench.catalog.list()
        names = [entry.name for entry in entries]
        found = next((entry for entry in entries if entry.name == name), entries[0] if entries else None)
        sessions = [] if found is None else self._sessions(found.name)
        qualifiers = [] if found is None else list(found.qualifiers)
        self.show(
            agents=names[:500],
            agent="" if found is None else found.name,
            qualifiers=qualifiers,
            qualifier=qualifier if qualifier in qualifiers else (qualifiers[0] if qualifiers else "DEFAULT"),
            session=session,
            sessions=[[row["session_id"], row["invocations"]] for row in sessions[:20]],
            labels=list(self.bench.labels),
            sample="" if found is None else self.bench.agent(found.name).sample_prompt,
        )
        self.tell("sessions", count=self.tables.put("sessions", sessions))

    def _sessions(self, name: str) -> list[dict[str, Any]]:
        frame = self.bench.agent(name).sessions()
        return [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]

    def _put_logs(self, agent: Agent, session: str) -> None:
        if not session:
            return
        frame = agent.logs(session_id=session, limit=_LOG_LINES)
        rows = [
            {"timestamp": _plain(row["timestamp"]), "level": _plain(row["level"]), "message": _plain(row["message"])}
            for row in frame.to_dict("records")
        ]
        self.tell("logs", count=self.tables.put("logs", rows))

    def _put_trace(self, turn: int, trace: Any) -> None:
        rows = bar_rows(trace)
        total = trace.breakdown().total_ns / 1e6
        first = min((0.0, *(row["start_ms"] for row in rows)))
        last = max((total, *(row["start_ms"] + row["duration_ms"] for row in rows)))
        self.tables.put("bars", rows)
        parts = {name: [PART_COLOURS[name], PART_NAMES[name]] for name in PART_NAMES}
        self.tell("trace", turn=turn, count=len(rows), first=first, last=last, parts=parts, sentences=trace.sentences())

    def _tell_figures(self, turn: Turn, figures: list[dict[str, Any]]) -> None:
        turn.figures = figures
        self.tell("looked", **turn.told(text=False))

    def welcome(self) -> Mapping[str, Any]:
        """The conversation so far."""
        return {"turns": [turn.told() for turn in self._turns[-_SHOWN_TURNS:]]}

    def face(self) -> str:
        """The conversation as text."""
        asked = "".join(
            f"<p><strong>You:</strong> {html.escape(turn.prompt[:2000])}</p>"
            f"<p style='white-space:pre-wrap'><strong>{html.escape(self.state.get('agent', ''))}:</strong> "
            f"{html.escape(turn.text[:20_000])}</p><p>{html.escape(turn.sentence)}</p>"
            for turn in self._turns[-10:]
        )
        return asked or "<p>Nothing asked yet.</p>"


def _agent_line(agent: Agent) -> str:
    at = "" if agent.qualifier == "DEFAULT" else f".at({agent.qualifier!r})"
    return f"agent = bench.agent({agent.name!r}){at}"


def _code(agent: Agent, prompt: str, session: str) -> str:
    again = f", session_id={session!r}" if session else ""
    return (
        f"import loomlib as loom\n\nbench = loom.connect({'' if agent.bench.where == 'local' else repr('aws')})\n"
        f"{_agent_line(agent)}\ninv = agent.invoke({prompt!r}{again})\ninv.text, inv.latency(), inv.trace()"
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if isinstance(value, int | float):
        return None if value != value else value
    return value.item() if hasattr(value, "item") else str(value)
