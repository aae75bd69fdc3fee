"""A memory: its actors, their sessions and events, the extracted records, and search."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..kit import action
from ..panels.memory.reading import Reading
from .display import Display

if TYPE_CHECKING:
    from loomlib.workbench.memory import Memory


class MemoryDisplay(Display, Reading):
    """One memory."""

    called: ClassVar[str] = "Memory"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "memory.js")

    @property
    def memory(self) -> Memory:
        """The displayed memory."""
        return self.value

    def fill(self) -> Mapping[str, Any]:
        """Return the memory's description; its actors are read in the background."""
        memory: Memory = self.value
        self.title = f"Memory {memory.name}"
        self._chosen = memory
        self.show_call("memory")
        return {
            "labels": [*memory.labels, memory.description.region],
            "about": self._about(),
            "actor": "",
            "session": "",
        }

    def begin(self) -> None:
        """Read the actors."""
        self.later("people")

    @action(lane="view")
    def people(self) -> None:
        """Read the actors."""
        self.show_call("memory.actors()")
        self.choose_actor("", again=True)

    @action(lane="view")
    def choose(self, form: Any) -> None:
        """Choose another actor or session."""
        actor, session = form.text("actor"), form.text("session")
        self.choose_actor(actor, session)
        self.show_call(f"memory.sessions({actor!r})" if actor else "memory.actors()")

    def show_call(self, *lines: str, memory: bool = True) -> None:
        """Show the last call as Python.

        Args:
            lines: The lines of the call.
            memory: Whether the call needs the variable `memory`.
        """
        opened = [f"memory = bench.memories.get({self.value.name!r})"] if memory and lines != ("memory",) else []
        self.show_code("\n".join([*opened, *(lines if opened else [f"bench.memories.get({self.value.name!r})"])]))

    def _drop(self) -> None:
        self._chosen = self._events = self._records = None
        for name in ("actors", "sessions", "events", "records"):
            self.tables.put(name, ())
        super()._drop()
