"""`loom plugins new`: what it makes installs, is found and passes its own tests; what it may not make it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loomlib.errors import PluginError
from loomlib.plugins import make_plugin

LOOM = Path(sys.executable).with_name("loom")


def run(*command: object, cwd: Path, site: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LOOM_HOME": str(cwd / "home"), **({} if site is None else {"PYTHONPATH": str(site)})}
    process = subprocess.run(
        [str(argument) for argument in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == code, process.stdout + process.stderr
    return process


def test_a_new_plugin_installs_is_listed_and_passes_its_tests(tmp_path: Path) -> None:
    output = run(LOOM, "plugins", "new", "loom-Brevity.check", "--to", "made", cwd=tmp_path).stderr
    assert "pip install -e made/loom-brevity-check && pytest made/loom-brevity-check" in output
    folder, site = tmp_path / "made" / "loom-brevity-check", tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    run(*pip, "--disable-pip-version-check", "--root-user-action", "ignore", "--target", site, folder, cwd=tmp_path)
    tests = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder, cwd=folder, site=site)
    assert "4 passed" in tests.stdout
    listed = run(LOOM, "plugins", cwd=tmp_path, site=site).stdout
    assert "loom-brevity-check" in listed
    assert "evaluators: brevity_check; commands: brevity_check" in listed
    assert run(LOOM, "brevity_check", "short and good", cwd=tmp_path, site=site).stdout == "short\n"


def test_what_is_made_is_clean_code(tmp_path: Path) -> None:
    folder = make_plugin("loom-tidy", tmp_path).folder
    run(sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E4,E7,E9,F,I,UP,B", folder, cwd=tmp_path)
    run(sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=120", "--check", folder, cwd=tmp_path)


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    plugin = make_plugin("loom-twice", tmp_path)
    (plugin.folder / "mine.txt").write_text("keep")
    with pytest.raises(PluginError, match=r"The folder exists.*loom-twice.*--to"):
        make_plugin("Loom_Twice", tmp_path)
    assert (plugin.folder / "mine.txt").read_text() == "keep"
    (tmp_path / "loom-link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PluginError, match="The folder exists"):
        make_plugin("loom-link", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loom-link", "loom-twice"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-",
        "../up",
        "/root",
        "a/b",
        "a b",
        "1st",
        "loom-",
        "-loom",
        "a--b",
        "ümlaut",
        "a\nb",
        "$(x)",
        "{}",
        "x" * 61,
    ],
)
def test_a_name_that_no_distribution_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PluginError, match=r"(Not a valid|too long).*Try: letters"):
        make_plugin(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "instead"),
    [("json", "loom-my-json"), ("loomlib", "loom-my-loomlib"), ("class", "loom-class"), ("loom-widgets", "loom-my")],
)
def test_a_module_that_is_taken_or_a_word_of_python_is_refused(tmp_path: Path, name: str, instead: str) -> None:
    with pytest.raises(PluginError, match=instead):
        make_plugin(name, tmp_path)


def test_names_that_loom_gives_itself_are_not_given_again(tmp_path: Path) -> None:
    plugin = make_plugin("loom-report", tmp_path)
    assert '"loom_report": make_command' in (plugin.folder / "loom_report" / "plugin.py").read_text()


def test_a_folder_that_cannot_be_written_is_an_error_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PluginError, match=r"Cannot write the plugin.*--to"):
        make_plugin("loom-nowhere", tmp_path / "file")
