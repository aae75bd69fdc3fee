"""Memory: events and records by actor, the sources of records, and the memory's health."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Workbench
from loomlib.presentation.formats import plural

from ...kit import Cancel, Form, action
from ...kit.panel import static_summary
from .keeping import Keeping
from .reading import Reading

if TYPE_CHECKING:
    from markupsafe import Markup

    from loomlib.workbench.memory import Memory

TEACH = (
    "No memory yet.",
    "A memory stores conversations as events, by actor (the user) and session. Its strategies extract "
    "records of them (facts, preferences, summaries), which later sessions are given.",
    'Create one below; then bench.deploy("assistant_with_memory", memory="assistant") gives you an agent that uses it.',
)
STRATEGIES = ("semantic", "preferences", "summary", "episodic")


class MemoryPanel(Reading, Keeping):
    """The Memory panel. `memory=` chooses a memory by name or id, `actor=` an actor in it."""

    opener: ClassVar[str] = "memory"
    called: ClassVar[str] = "Memory"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.memory", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (
        ("loom_widgets.panels.memory", "page.js"),
        ("loom_widgets.panels.memory", "keeping.js"),
    )

    def __init__(self, bench: Workbench, *, memory: str | Memory = "", actor: str = "", **options: Any) -> None:
        super().__init__(bench, **options)
        key = memory if isinstance(memory, str) else memory.id
        self.show(snapshots=[], teach=list(TEACH))
        if bench.where == "local":
            try:
                self.look_around(key, actor)
            except Exception as error:  # noqa: BLE001 -- the panel opens all the same, and says what is wrong
                self.fail(error, action="refresh")
        else:
            self.later("refresh", memory=key, actor=actor)

    @action(lane="view")
    def refresh(self, form: Form) -> None:
        """Read the memories and the actors again."""
        key, actor = form.text("memory") or self.state.get("memory", ""), form.text("actor") or self.actor
        self.show_call("bench.memories.table()", memory=False)
        self.look_around(key, actor, self.session)
        self._show_owner()

    @action(lane="view")
    def choose_memory(self, form: Form) -> None:
        """Choose another memory."""
        self.stop("read")
        self.stop("keep")
        self._events = self._records = None
        for name in ("events", "records", "timeline", "changes"):
            self.tables.put(name, [])
        self.clear_results()
        self.look_around(form.text("memory"))
        self.show_call("memory")
        self.send_message("memory", **self.welcome())
        self._show_owner()

    @action(lane="view")
    def choose(self, form: Form) -> None:
        """Choose another actor or session."""
        actor, session = form.text("actor"), form.text("session")
        self.choose_actor(actor, session)
        self.show_call(f"memory.sessions({actor!r})" if actor else "memory.actors()")
        self._show_owner()

    @action(lane="view")
    def create(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Create a memory, and return it once it is ACTIVE."""
        name, days = form.text("name").strip(), form.count("days", 90, most=365)
        strategies = [item for item in form.texts("strategies") if item in STRATEGIES]
        made = f"strategies={strategies!r}, event_expiry_days={days}"
        self.show_call(f"memory = bench.memories.create({name!r}, {made})", memory=False)
        self.say(f"Creating {name} …")
        memory = self.bench.memories.create(
            name, strategies=strategies, event_expiry_days=days, progress=self.progress_callback(cancel)
        )
        self.clear_results()
        self.look_around(memory.id)
        self.announce()
        self.say(f"{memory.name} is {memory.status.lower()}.")
        self.send_message("memory", **self.welcome())
        return {"id": memory.id}

    def _show_owner(self) -> None:
        """Show which actor and session are selected."""
        if self.session:
            self.say(f"Session {self.session} of {self.actor}.")
        elif self.actor:
            self.say(f"{plural(self.state['sessions_total'], 'session')} of {self.actor}.")
        elif self.state["memory"]:
            self.say(f"{self.memory.name}: {plural(self.state['actors_total'], 'actor')}.")
        else:
            self.say(TEACH[0])

    def welcome(self) -> Mapping[str, Any]:
        """Return the last results."""
        events = [0, False] if self._events is None else [len(self._events), self._events.is_whole]
        records = [0, False] if self._records is None else [len(self._records), self._records.is_whole]
        return {"found": dict(self._found), "events": events, "records": records}

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
