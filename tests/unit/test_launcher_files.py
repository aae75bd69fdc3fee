"""What `loom lab` writes for JupyterLab's launcher and for New from template."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loomlib.cli.launcher import prepare_jupyter
from loomlib.errors import LoomError
from loomlib.reports import report_notebooks

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def plug_in(folder: Path, panels: str) -> None:
    (folder / "loom_more.py").write_text(
        "from loomlib.plugins import hookimpl\n\n@hookimpl\ndef loom_panels():\n    return " + panels
    )
    info = folder / "loom_more-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loom-more\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[loom.plugins]\nmore = loom_more\n")


def test_each_panel_has_a_card_that_opens_its_notebook(tmp_path: Path) -> None:
    folder = prepare_jupyter(tmp_path / "jupyter", NOTEBOOKS)
    cards = json.loads((folder / "jupyter_app_launcher" / "jp_app_launcher_loom.yaml").read_text())
    shipped = cards[:5]
    assert [card["title"] for card in shipped] == ["Build", "Test", "Operate", "Evaluate", "Memory"]
    for card in shipped:
        assert card["catalog"] == "Loom"
        assert card["description"]
        (opened,) = card["source"]
        assert (NOTEBOOKS.parent / opened["args"]["path"]).is_file()
        assert Path(card["icon"]).read_text().startswith("<svg")


def test_a_plugins_panel_has_a_card_too_and_its_name_makes_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(tmp_path, "{'mood': print, '../../evil': print, 'build': print}")
    monkeypatch.syspath_prepend(tmp_path)
    folder = prepare_jupyter(tmp_path / "jupyter", NOTEBOOKS)
    cards = json.loads((folder / "jupyter_app_launcher" / "jp_app_launcher_loom.yaml").read_text())
    assert [card["title"] for card in cards[5:]] == ["mood"]
    cells = json.loads(Path(cards[5]["source"]).read_text())["cells"]
    assert cells[-1]["source"] == "bench.panel('mood')"


def test_every_report_is_a_template_unless_it_is_installed_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "share" / "notebook_templates" / "Loom"
    installed.mkdir(parents=True)
    (installed / "latency_study.ipynb").write_text("{}")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    folder = prepare_jupyter(tmp_path / "jupyter", NOTEBOOKS)
    written = {path.stem for path in (folder / "notebook_templates" / "Loom").iterdir()}
    assert "latency_study" not in written
    assert written <= set(report_notebooks())


def test_what_was_written_before_is_replaced(tmp_path: Path) -> None:
    folder = prepare_jupyter(tmp_path / "jupyter", NOTEBOOKS)
    (folder / "notebook_templates" / "Loom" / "old.ipynb").write_text("{}")
    prepare_jupyter(tmp_path / "jupyter", NOTEBOOKS)
    assert not (folder / "notebook_templates" / "Loom" / "old.ipynb").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LoomError, match=r"launcher cannot be prepared.*--home"):
        prepare_jupyter(tmp_path / "file" / "jupyter", NOTEBOOKS)


@pytest.mark.parametrize("panel", ["build", "test", "operate", "evaluate", "memory"])
def test_a_panels_notebook_is_three_or_four_cells_that_open_it_by_name(panel: str) -> None:
    cells = json.loads((NOTEBOOKS / "panels" / f"{panel}.ipynb").read_text())["cells"]
    assert len(cells) <= 4
    assert f'bench.panel("{panel}")' in "".join(cells[2]["source"])
