"""Hooks that give names which are taken, and things that are not what they should be."""

from __future__ import annotations

from typing import Any

from loomlib.plugins import hookimpl


def fails(*arguments: object, **options: object) -> Any:
    raise ValueError("<script>alert('made')</script>\x1b[31m")


@hookimpl
def loom_evaluators() -> Any:
    return {"exact": fails, "broken_evaluator": fails, 7: fails}


@hookimpl
def loom_blueprints() -> Any:
    return {"calculator": "/nowhere", "broken_blueprint": "/nowhere/at/all"}


@hookimpl
def loom_reports() -> Any:
    return {"broken_report": "/nowhere/report.ipynb", "broken_made_report": fails}


@hookimpl
def loom_commands() -> Any:
    return {"broken-command": lambda: "no command", "broken-made-command": fails, "up": fails}


@hookimpl
def loom_span_sources() -> Any:
    return {"broken_spans": lambda: 7}


@hookimpl
def loom_models() -> Any:
    return {"broken_model": lambda profile, url: "no model"}


@hookimpl
def loom_panels() -> Any:
    return {"broken_panel": fails}


@hookimpl
def loom_rules() -> Any:
    return {"broken_rule": fails, "slow_tool": fails}
