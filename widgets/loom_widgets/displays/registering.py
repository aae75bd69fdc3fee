"""Registers views for Loom's objects with IPython, by class name, so that nothing is imported."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .cells import Cells

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .display import Display

VIEWS: Final = {
    ("loomlib.workbench.invocation", "Invocation"): ("invocation", "InvocationDisplay"),
    ("loomlib.workbench.trace_view", "TraceView"): ("trace", "TraceDisplay"),
    ("loomlib.latency.result", "StudyResult"): ("study", "StudyDisplay"),
    ("loomlib.evals.runs.eval_run", "EvalRun"): ("eval_run", "EvalRunDisplay"),
    ("loomlib.workbench.memory", "Memory"): ("memory", "MemoryDisplay"),
    ("loomlib.presentation.text_frame", "TextFrame"): ("frame", "FrameDisplay"),
    ("loomlib.workbench.memory_frame", "MemoryFrame"): ("frame", "FrameDisplay"),
}
"""Module and name of a class, and of the display that shows it."""

_enabled: tuple[Any, Cells, dict[str, Any]] | None = None


def enable(shell: InteractiveShell | None = None) -> None:
    """Show invocations, traces, studies, evaluations, memories and tables as interactive views.

    The static HTML and the text of each stay in the same output; where no view can be drawn (papermill, nbconvert, a
    terminal), they are the whole output. Outside IPython this does nothing. `%load_ext loom_widgets` calls it.
    """
    global _enabled
    ipython: Any = shell if shell is not None else _shell()
    if ipython is None or ipython.display_formatter is None:
        return
    if _enabled is not None:
        if _enabled[0] is ipython:
            return
        disable()
    cells = Cells()
    formatter = ipython.display_formatter.mimebundle_formatter
    before: dict[str, Any] = {}
    for (module, name), view in VIEWS.items():
        # Remove the former formatter first: IPython stores a used one by class, which takes precedence over the name.
        before[f"{module}.{name}"] = formatter.pop(f"{module}.{name}", None)
        formatter.for_type_by_name(module, name, _shown_as(ipython, cells, *view))
    ipython.events.register("pre_run_cell", cells.begin)
    _enabled = ipython, cells, before


def disable() -> None:
    """Show only static HTML again; open views stay. `%unload_ext loom_widgets` calls this."""
    global _enabled
    if _enabled is None:
        return
    shell, cells, before = _enabled
    _enabled = None
    formatter = shell.display_formatter.mimebundle_formatter
    for key, old in before.items():
        formatter.pop(key, None)
        if old is not None:
            formatter.for_type_by_name(*key.rsplit(".", 1), old)
    shell.events.unregister("pre_run_cell", cells.begin)


def _shown_as(shell: Any, cells: Cells, module: str, name: str) -> Callable[[Any], dict[str, Any] | None]:
    """Return the function that creates an object's view; IPython adds the object's own displays to it."""

    def view_of(value: Any) -> dict[str, Any] | None:
        if "text/html" not in shell.display_formatter.active_types:  # a terminal
            return None
        from ..kit.front_end import cannot_draw

        if cannot_draw():
            return None
        try:
            kind: type[Display] = getattr(import_module(f".{module}", __package__), name)
            if not kind.helps(value):
                return None
            display = kind(value)
        except Exception as error:  # noqa: BLE001 -- if a view cannot be created, the static HTML must remain
            import logging

            log = logging.getLogger(__name__)
            log.warning("no view of %s: %s; its static display is shown", type(value).__name__, type(error).__name__)
            return None
        cells.add(display)
        return display.view()

    return view_of


def _shell() -> Any:
    import sys

    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
