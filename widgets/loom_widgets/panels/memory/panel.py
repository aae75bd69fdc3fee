"""Memory: events and records by actor, the sources of records, and the memory's health."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Workbench
from loomlib.deprecation import renamed_members
from loomlib.presentation.formats import plural

from ...kit import Cancel, Form, Panel, action
from ...kit.panel import static_summary
from .chosen_memory import ChosenMemory
from .maintenance_actions import MaintenanceActions
from .read_actions import ReadActions

if TYPE_CHECKING:
    from markupsafe import Markup

    from loomlib.workbench.memory import Memory

TEACH = (
    "No memory yet.",
    "A memory stores conversations as events, by actor (the user) and session. Its strategies extract "
    "records of them (facts, preferences, summaries), which later sessions receive.",
    'Create one below; then bench.deploy("assistant_with_memory", memory="assistant") gives you an agent that uses it.',
)
STRATEGIES = ("semantic", "preferences", "summary", "episodic")


_RENAMED = {
    **{
        name: f"chosen.{name}"
        for name in ("choose_actor", "look_around", "named_actor", "progress_callback", "show_call", "strategies")
    },
    "clear_results": "maintenance.clear_results",
}


class MemoryPanel(Panel):
    """The Memory panel. `memory=` chooses a memory by name or id, `actor=` an actor in it."""

    opener: ClassVar[str] = "memory"
    called: ClassVar[str] = "Memory"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.memory", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (("loom_widgets.panels.memory", "page.js"),)
    lazy: ClassVar[Mapping[str, Sequence[tuple[str, str]]]] = {
        "keeping": (("loom_widgets.panels.memory", "keeping.js"),),
    }

    def __init__(self, bench: Workbench, *, memory: str | Memory = "", actor: str = "", **options: Any) -> None:
        self.chosen = ChosenMemory(self, self._clear)
        self._reading = ReadActions(self, self.chosen)
        self.maintenance = MaintenanceActions(self, self.chosen)
        super().__init__(bench, actions=(self._reading, self.maintenance), **options)
        key = memory if isinstance(memory, str) else memory.id
        self.show(snapshots=[], teach=list(TEACH))
        if bench.where == "local":
            try:
                self.chosen.look_around(key, actor)
            except Exception as error:  # noqa: BLE001 -- the panel opens nevertheless and shows the error
                self.fail(error, action="refresh")
        else:
            self.later("refresh", memory=key, actor=actor)

    @property
    def memory(self) -> Memory:
        """The chosen memory. Raises `LoomError` when no memory is chosen."""
        return self.chosen.memory

    @property
    def actor(self) -> str:
        """The chosen actor; "" for all."""
        return self.chosen.actor

    @property
    def session(self) -> str:
        """The chosen session of the actor; "" for all."""
        return self.chosen.session

    def __getattr__(self, name: str) -> Any:
        """Return an action of an object that the panel holds, or the replacement of an old name."""
        return renamed_members(self, _RENAMED, name) if name in _RENAMED else super().__getattr__(name)

    @action(lane="view")
    def refresh(self, form: Form) -> None:
        """Read the memories and the actors again."""
        key, actor = form.text("memory") or self.state.get("memory", ""), form.text("actor") or self.chosen.actor
        self.chosen.show_call("bench.memories.table()", memory=False)
        self.chosen.look_around(key, actor, self.chosen.session)
        self._show_owner()

    @action(lane="view")
    def choose_memory(self, form: Form) -> None:
        """Choose another memory."""
        self._clear()
        self.chosen.look_around(form.text("memory"))
        self.chosen.show_call("memory")
        self.send_message("memory", **self.welcome())
        self._show_owner()

    @action(lane="view")
    def choose(self, form: Form) -> None:
        """Choose another actor or session."""
        actor, session = form.text("actor"), form.text("session")
        self.chosen.choose_actor(actor, session)
        self.chosen.show_call(f"memory.sessions({actor!r})" if actor else "memory.actors()")
        self._show_owner()

    @action(lane="view")
    def create(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Create a memory, and return it once it is ACTIVE."""
        name, days = form.text("name").strip(), form.count("days", 90, most=365)
        strategies = [item for item in form.texts("strategies") if item in STRATEGIES]
        arguments = f"strategies={strategies!r}, event_expiry_days={days}"
        self.chosen.show_call(f"memory = bench.memories.create({name!r}, {arguments})", memory=False)
        self.say(f"Creating {name} …")
        memory = self.bench.memories.create(
            name, strategies=strategies, event_expiry_days=days, progress=self.chosen.progress_callback(cancel)
        )
        self._clear()
        self.chosen.look_around(memory.id)
        self.announce()
        self.say(f"{memory.name} is {memory.status.lower()}.")
        self.send_message("memory", **self.welcome())
        return {"id": memory.id}

    def _clear(self) -> None:
        """Stop the actions on the chosen memory, and drop what was read of it."""
        self.stop("read")
        self.stop("keep")
        self._reading.clear()
        self.maintenance.clear_results()

    def _show_owner(self) -> None:
        """Show which actor and session are selected."""
        if self.chosen.session:
            self.say(f"Session {self.chosen.session} of {self.chosen.actor}.")
        elif self.chosen.actor:
            self.say(f"{plural(self.state['sessions_total'], 'session')} of {self.chosen.actor}.")
        elif self.state["memory"]:
            self.say(f"{self.chosen.memory.name}: {plural(self.state['actors_total'], 'actor')}.")
        else:
            self.say(TEACH[0])

    def welcome(self) -> Mapping[str, Any]:
        """Return the last results."""
        return {"found": self.maintenance.results, **self._reading.counts()}

    def read_again(self) -> None:
        """Read the memories; the chosen one stays."""
        self.chosen.read_again()

    def fail(self, error: BaseException | Mapping[str, str], *, action: str = "") -> None:
        """Show an error and clear the progress."""
        self.say("")
        super().fail(error, action=action)

    def static_html(self) -> Markup | str:
        """Return the memory, its strategies and actors."""
        about = self.state.get("about") or {}
        if not about:
            return static_summary(TEACH)
        strategies = [[name, kind, places] for name, kind, places in about["strategies"]]
        actors = [[actor] for actor in self.state.get("actors", [])[:50]]
        more = self.state.get("actors_total", 0) - len(actors)
        return static_summary(
            [(about["name"], " · ".join(["", about["status"], *self.state.get("labels", ())]))],
            [(["strategy", "kind", "namespaces"], strategies), (["actor"], actors)],
            more=f"… {plural(more, 'more actor')}" if more > 0 else "" if actors else "This memory has no events yet.",
        )
