"""The memory that a panel shows, its actors, and the last call on it as Python."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError

from ...kit import Cancel, Form, PanelPort
from ...kit.source import connect_code
from .rows import ThrottledProgress

if TYPE_CHECKING:
    from loomlib.workbench.memory import Memory

_MEMORIES = 1_000
_LISTED = 10_000  # actors, and sessions of one; the pickers say “+” where there are more
_NAMED = 200  # actors and sessions in the pickers; the tables have all


class ChosenMemory:
    """The memory that a panel shows, and an actor and session in it.

    Args:
        panel: The panel.
        on_removed: Called when the chosen memory no longer exists, before another one is chosen.
    """

    def __init__(self, panel: PanelPort, on_removed: Callable[[], None] = lambda: None) -> None:
        self._panel, self._on_removed = panel, on_removed
        self._memory: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The chosen memory. Raises `LoomError` when no memory is chosen."""
        if self._memory is None:
            raise LoomError("No memory is chosen", try_='New memory, or bench.memories.create("assistant")')
        return self._memory

    def set(self, memory: Memory | None) -> None:
        """Choose a memory, or None for no memory; actors and sessions are read by `choose_actor`."""
        self._memory = memory

    @property
    def actor(self) -> str:
        """The chosen actor; "" for all."""
        return self._panel.state.get("actor", "")

    @property
    def session(self) -> str:
        """The chosen session of the actor; "" for all."""
        return self._panel.state.get("session", "")

    def named_actor(self, form: Form) -> str:
        """Return the actor that the form or the picker names.

        Raises:
            LoomError: Neither names one.
        """
        actor = form.text("actor") or self.actor
        if not actor:
            raise LoomError("No actor is chosen", try_="choose one at the top")
        return actor

    def strategies(self) -> dict[str, str]:
        """Return the names of the memory's strategies by their ids."""
        return {strategy.strategy_id: strategy.name for strategy in self.memory.description.strategies}

    def progress_callback(self, cancel: Cancel | None = None) -> ThrottledProgress:
        """Return a progress callback that shows sentences and ends the action on Stop."""
        if cancel is None:
            return ThrottledProgress(self._panel.say)

        def check() -> None:
            if cancel.is_set:
                self._panel.say("Stopped.")
            cancel.check()

        return ThrottledProgress(self._panel.say, check)

    def show_call(self, *lines: str, memory: bool = True) -> None:
        """Show the last call as Python.

        Args:
            lines: The lines of the call.
            memory: Whether the call needs the variable `memory`.
        """
        opened = [f"memory = bench.memories.get({self.memory.name!r})"] if memory else []
        self._panel.show_code("\n".join([connect_code(self._panel.bench).rstrip(), *opened, *lines]))

    def look_around(self, key: str = "", actor: str = "", session: str = "") -> None:
        """Read the memories, and the actors of the chosen one (else of the first).

        Args:
            key: A memory's id or name; the first memory when there is none of that name.
            actor: The actor to choose.
            session: The session to choose.
        """
        memories = self._memories()
        ids = [item[0] for item in memories]
        if self._memory is not None and self._memory.id not in ids:
            self._on_removed()
        key = key if key in ids else next((item[0] for item in memories if item[1] == key), ids[0] if ids else "")
        self.set(self._panel.bench.memories.get(key) if key else None)
        # With the actor and the session: a view must not ask this memory for those of the former one.
        self._panel.show(
            memories=memories, memory=key, labels=list(self._panel.bench.context.labels), about=self.about(),
            actor=actor, session=session,
        )  # fmt: skip
        self.choose_actor(actor, session, again=True)

    def read_again(self) -> None:
        """Read the memories; the chosen one stays."""
        if self._memories() != self._panel.state.get("memories"):
            self.look_around(self._panel.state.get("memory", ""), self.actor, self.session)

    def _memories(self) -> list[list[str]]:
        from loomlib.aws.memory import list_memories  # what bench.memories.table() lists, without a DataFrame

        listed = islice(list_memories(self._panel.bench.clients), _MEMORIES)
        return [[item.memory_id, item.name, item.status] for item in listed]

    def choose_actor(self, actor: str, session: str = "", *, again: bool = False) -> None:
        """Choose an actor and one of its sessions.

        Args:
            actor: The actor's id; an empty one has no sessions.
            session: The chosen session's id.
            again: Read the memory's actors again.
        """
        if again:
            actors = [] if self._memory is None else list(self._memory.reader.actors(limit=_LISTED))
            self._panel.tables.put("actors", [{"actor": item} for item in actors])
        else:
            actors = [row["actor"] for row in self._panel.tables.rows("actors")]
        sessions = [] if self._memory is None or not actor else list(self._memory.reader.sessions(actor, limit=_LISTED))
        self._panel.tables.put(
            "sessions", [{"session": e.session_id, "created": e.created_at.isoformat()} for e in sessions]
        )
        self._panel.show(
            actor=actor, session=session, actors=actors[:_NAMED], actors_total=len(actors),
            sessions=[item.session_id for item in sessions[:_NAMED]], sessions_total=len(sessions),
            actors_cut=len(actors) >= _LISTED, sessions_cut=len(sessions) >= _LISTED,
        )  # fmt: skip
        self._panel.send_message("people")

    def about(self) -> dict[str, Any]:
        """Return the memory's description for the views; empty when none is chosen."""
        if self._memory is None:
            return {}
        description = self._memory.description
        return {
            "id": description.memory_id,
            "name": description.name,
            "status": description.status,
            "region": description.region,
            "expiry": description.event_expiry_days,
            "failure": description.failure_reason,
            "strategies": [
                [strategy.name, strategy.type.lower(), list(strategy.namespaces)] for strategy in description.strategies
            ],
        }
