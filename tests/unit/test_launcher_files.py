"""What `loom lab` writes for JupyterLab's launcher and for New from template."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from loomlib.cli.launcher import prepare_jupyter
from loomlib.cli.main import cli
from loomlib.errors import LoomError, MissingExtraError
from loomlib.reports import report_notebooks

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
WIDGETS = NOTEBOOKS.parent / "widgets"


def plug_in(folder: Path, panels: str) -> None:
    (folder / "loom_more.py").write_text(
        "from loomlib.plugins import hookimpl\n\n@hookimpl\ndef loom_panels():\n    return " + panels
    )
    info = folder / "loom_more-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loom-more\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[loom.plugins]\nmore = loom_more\n")


def layout(cell: dict[str, Any]) -> dict[str, Any]:
    """What jupyter-app-launcher's page makes of a cell."""
    return cell["metadata"]["extensions"]["jupyter_dashboards"]["views"]["grid_default"]


def test_each_panel_has_a_card_that_runs_its_notebook_in_any_jupyterlab() -> None:
    wheel = tomllib.loads((WIDGETS / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    installed = {to: WIDGETS / source for source, to in wheel["shared-data"].items()}
    launcher = "share/jupyter/jupyter_app_launcher/"
    cards = yaml.safe_load(installed[f"{launcher}jp_app_launcher_loom.yaml"].read_text())
    names, subtitles = zip(*(card["title"].split(" · ") for card in cards), strict=True)
    assert names == ("Build", "Test", "Operate", "Evaluate", "Memory", "Tools")
    assert all(subtitles)
    assert len({card["icon"] for card in cards}) == len(cards)
    for card in cards:
        assert (card["catalog"], card["type"]) == ("Loom", "notebook-grid")
        notebook, icon = (
            installed[launcher + (at := Path(card[key])).parts[0]] / at.name for key in ("source", "icon")
        )
        assert icon.read_text().startswith("<svg")
        heading, connecting, panel, hint = json.loads(notebook.read_text())["cells"]
        title, _, described = heading["source"][0].strip().removeprefix("# ").partition(": ")
        name = card["title"].partition(" · ")[0]
        assert (title, described[0].upper() + described[1:]) == (name, card["description"])
        assert [layout(cell)["hidden"] for cell in (heading, panel, hint)] == [True, False, True]
        assert connecting["metadata"] == {}  # it says nothing, unless it fails: then that is on the page
        assert 'InteractiveTB.set_mode("Minimal")' in "".join(connecting["source"])  # in one sentence


def test_a_plugins_panel_has_a_card_too_and_its_name_makes_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(tmp_path, "{'mood': print, '../../evil': print, 'build': print}")
    monkeypatch.syspath_prepend(tmp_path)
    folder = prepare_jupyter(tmp_path / "jupyter")
    cards = json.loads((folder / "jupyter_app_launcher" / "jp_app_launcher_loom_plugins.yaml").read_text())
    assert [(card["title"], card["type"]) for card in cards] == [("mood", "notebook-grid")]
    cells = json.loads((folder / "jupyter_app_launcher" / cards[0]["source"]).read_text())["cells"]
    assert cells[-1]["source"] == "bench.panel('mood')"


def test_every_report_is_a_template_unless_it_is_installed_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "share" / "notebook_templates" / "Loom"
    installed.mkdir(parents=True)
    (installed / "latency_study.ipynb").write_text("{}")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    folder = prepare_jupyter(tmp_path / "jupyter")
    templates = {path.stem for path in (folder / "notebook_templates" / "Loom").iterdir()}
    assert "latency_study" not in templates
    assert templates <= set(report_notebooks())


def test_what_was_written_before_is_replaced(tmp_path: Path) -> None:
    folder = prepare_jupyter(tmp_path / "jupyter")
    (folder / "notebook_templates" / "Loom" / "old.ipynb").write_text("{}")
    prepare_jupyter(tmp_path / "jupyter")
    assert not (folder / "notebook_templates" / "Loom" / "old.ipynb").exists()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LoomError, match=r"launcher of JupyterLab could not be set up.*--home"):
        prepare_jupyter(tmp_path / "file" / "jupyter")


@pytest.mark.parametrize("panel", ["build", "test", "operate", "evaluate", "memory", "tools"])
def test_a_panels_notebook_is_three_or_four_cells_that_open_it_by_name(panel: str) -> None:
    cells = json.loads((NOTEBOOKS / "panels" / f"{panel}.ipynb").read_text())["cells"]
    assert len(cells) <= 4
    assert f'bench.panel("{panel}")' in "".join(cells[2]["source"])


def test_without_jupyterlab_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    result = CliRunner().invoke(cli, ["lab"], env={"LOOM_HOME": str(tmp_path)})
    assert isinstance(result.exception, MissingExtraError)
    assert str(result.exception).startswith("JupyterLab is not installed")
    assert "make lab" in str(result.exception)
    assert not (tmp_path / "loom_lab").exists()


@pytest.mark.parametrize("arguments", [["--ip=0.0.0.0", "--notebook-dir=/srv"], ["--ip", "0.0.0.0"]])
def test_jupyterlabs_short_options_replace_looms_own(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, line: lines.append(line))
    result = CliRunner().invoke(
        cli, ["lab", *arguments], env={"LOOM_HOME": str(tmp_path), "JUPYTER_PATH": "", "JUPYTER_CONFIG_PATH": ""}
    )
    assert result.exit_code == 0, result.output
    (line,) = lines
    assert line[-len(arguments) :] == arguments
    names = [argument.partition("=")[0] for argument in line]
    assert "--ServerApp.ip" not in names
    assert ("--ServerApp.root_dir" in names) == ("--notebook-dir=/srv" not in arguments)
    assert "--LabApp.default_url" in names
