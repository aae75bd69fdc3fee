"""Notebooks as they are shipped: what a report needs is in the wheel, and nothing stays after a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_wheel_holds_the_notebooks_and_the_pages_template(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    assert {
        "loomlib/notebooks/00_start_here.ipynb",
        "loomlib/notebooks/reports/latency_study.ipynb",
        "loomlib/reports/templates/page.html.j2",
        "loomlib/reports/templates/page.css",
        "loomlib/reports/templates/page.js",
        "loomlib/reports/templates/plotly-cartesian-4.1.1.min.js.gz",
        "loomlib/notebooks/panels/test.ipynb",
        "loomlib/notebooks/panels/loom.svg",
        "loomlib/plugins/template/pyproject.toml.template",
        "loomlib/plugins/template/MODULE/plugin.py.template",
        "loomlib/plugins/template/tests/test_MODULE.py.template",
    } <= names
    assert not [name for name in names if "checkpoint" in name]


def test_no_notebook_makes_a_folder_that_stays_in_the_temporary_directory() -> None:
    notebooks = list((REPOSITORY / "notebooks").rglob("*.ipynb"))
    assert notebooks
    assert not [path.name for path in notebooks if "mkdtemp" in path.read_text("utf-8")]
