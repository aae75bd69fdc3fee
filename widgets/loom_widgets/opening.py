"""Functions that open a panel; each imports its panel's package.

No module of `loom_widgets` itself has the name of one of them: importing it would replace the function.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import loomlib as loom

if TYPE_CHECKING:
    from loomlib import Agent, Workbench

    from .kit import Panel


def build(bench: Workbench, **options: Any) -> Panel:
    """Deploy a blueprint or a file, register by ARN, and the table of agents."""
    return _open("build_agents", "BuildPanel", bench, options)


def test(bench: Workbench | Agent, **options: Any) -> Panel:
    """Ask an agent and watch: the answer as it comes, its tools, times, trace and logs."""
    return _open("test", "TestPanel", bench, options)


def operate(bench: Workbench, **options: Any) -> Panel:
    """All agents at work: invocations, cold starts, errors, cost, and each agent in detail."""
    return _open("operate", "OperatePanel", bench, options)


def evaluate(bench: Workbench, **options: Any) -> Panel:
    """Run eval sets against agents, look at results and compare."""
    return _open("evaluate", "EvaluatePanel", bench, options)


def memory(bench: Workbench, **options: Any) -> Panel:
    """Inspect a memory: actors, sessions, events, records, search."""
    return _open("memory", "MemoryPanel", bench, options)


def reopen(opener: str, **place: Any) -> None:
    """Display a panel in a kernel that was restarted; a panel's button *Reconnect* runs this.

    Args:
        opener: The name of the function above that opens the panel.
        place: Arguments of `loom.connect`.
    """
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    openers = {"build": build, "test": test, "operate": operate, "evaluate": evaluate, "memory": memory}
    display(openers[opener](loom.connect(**place)))


def _open(package: str, name: str, bench: object, options: dict[str, Any]) -> Panel:
    return getattr(import_module(f"{__package__}.panels.{package}.panel"), name)(bench, **options)
