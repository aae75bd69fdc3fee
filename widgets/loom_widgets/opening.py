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
    """Open the Build panel: deploy a blueprint or a file, register by ARN, and list the agents."""
    return _open("build_agents", "BuildPanel", bench, options)


def test(bench: Workbench | Agent, **options: Any) -> Panel:
    """Open the Test panel: invoke an agent and follow its answer, tools, times, trace and logs."""
    return _open("test", "TestPanel", bench, options)


def operate(bench: Workbench, **options: Any) -> Panel:
    """Open the Operate panel: invocations, cold starts, errors and cost of all agents, and each in detail."""
    return _open("operate", "OperatePanel", bench, options)


def evaluate(bench: Workbench, **options: Any) -> Panel:
    """Open the Evaluate panel: run eval sets against agents, inspect results and compare."""
    return _open("evaluate", "EvaluatePanel", bench, options)


def memory(bench: Workbench, **options: Any) -> Panel:
    """Open the Memory panel: actors, sessions, events, records, search."""
    return _open("memory", "MemoryPanel", bench, options)


def tools(bench: Workbench, **options: Any) -> Panel:
    """Open the Tools panel: gateways, functions, knowledge bases, guardrails, agents and browsers, listed and tried."""
    return _open("tools", "ToolsPanel", bench, options)


def reopen(opener: str, **place: Any) -> None:
    """Display a panel in a restarted kernel; a panel's button *Reconnect* runs this.

    Args:
        opener: The name of the function above that opens the panel.
        place: Arguments of `loom.connect`.
    """
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    openers = {"build": build, "test": test, "operate": operate, "evaluate": evaluate, "memory": memory, "tools": tools}
    display(openers[opener](loom.connect(**place)))


def _open(package: str, name: str, bench: object, options: dict[str, Any]) -> Panel:
    return getattr(import_module(f"{__package__}.panels.{package}.panel"), name)(bench, **options)
