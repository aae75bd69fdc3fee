"""The common base of the Memory panel's parts: the chosen memory, its actors, and the last call as Python."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError

from ...kit import Cancel, Form, Panel
from ...kit.source import connect_code
from .rows import ThrottledProgress

if TYPE_CHECKING:
    from loomlib.workbench.memory import Memory

_MEMORIES = 1_000
_LISTED = 10_000  # actors, and sessions of one; the pickers say “+” where there are more
_NAMED = 200  # actors and sessions in the pickers; the tables have all


class MemoryView(Panel):
    """A panel with a chosen memory, and an actor and session in it."""

    _chosen: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The chosen memory. Raises `LoomError` when none is chosen."""
        if self._chosen is None:
            raise LoomError("No memory is chosen", try_='New memory, or bench.memories.create("assistant")')
        return self._chosen

    @property
    def actor(self) -> str:
        """The chosen actor; "" for all."""
        return self.state.get("actor", "")

    @property
    def session(self) -> str:
        """The chosen session of the actor; "" for all."""
        return self.state.get("session", "")

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
            return ThrottledProgress(self.say)

        def check() -> None:
            if cancel.is_set:
                self.say("Stopped.")
            cancel.check()

        return ThrottledProgress(self.say, check)

    def fail(self, error: BaseException | Mapping[str, str], *, action: str = "") -> None:
        """Show an error and clear the progress."""
        self.say("")
        super().fail(error, action=action)

    def show_call(self, *lines: str, memory: bool = True) -> None:
        """Show the last call as Python.

        Args:
            lines: The lines of the call.
            memory: Whether the call needs the variable `memory`.
        """
        opened = [f"memory = bench.memories.get({self.memory.name!r})"] if memory else []
        self.show_code("\n".join([connect_code(self.bench).rstrip(), *opened, *lines]))

    def look_around(self, key: str = "", actor: str = "", session: str = "") -> None:
        """Read the memories, and the actors of the chosen one (else of the first).

        Args:
            key: A memory's id or name; the first memory when there is none of that name.
            actor: The actor to choose.
            session: The session to choose.
        """
        known = self._memories()
        ids = [item[0] for item in known]
        key = key if key in ids else next((item[0] for item in known if item[1] == key), ids[0] if ids else "")
        self._chosen = self.bench.memories.get(key) if key else None
        self.show(memories=known, memory=key, labels=list(self.bench.labels), about=self._about())
        self.choose_actor(actor, session, again=True)

    def read_again(self) -> None:
        """Read the memories; the chosen one stays."""
        if self._memories() != self.state.get("memories"):
            self.look_around(self.state.get("memory", ""), self.actor, self.session)

    def _memories(self) -> list[list[str]]:
        from loomlib.aws.memory import list_memories  # what bench.memories.table() lists, without a DataFrame

        listed = islice(list_memories(self.bench.clients), _MEMORIES)
        return [[item.memory_id, item.name, item.status] for item in listed]

    def choose_actor(self, actor: str, session: str = "", *, again: bool = False) -> None:
        """Choose an actor and one of its sessions.

        Args:
            actor: The actor's id; an empty one has no sessions.
            session: The chosen session's id.
            again: Read the memory's actors again.
        """
        if again:
            actors = [] if self._chosen is None else list(self._chosen.reader.actors(limit=_LISTED))
            self.tables.put("actors", [{"actor": item} for item in actors])
        else:
            actors = [row["actor"] for row in self.tables.rows("actors")]
        sessions = [] if self._chosen is None or not actor else list(self._chosen.reader.sessions(actor, limit=_LISTED))
        self.tables.put("sessions", [{"session": e.session_id, "created": e.created_at.isoformat()} for e in sessions])
        self.show(
            actor=actor, session=session, actors=actors[:_NAMED], actors_total=len(actors),
            sessions=[item.session_id for item in sessions[:_NAMED]], sessions_total=len(sessions),
            actors_cut=len(actors) >= _LISTED, sessions_cut=len(sessions) >= _LISTED,
        )  # fmt: skip
        self.send_message("people")

    def _about(self) -> dict[str, Any]:
        if self._chosen is None:
            return {}
        description = self._chosen.description
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
