"""Panels come through the plugin door, cost nothing at import, and stay small."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from loom_widgets.kit.panel import text_of
from loomlib.plugins import load_plugins

LARGEST_SCRIPT = 60_000
SCRIPTS = sorted(each.name for each in resources.files("loom_widgets").iterdir() if each.name.endswith("_panel.js"))


def test_the_five_panels_are_a_plugins() -> None:
    plugins = load_plugins()
    assert {"build", "test", "operate", "evaluate", "memory"} <= set(plugins.names("panels"))
    assert [each for each in plugins.problems if each.distribution == "loom-widgets"] == []


def test_importing_loom_and_its_plugins_brings_no_widget() -> None:
    code = (
        "import sys, loomlib, loom_widgets; from loomlib.plugins import load_plugins; load_plugins();"
        "print([n for n in ('ipywidgets', 'anywidget', 'traitlets', 'IPython') if n in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_panels_script_is_small_and_sets_no_markup(name: str) -> None:
    whole = text_of("loom_widgets.kit", "kit.js") + "\n" + text_of("loom_widgets", name)
    assert len(whole.encode()) <= LARGEST_SCRIPT
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert forbidden not in whole
    assert Path(name).with_suffix(".py").name in {each.name for each in resources.files("loom_widgets").iterdir()}
