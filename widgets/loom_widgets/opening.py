"""Opening a panel: each function imports its panel and makes it.

The modules are called `…_panel`, for importing a module `build` would put it in the place of the function `build`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomlib import Agent, Workbench

    from .kit import Panel


def build(bench: Workbench, **options: Any) -> Panel:
    """Deploy a blueprint or a file, register by ARN, and the table of agents."""
    return _open("build_panel", "BuildPanel", bench, options)


def test(bench: Workbench | Agent, **options: Any) -> Panel:
    """Ask an agent and watch: the answer as it comes, its tools, times, trace and logs."""
    return _open("test_panel", "TestPanel", bench, options)


def operate(bench: Workbench, **options: Any) -> Panel:
    """All agents at work: invocations, cold starts, errors, cost, and each agent in detail."""
    return _open("operate_panel", "OperatePanel", bench, options)


def evaluate(bench: Workbench, **options: Any) -> Panel:
    """Run eval sets against agents, look at results and compare."""
    return _open("evaluate_panel", "EvaluatePanel", bench, options)


def memory(bench: Workbench, **options: Any) -> Panel:
    """Look into a memory: actors, sessions, events, records, search."""
    return _open("memory_panel", "MemoryPanel", bench, options)


def _open(module: str, name: str, bench: object, options: dict[str, Any]) -> Panel:
    return getattr(import_module(f".{module}", __package__), name)(bench, **options)
