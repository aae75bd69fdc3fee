"""Panels are found as plugins, cost nothing at import, and stay small."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loom_widgets.kit import Panel
from loom_widgets.kit.panel import script_of, text_of
from loom_widgets.panels.build_agents.panel import BuildPanel
from loom_widgets.panels.evaluate.panel import EvaluatePanel
from loom_widgets.panels.memory.panel import MemoryPanel
from loom_widgets.panels.operate.panel import OperatePanel
from loom_widgets.panels.test.panel import TestPanel
from loom_widgets.panels.tools.panel import ToolsPanel
from loomlib.plugins import load_plugins

LARGEST_SCRIPT = 60_000
LARGEST_PART = 16_000
PANELS = (BuildPanel, TestPanel, OperatePanel, EvaluatePanel, MemoryPanel, ToolsPanel)


def test_the_panels_are_a_plugins() -> None:
    plugins = load_plugins()
    assert {"build", "test", "operate", "evaluate", "memory", "tools"} <= set(plugins.names("panels"))
    assert [problem for problem in plugins.problems if problem.distribution == "loom-widgets"] == []


def test_importing_loom_and_its_plugins_brings_no_widget() -> None:
    code = (
        "import sys, loomlib, loom_widgets; from loomlib.plugins import load_plugins; load_plugins();"
        "print([n for n in ('ipywidgets', 'anywidget', 'traitlets', 'IPython') if n in sys.modules])"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert completed.stdout.strip() == "[]"


@pytest.mark.parametrize("panel", PANELS)
def test_a_panels_script_is_small_and_sets_no_markup(panel: type[Panel]) -> None:
    whole = script_of(panel)
    assert len(whole.encode()) <= LARGEST_SCRIPT
    for places in panel.lazy.values():
        part = "\n".join(text_of(*place) for place in places)
        assert len(part.encode()) <= LARGEST_PART
        whole += part
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert forbidden not in whole
