"""Details of an answer in the Test panel: start, spans, cost, and the session's log."""

# pyright: basic

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from loomlib import Agent, Invocation
from loomlib.errors import LoomError

from ...kit import Cancel, Form, PanelPort, action
from ...kit.source import frame_rows
from .code import opening_code
from .conversation import ChatConversation
from .figures import figures_of, tools_of
from .spans import bar_rows, row_details, waterfall_frame
from .turns import PanelTurn
from .words import short_text, well_formed

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.workbench.trace_view import TraceView

_LOG_LINES: Final = 10_000
_MOST_ROWS: Final = 100


class DetailActions:
    """Actions that load details of an answer."""

    def __init__(self, panel: PanelPort, conversation: ChatConversation) -> None:
        self._panel, self._conversation = panel, conversation
        self._trace: TraceView | None = None
        self._showing = Lock()
        conversation.on_begin.append(self._forget_trace)
        conversation.on_open.append(self._put_logs)
        conversation.on_leave.append(self._clear)

    @action(lane="after")
    def after(self, form: Form, cancel: Cancel) -> None:
        """Show the details after a turn: the agent's start, the spans, the cost, the session's log lines."""
        turn = self._conversation.turn(form)
        if turn is None or turn.invocation is None:
            return
        agent = self._conversation.chosen_agent()
        invocation = agent.history.get(turn.invocation)
        try:
            self._read_details(agent, turn, invocation, cancel)
        except LoomError as error:
            with self._unless_left(cancel):
                self._send_figures(turn, figures_of(invocation, problem=f"unknown: {error.what}"))
                self._send_no_trace(turn, f"The spans could not be read. {error.what}.")
            if turn.status != "error":
                raise
            self._panel.say(turn.summary)  # the reason is shown below the question

    @action(lane="after")
    def open_turn(self, form: Form, cancel: Cancel) -> None:
        """Show the telemetry of an earlier turn."""
        self.after(form, cancel)

    @action(lane="view")
    def span(self, form: Form) -> Mapping[str, Any]:
        """Return one row of the waterfall in full."""
        if self._trace is None:
            raise LoomError("The trace is no longer loaded", try_="press Show details at its question")
        return row_details(self._trace, form.text("id"))

    @action(lane="authorization")
    def authorization(self, form: Form) -> Mapping[str, Any]:
        """Return how the call of a turn was authorized."""
        turn = self._conversation.turn(form)
        if turn is None or turn.invocation is None:
            raise LoomError("This call is not stored", try_="choose one that has ended")
        agent = self._conversation.chosen_agent()
        self._panel.show_code(
            f"{opening_code(agent, calls=False)}\nagent.history.get({turn.invocation}).authorization()"
        )
        view = agent.history.get(turn.invocation).authorization()
        tables = [
            ["Rules of the runtime's authorizer", _plain_table(view.table())],
            ["Credentials that the agent fetched", _plain_table(view.outbound_table())],
        ]
        return {
            "sentence": short_text(view.sentence()),
            "facts": [[name, short_text(value)] for name, value in view.facts()],
            "tables": [table for table in tables if table[1]["rows"]],
        }

    @action(lane="view")
    def logs(self) -> None:
        """Read the session's log lines again."""
        agent, session = self._conversation.chosen_agent(), self._conversation.session
        self._panel.show_code(
            f"{opening_code(agent, calls=False)}\nagent.logs(session_id={session!r}, limit={_LOG_LINES})"
        )
        self._put_logs(agent, session)

    def _put_logs(self, agent: Agent, session: str) -> None:
        self._show_logs(self._read_logs(agent, session))

    def _read_logs(self, agent: Agent, session: str) -> list[dict[str, Any]]:
        if not session:
            return []
        return [
            {"timestamp": row["timestamp"], "level": row["level"], "message": well_formed(str(row["message"] or ""))}
            for row in frame_rows(agent.telemetry.logs(session_id=session, limit=_LOG_LINES))
        ]

    def _show_logs(self, rows: list[dict[str, Any]]) -> None:
        self._panel.send_message("logs", count=self._panel.tables.put("logs", rows))

    def _read_details(self, agent: Agent, turn: PanelTurn, invocation: Invocation, cancel: Cancel) -> None:
        def progress(sentence: str) -> None:
            cancel.check()
            self._panel.say(f"{turn.summary} · {sentence}")

        start = invocation.latency(progress=progress)
        with self._unless_left(cancel):
            self._send_figures(turn, figures_of(invocation, start))
            self._conversation.put_sessions(agent.name)
        lines = self._read_logs(agent, turn.session)
        with self._unless_left(cancel):
            self._show_logs(lines)
        trace = invocation.trace(progress=progress)
        lines = self._read_logs(agent, turn.session)
        with self._unless_left(cancel):
            if tools := tools_of(trace):
                turn.tools = [*turn.tasks, *tools]
            self._send_figures(turn, figures_of(invocation, start, trace))
            self._put_trace(turn.id, trace)
            self._show_logs(lines)
            self._panel.say(turn.summary)

    @contextmanager
    def _unless_left(self, cancel: Cancel) -> Iterator[None]:
        """Update the view, unless the user has left: the tables then belong to another agent or session."""
        with self._showing:
            cancel.check()
            yield

    def _put_trace(self, turn: int, trace: TraceView) -> None:
        rows = bar_rows(trace)
        self._trace = trace
        self._panel.tables.put("bars", rows)
        self._panel.send_message("trace", turn=turn, **waterfall_frame(trace, rows))

    def _send_no_trace(self, turn: PanelTurn, sentence: str) -> None:
        self._drop_trace()
        self._panel.send_message("trace", turn=turn.id, count=0, first=0.0, last=0.0, parts={}, sentences=[sentence])

    def _drop_trace(self) -> None:
        self._trace = None
        self._panel.tables.put("bars", [])

    def _forget_trace(self) -> None:
        with self._showing:  # details that are still being read were cancelled before, and are not shown after this
            self._drop_trace()

    def _clear(self) -> None:
        self._forget_trace()
        self._show_logs([])

    def _send_figures(self, turn: PanelTurn, figures: list[dict[str, Any]]) -> None:
        turn.figures = figures
        self._panel.send_message("details", **turn.message(text=False))


def _plain_table(frame: pd.DataFrame) -> dict[str, Any]:
    rows = [[short_text(value) for value in row.values()] for row in frame_rows(frame.head(_MOST_ROWS))]
    return {"head": list(frame.columns), "rows": rows}
