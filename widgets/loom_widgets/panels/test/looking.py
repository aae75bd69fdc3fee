"""The part of the Test panel that looks into an answer: its start, spans and cost, and the session's log."""

# pyright: basic

from __future__ import annotations

from typing import Any, Final

from loomlib import Agent
from loomlib.workbench.trace_look import PART_COLOURS, PART_NAMES

from ...kit import Cancel, Form, action
from ...kit.source import frame_rows
from .conversing import Conversing
from .figures import bar_rows, figures_of, tools_of
from .turns import Turn
from .words import well_formed

_LOG_LINES: Final = 10_000


class Looking(Conversing):
    """What is known of an answer afterwards."""

    @action(lane="after")
    def after(self, form: Form, cancel: Cancel) -> None:
        """Show what is known after a turn: the agent's start, the spans, the cost, the log lines of the session."""
        turn = next((item for item in self._turns if item.id == form.get("turn")), None)
        if turn is None or turn.invocation is None:
            return
        agent = self._agent(self.state["agent"], self.state["qualifier"])
        invocation = agent.history.get(turn.invocation)

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
        self.show_code(f"{self._opening(agent)}\nagent.logs(session_id={self._session!r}, limit={_LOG_LINES})")
        self._put_logs(agent, self._session)

    @action(lane="after")
    def look(self, form: Form, cancel: Cancel) -> None:
        """Show the telemetry of an earlier turn."""
        self.after(form, cancel)

    @property
    def _session(self) -> str:
        return self.state.get("session", "")

    def _put_logs(self, agent: Agent, session: str) -> None:
        if not session:
            return
        rows = [
            {"timestamp": row["timestamp"], "level": row["level"], "message": well_formed(str(row["message"] or ""))}
            for row in frame_rows(agent.logs(session_id=session, limit=_LOG_LINES))
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
