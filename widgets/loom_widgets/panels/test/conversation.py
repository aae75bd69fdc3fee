"""The conversation of the Test panel: its turns, and the agent and session that they belong to."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loomlib import Agent
from loomlib.agents.agui import read_event
from loomlib.errors import LoomError

from ...kit import Form, PanelPort
from ...kit.source import frame_rows
from .code import opening_code
from .figures import figures_of
from .turns import PanelTurn

SHOWN_TURNS: Final = 50
"""Turns of a conversation that a view draws."""


class ChatConversation:
    """The turns with the chosen agent. Objects that follow it append functions to its `on_…` lists."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._number = 0
        # The bearer token and the agent that it is for; in this process only: traits are saved with the notebook.
        self._bearer, self._bearer_agent = "", ""
        self.turns: list[PanelTurn] = []
        self.on_begin: list[Callable[[], object]] = []
        """Called before a new turn or the turns of an earlier session are shown."""
        self.on_end: list[Callable[[PanelTurn], object]] = []
        """Called when a turn has ended."""
        self.on_open: list[Callable[[Agent, str], object]] = []
        """Called with the agent and the session when an earlier session is shown."""
        self.on_leave: list[Callable[[], object]] = []
        """Called when the conversation is left for another one."""

    @property
    def session(self) -> str:
        """The chosen session; "" for a new session."""
        return self._panel.state.get("session", "")

    def turn(self, form: Form) -> PanelTurn | None:
        """Return the turn that a form names."""
        return next((item for item in self.turns if item.id == form.get("turn")), None)

    def turns_of(self, agent: Agent, session: str) -> list[PanelTurn]:
        """Return the turns that a question continues; none if it is for another agent than the shown one.

        Args:
            agent: The agent of the question.
            session: The session of the question; "" for the shown conversation.
        """
        if agent.name != self._panel.state.get("agent"):
            return []
        return [turn for turn in self.turns if not session or turn.session == session]

    def agent(self, name: str, qualifier: str) -> Agent:
        """Return an agent of the catalog, with the bearer token if it needs one and the token is for this agent.

        Raises:
            LoomError: The name is empty, or the catalog has no such agent.
        """
        if not name:
            raise LoomError("No agent is chosen", try_='bench.deploy("calculator"), or the Build panel')
        agent = self._panel.bench.agent(name)
        if self._bearer and name == self._bearer_agent and agent.entry.has_authorizer:
            agent = agent.at(bearer=self._bearer)
        return agent if qualifier == agent.qualifier else agent.at(qualifier)

    def chosen_agent(self, form: Form | None = None) -> Agent:
        """Return the agent that the panel shows.

        Args:
            form: Its bearer token, if it has one, is kept for the agent that it names.
        """
        if form is not None and form.text("bearer").strip():
            self._keep_bearer(form)
        return self.agent(self._panel.state.get("agent", ""), self._panel.state.get("qualifier", "DEFAULT"))

    def agent_of(self, form: Form) -> Agent:
        """Return the agent that a form names, and keep the form's bearer token for it."""
        self._keep_bearer(form)
        return self.agent(form.text("agent"), form.text("qualifier", "DEFAULT"))

    def begin_turn(self, prompt: str, session: str, *, is_socket: bool = False) -> PanelTurn:
        """Add a turn and send it to the views.

        Args:
            prompt: The question.
            session: The session's id; "" for a new session.
            is_socket: Whether the turn is an open WebSocket, which blocks no other question.
        """
        self._panel.stop("after")
        for listener in self.on_begin:
            listener()
        self._number += 1
        turn = PanelTurn(id=self._number, prompt=prompt, session=session, is_socket=is_socket)
        turn.is_prompt = not is_socket
        self.turns.append(turn)
        self._panel.send_message("began", **turn.message())
        return turn

    def end_turn(self, turn: PanelTurn) -> None:
        """Show a turn's summary, and call the listeners for its end."""
        self._panel.say(turn.summary)
        for listener in self.on_end:
            listener(turn)
        if turn.invocation is not None and turn in self.turns:
            self._panel.later("after", turn=turn.id)

    def open(self, session: str) -> None:
        """Show an earlier session of the chosen agent."""
        agent = self.chosen_agent()
        self._panel.stop("after")
        self._panel.show_code(f"{opening_code(agent, calls=False)}\nagent.history.conversation({session!r})")
        self.turns = []
        for invocation in agent.history.conversation(session, limit=SHOWN_TURNS):
            self._number += 1
            turn = PanelTurn.of(self._number, invocation)
            turn.figures = figures_of(invocation)
            self.turns.append(turn)
        for listener in self.on_begin:
            listener()
        self._panel.send_message("chat", **self._panel.welcome())
        for listener in self.on_open:
            listener(agent, session)
        if self.turns:
            self._panel.later("after", turn=self.turns[-1].id)

    def leave(self) -> None:
        """Leave the conversation; a new one begins."""
        self._panel.stop("after")
        for listener in self.on_leave:
            listener()
        self.turns = []
        self._panel.send_message("chat", **self._panel.welcome())

    def show_agent(self, name: str, qualifier: str, session: str = "") -> None:
        """Read the catalog and the sessions, and choose an agent.

        Args:
            name: The agent; the first one when the catalog has none of that name.
            qualifier: The endpoint's qualifier.
            session: The session to choose.
        """
        bench = self._panel.bench
        entries = bench.context.catalog.list()
        chosen = next((entry for entry in entries if entry.name == name), entries[0] if entries else None)
        sessions = self.put_sessions("" if chosen is None else chosen.name)
        qualifiers = [] if chosen is None else list(chosen.qualifiers)
        self._panel.show(
            agents=[entry.name for entry in entries][:500],
            agent="" if chosen is None else chosen.name,
            qualifiers=qualifiers,
            qualifier=qualifier if qualifier in qualifiers else (qualifiers[0] if qualifiers else "DEFAULT"),
            session=session,
            sessions=[[row["session_id"], row["invocations"]] for row in sessions[:20]],
            labels=list(bench.context.labels),
            protocol="HTTP" if chosen is None else chosen.protocol,
            agui=chosen is not None and (chosen.protocol == "AGUI" or self._speaks_agui(chosen.id)),
            authorizer=chosen is not None and chosen.has_authorizer,
            sample="" if chosen is None else bench.agent(chosen.name).targets.sample_prompt,
        )

    def put_sessions(self, name: str) -> list[dict[str, Any]]:
        """Read the agent's sessions into their table, and return them."""
        rows = frame_rows(self._panel.bench.agent(name).history.sessions()) if name else []
        sessions = [{**row, "agent": name} for row in rows]
        self._panel.send_message("sessions", count=self._panel.tables.put("sessions", sessions))
        return sessions

    def _keep_bearer(self, form: Form) -> None:
        self._bearer, self._bearer_agent = form.text("bearer").strip(), form.text("agent")

    def _speaks_agui(self, agent_id: int) -> bool:
        invocations = self._panel.bench.context.store.invocations
        last = invocations.list(agent_id=agent_id, limit=1)
        return bool(last) and any(read_event(event) is not None for event in invocations.events(last[0].id)[:1])
