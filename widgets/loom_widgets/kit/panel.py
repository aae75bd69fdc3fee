"""The panel: a widget whose views send commands and whose kernel side runs them and returns the results."""

# pyright: basic

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from importlib import resources
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

import anywidget
import traitlets as t

from loomlib import Workbench
from loomlib.deprecation import warn_renamed
from loomlib.errors import LoomError
from loomlib.presentation.html import fragment

from .actions import Action, ActionCancelledError, Cancel, Form, action, actions_of
from .failures import error_parts
from .front_end import cannot_draw
from .lanes import Lanes
from .source import reopen_code
from .stream import Stream
from .tables import Tables

if TYPE_CHECKING:
    from markupsafe import Markup


WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

KIT = ("format.js", "kit.js", "page.js", "table.js", "frame.js")
"""The kit's scripts, inserted in this order before a panel's own script."""
KIT_PARTS: Mapping[str, Sequence[str]] = {
    "spans.js": ("waterfall(", "spanDetail(", "spanView("),
    "chart.js": ("chart.",),
}
"""Optional scripts of the kit: each is included in panels whose own scripts contain one of these texts."""

_OPEN: WeakSet[Panel] = WeakSet()
"""The panels of this kernel."""
_INDENTS = re.compile(r"^ +", re.M)
_COMMENTS = re.compile(r"^ *(?://.*|/\*\*(?s:.)*?\*/) *\n", re.M)


class Panel(anywidget.AnyWidget):
    """Base of all panels. A subclass sets `called`, `script` (its own .js), and methods marked with `@action`.

    A panel with many actions groups them in objects that it passes to `__init__`: views call their actions like the
    panel's own, and `panel.action(…)` works for both. Such an object uses the panel through `PanelPort`.

    The view's whole state is in `state` (small values) and in the result of `welcome()` for each view that opens, so a
    panel can be shown twice and is restored after a reload. Everything else is sent as it happens (`send_message`,
    `stream`).
    """

    script: ClassVar[tuple[str, str]] = ("loom_widgets.kit", "blank.js")
    """The package and the file of the panel's own script; the kit's scripts are inserted before it."""

    parts: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Scripts inserted between the kit and the panel's own script: code that the panel shares with others."""

    lazy: ClassVar[Mapping[str, Sequence[tuple[str, str]]]] = {}
    """Scripts that a view loads on demand with `lazyPart`: by name, the files of each."""

    opener: ClassVar[str] = ""
    """The function of `loom_widgets` that opens such a panel; "" for views of objects, which cannot be reopened."""

    list_lane: ClassVar[str] = "view"
    """The lane in which the panel's lists are read."""

    called: ClassVar[str] = "Panel"
    """The panel's title; set by each subclass (a class attribute `title = …` would replace the trait)."""

    title = t.Unicode().tag(sync=True)
    state = t.Dict().tag(sync=True)
    status = t.Unicode("").tag(sync=True)
    error = t.Dict().tag(sync=True)
    code = t.Unicode("").tag(sync=True)
    reopen = t.Unicode("").tag(sync=True)
    """Python that opens the same panel in a restarted kernel; "" when it cannot be reopened."""
    busy = t.Bool(False).tag(sync=True)
    _esm = t.Unicode().tag(sync=True)
    _css = t.Unicode().tag(sync=True)

    def __init__(self, bench: Workbench, *, actions: Sequence[object] = (), **options: Any) -> None:
        """Open the panel.

        Args:
            bench: The workbench that the panel shows.
            actions: Objects that the panel holds and whose `@action` methods its views may call.
            options: Traits of the widget.

        Raises:
            ValueError: Two actions have the same name.
        """
        self.bench = bench
        self.tables = Tables()
        self._lock = RLock()
        self._opened_by = copy_context()  # ipykernel stores in it the request that opened the panel
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._lanes = Lanes(type(self).__name__, self._note_busy)
        self._actions = _joined_actions((self, *actions))
        super().__init__(**options)
        if self.opener:
            _OPEN.add(self)
        self.on_msg(lambda _widget, content, _buffers: self.receive(content))

    @t.default("title")
    def _first_title(self) -> str:
        return self.called

    @t.default("reopen")
    def _first_reopen(self) -> str:
        return reopen_code(self.opener, self.bench) if self.opener else ""

    @t.default("_esm")
    def _joined_script(self) -> str:
        return script_of(type(self))

    @t.default("_css")
    def _shared_style(self) -> str:
        return text_of("loom_widgets.kit", "kit.css")

    # Methods that a panel calls.

    def show(self, **values: Any) -> None:
        """Set values in `state`; the others stay."""
        with self._lock:
            self.state = {**self.state, **values}

    def say(self, sentence: str) -> None:
        """Set the status line under the title, which screen readers announce."""
        with self._lock:
            self.status = sentence

    def fail(self, error: BaseException | Mapping[str, str], *, action: str = "") -> None:
        """Show an error in its three parts; the next action that succeeds clears it.

        Args:
            error: The error, or its parts `what`, `on` and `try`.
            action: The action that failed; a view may show its errors beside the control that started it.
        """
        parts = error_parts(error, doing=action.replace("_", " ")) if isinstance(error, BaseException) else dict(error)
        with self._lock:
            if self.status.endswith("…"):  # the action has ended
                self.status = ""
            self.error = parts | ({"action": action} if action else {})

    def show_code(self, text: str) -> None:
        """Show the last action as Python, for Copy as Python."""
        with self._lock:
            self.code = text

    def __getattr__(self, name: str) -> Any:
        """Return an action of an object that the panel holds."""
        holder, _ = self.__dict__.get("_actions", {}).get(name, (None, None))
        if holder is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(holder, name)

    def send_message(self, kind: str, **values: Any) -> None:
        """Send a message to all views, which receive it by `onMessage(model, kind, f)`."""
        message = {"is": kind, **values}
        with self._lock:
            if self.comm is not None:
                self.send(message)
        for listener in tuple(self._listeners):
            listener(message)

    def tell(self, kind: str, **values: Any) -> None:
        """Call `send_message`, the new name of this method."""
        warn_renamed("Panel.tell", "Panel.send_message")
        self.send_message(kind, **values)

    def stream(self, kind: str, **values: Any) -> Stream:
        """Return a stream that sends frequent items in batches.

        Each message is `{"is": kind, "items": […]}` with `values`.
        """
        return Stream(lambda items: self.send_message(kind, items=list(items), **values))

    def send_state(self, key: Any = None) -> None:
        """Send the values of some traits to the views, or all of them.

        A page that opens while the kernel is busy requests all traits and takes the first `update` that belongs to its
        request as the response. Changes that a thread makes meanwhile would belong to that request too, because
        ipykernel assigns a thread to the newest request. So changes are sent as part of the request that opened the
        panel.

        Args:
            key: A trait's name or several; None for all traits.
        """
        if key is None:
            super().send_state()
        else:
            self._opened_by.copy().run(super().send_state, key)

    def listen(self, listener: Callable[[Mapping[str, Any]], None]) -> None:
        """Call `listener` with every message to the views."""
        self._listeners.append(listener)

    # Methods that a panel may override.

    def welcome(self) -> Mapping[str, Any]:
        """Return what a newly opened view needs besides `state`.

        It must be quick, because it runs on the kernel's main thread.
        """
        return {}

    def read_again(self) -> None:
        """Reload lists that other panels, cells and notebooks may have changed; the selection stays."""

    def static_html(self) -> Markup | str:
        """Return the panel's current content as static HTML, by `presentation.html`; a plain string is escaped."""
        return ""

    # Changes made elsewhere.

    @action(lane=lambda panel, _form: panel.list_lane)
    def look_again(self) -> None:
        """Reload the lists, because the panel became visible or another panel changed something."""
        with suppress(LoomError):  # the user did not request it: the next action shows the error
            self.read_again()

    def announce(self) -> None:
        """Make the other panels of the same home folder reload their lists, after a change."""
        for other in tuple(_OPEN):
            if other is not self and other.bench.context.settings.home == self.bench.context.settings.home:
                other.later("look_again")

    # The other end of the view's `act(…)`.

    def receive(self, message: Any) -> None:
        """Handle a message from a view: `{"do": name, "with": {…}, "id": n}`.

        It is acknowledged at once and answered when the action is done.
        """
        if not isinstance(message, Mapping) or not isinstance(message.get("do"), str):
            return
        name, id = message["do"], message.get("id")
        form = Form(message["with"]) if isinstance(message.get("with"), Mapping) else Form()
        self.send_message("received", id=id)
        if name == "hello":
            self._answer(id, self.welcome)
        elif name == "page":
            self._answer(id, lambda: self.tables.page(form))
        elif name == "script":
            self._answer(id, lambda: {"script": self._lazy_script(form.text("name"))})
        elif name == "stop":
            lane = form.get("lane")
            self._answer(id, lambda: {"stopped": self.stop(lane if isinstance(lane, str) else None)})
        elif name == "dismiss":
            self.error = {}
            self.send_message("done", id=id, value={})
        elif name in self._actions:
            self._begin(name, form, id)
        else:
            self.send_message("failed", id=id)
            self.fail({"what": "The panel has no such action", "on": name[:80], "try": "Reload the page."})

    def later(self, name: str, **form: Any) -> None:
        """Start another action of this panel in its own lane, without waiting for it."""
        self._begin(name, Form(form), None)

    def stop(self, lane: str | None = None) -> bool:
        """Cancel the jobs of a lane (or of all lanes); return True when there were any."""
        return self._lanes.stop(lane)

    def close(self) -> None:
        """Stop the threads, then close the widget."""
        # ipywidgets also closes a widget when it is deleted, even if its construction failed half-way.
        if (lanes := getattr(self, "_lanes", None)) is None:
            super().close()
            return
        lanes.close()
        with self._lock:  # a job that has not ended in time may be sending
            super().close()

    def _begin(self, name: str, form: Form, id: Any) -> None:
        holder, command = self._actions[name]

        def job(cancel: Cancel) -> None:
            arguments: tuple[Any, ...] = (form, cancel)[: command.takes]
            try:
                cancel.check()
                value = getattr(holder, name)(*arguments)
            except ActionCancelledError:
                self.send_message("done", id=id, value={"stopped": True})
            except Exception as error:  # noqa: BLE001 -- an action is foreign code here: its failure is shown
                self.fail(error, action=name)
                self.send_message("failed", id=id)
            else:
                if self.error and id is not None:  # an automatic action does not clear an error that is being read
                    with self._lock:
                        self.error = {}
                self.send_message("done", id=id, value=dict(value) if isinstance(value, Mapping) else {})

        try:
            lane = command.lane if isinstance(command.lane, str) else command.lane(holder, form)
        except ValueError as error:  # the form is untrusted
            self.fail(error, action=name)
            self.send_message("failed", id=id)
        else:
            self._lanes.add(lane, job)

    def _lazy_script(self, name: str) -> str:
        if name not in self.lazy:
            raise LoomError("The panel has no such script", on=name[:80], try_="reload the page")
        return "\n".join(text_of(*place) for place in self.lazy[name])

    def _note_busy(self) -> None:
        with self._lock:
            self.busy = bool(self._lanes.busy)

    def _answer(self, id: Any, make: Callable[[], Mapping[str, Any]]) -> None:
        try:
            self.send_message("done", id=id, value=dict(make()))
        except Exception as error:  # noqa: BLE001 -- a panel's own `welcome`, an untrusted form
            self.fail(error)
            self.send_message("failed", id=id)

    # Representations.

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    def _repr_html_(self) -> str:
        return str(
            fragment("loom_widgets.kit:panel.html.j2", title=self.title, status=self.status, body=self.static_html())
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if cannot_draw():
            data = {mime: value for mime, value in data.items() if mime != WIDGET_VIEW}
        return {**data, "text/plain": repr(self), "text/html": self._repr_html_()}, metadata


def _joined_actions(holders: Sequence[object]) -> Mapping[str, tuple[object, Action]]:
    """Return the actions of all these objects by name, each with the object that has it."""
    joined: dict[str, tuple[object, Action]] = {}
    for holder in holders:
        for name, command in actions_of(type(holder)).items():
            if name in joined:
                kinds = f"{type(joined[name][0]).__name__} and {type(holder).__name__}"
                raise ValueError(f"two actions are named {name!r}: those of {kinds}")
            joined[name] = holder, command
    return joined


def script_of(panel: type[Panel]) -> str:
    """Return the complete script of a panel's view: the kit scripts that it uses, shared parts, its own script."""
    own = "\n".join(text_of(*item) for item in (*panel.parts, panel.script))
    used = (name for name, uses in KIT_PARTS.items() if any(use in own for use in uses))
    return "\n".join((*(text_of("loom_widgets.kit", name) for name in (*KIT, *used)), own))


@cache
def text_of(package: str, name: str) -> str:
    """Return the text of a package's file; comment lines and indentation of a script are removed."""
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    return _INDENTS.sub("", _COMMENTS.sub("", text)) if name.endswith(".js") else text


def static_summary(
    lines: Sequence[str | tuple[str, str]] = (),
    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[object]]]] = (),
    more: str = "",
) -> Markup:
    """Render the `static_html` of a panel: sentences and tables, all escaped.

    Args:
        lines: Sentences; a pair is a name in bold and its text.
        tables: Pairs of head and rows; a table without rows is left out.
        more: A sentence below the tables.
    """
    return fragment("loom_widgets.kit:summary.html.j2", lines=lines, tables=tables, more=more)
