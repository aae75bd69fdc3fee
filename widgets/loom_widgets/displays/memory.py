"""A memory: its actors, their sessions and events, the extracted records, and search."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..kit import action
from ..panels.memory.chosen_memory import ChosenMemory
from ..panels.memory.read_actions import ReadActions
from .display import Display

if TYPE_CHECKING:
    from loomlib.workbench.memory import Memory


class DisplayedMemory(ChosenMemory):
    """The memory of a display; the code that is shown runs in the notebook's own workbench."""

    def __init__(self, display: MemoryDisplay) -> None:
        super().__init__(display)
        self._display = display

    @property
    def memory(self) -> Memory:
        """The displayed memory. Raises `LoomError` if it was released."""
        return self._display.value

    def show_call(self, *lines: str, memory: bool = True) -> None:
        """Show the last call as Python.

        Args:
            lines: The lines of the call.
            memory: Whether the call needs the variable `memory`.
        """
        opened = f"bench.memories.get({self.memory.name!r})"
        needed = memory and lines != ("memory",)
        self._display.show_code("\n".join([f"memory = {opened}", *lines] if needed else [opened]))


class MemoryDisplay(Display):
    """One memory."""

    called: ClassVar[str] = "Memory"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "memory.js")

    def __init__(self, value: Memory, **options: Any) -> None:
        self._chosen = DisplayedMemory(self)
        self._reading = ReadActions(self, self._chosen)
        super().__init__(value, actions=(self._reading,), **options)

    def fill(self) -> Mapping[str, Any]:
        """Return the memory's description; its actors are read in the background."""
        memory: Memory = self.value
        self.title = f"Memory {memory.name}"
        self._chosen.set(memory)
        self._chosen.show_call("memory")
        return {
            "labels": [*memory.labels, memory.description.region],
            "about": self._chosen.about(),
            "actor": "",
            "session": "",
        }

    def begin(self) -> None:
        """Read the actors."""
        self.later("people")

    @action(lane="view")
    def people(self) -> None:
        """Read the actors."""
        self._chosen.show_call("memory.actors()")
        self._chosen.choose_actor("", again=True)

    @action(lane="view")
    def choose(self, form: Any) -> None:
        """Choose another actor or session."""
        actor, session = form.text("actor"), form.text("session")
        self._chosen.choose_actor(actor, session)
        self._chosen.show_call(f"memory.sessions({actor!r})" if actor else "memory.actors()")

    def fail(self, error: BaseException | Mapping[str, str], *, action: str = "") -> None:
        """Show an error and clear the progress."""
        self.say("")
        super().fail(error, action=action)

    def _drop(self) -> None:
        self._chosen.set(None)
        self._reading.clear()
        for name in ("actors", "sessions"):
            self.tables.put(name, ())
        super()._drop()
