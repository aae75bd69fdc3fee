"""A distribution that does everything wrong stops nothing, is listed with its fix, and repeats its error by name."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loom_command import LoomCommand
from plugged_sites import open_bench, plugged_in

import loomlib as loom
from loomlib.errors import PluginError
from loomlib.evals.registry import make_evaluator
from loomlib.plugins import find_plugins
from loomlib.reports import find_report, report_notebooks
from loomlib.workbench import list_blueprints

Command = Callable[..., subprocess.CompletedProcess[str]]
MISSING = "pip install a_module_that_nobody_has"


@pytest.fixture(scope="module", autouse=True)
def plugged(sites: dict[str, Path]) -> Iterator[None]:
    yield from plugged_in(sites["loom-broken"], sites["loom-example"])


@pytest.fixture(scope="module")
def bench(plugged: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    yield from open_bench(tmp_path_factory.mktemp("broken") / "home")


@pytest.fixture
def command(loom_command: LoomCommand) -> Command:
    def call(home: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        process = loom_command.run(*arguments, environment={**os.environ, "LOOM_HOME": str(home)})
        assert process.returncode == code, process.stdout + process.stderr
        assert "Traceback" not in process.stderr
        assert "\x1b" not in process.stdout + process.stderr
        return process

    return call


def test_all_of_its_faults_are_listed_with_a_fix(command: Command, tmp_path: Path) -> None:
    listed = json.loads(command(tmp_path, "--json", "plugins", code=1).stdout)["plugins"]
    broken = {plugin["target"]: plugin for plugin in listed if plugin["distribution"] == "loom-broken"}
    assert broken["loom_broken.missing"]["status"] == "broken"
    assert broken["loom_broken.missing"]["fix"] == MISSING
    hooks_error = broken["loom_broken.hooks"]["error"]
    for message in (
        "loom_evaluators: Unprintable",
        "loom_models: SystemExit: 3",
        "loom_panels: TypeError: expected a dict of name → factory, not list",
        "Loom has no hook loom_gadgets",
    ):
        assert message in hooks_error
    things_error = broken["loom_broken.things"]["error"]
    for message in (
        "loomlib provides 'exact' already",
        "loomlib provides 'calculator' already",
        "loomlib provides 'up' already",
        "7: <function fails",
        "expected a folder with an agent.py at /nowhere/at/all",
        "expected an .ipynb file at /nowhere/report.ipynb",
        "expected a click command, not str",
    ):
        assert message in things_error
    assert {plugin["status"] for plugin in listed if plugin["distribution"] != "loom-broken"} == {"ok"}


def test_every_command_still_works(command: Command, tmp_path: Path) -> None:
    assert "I AM ON STANDARD OUTPUT" not in command(tmp_path, "--help").stdout
    assert json.loads(command(tmp_path, "--json", "agents").stdout) == []
    assert "loom-broken" in command(tmp_path, "plugins", code=1).stdout
    assert f"fix: {MISSING}" in command(tmp_path, "plugins", code=1).stderr
    assert "FAILED  plugins: loom-broken" in command(tmp_path, "doctor", code=1).stdout
    command(tmp_path, "down")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken-command", "expected a click command, not str"),
        ("broken-made-command", "ValueError"),
        ("broken-import", "The plugin 'broken-import' is broken: ModuleNotFoundError"),
        ("nobody", "a broken plugin may provide it"),
    ],
)
def test_a_command_of_a_broken_plugin_repeats_its_error(command: Command, tmp_path: Path, name: str, said: str) -> None:
    process = command(tmp_path, name, code=1)
    assert said in process.stderr
    assert "Try: " in process.stderr


def test_lab_work_still_works(bench: loom.Workbench) -> None:
    agent = bench.deploy("echo", platform_version="V1")  # its start takes the 100 ms from which findings are reported
    inv = agent.invoke("hello").raise_for_status()
    diagnosis = inv.trace(source="example_spans").findings()
    assert "example_rule" in [finding.rule for finding in diagnosis.findings]
    assert [problem.rule for problem in diagnosis.problems] == ["broken_rule"]
    assert "ValueError" in diagnosis.problems[0].error
    assert make_evaluator("exact").name == "exact"
    assert "example_polite" in find_plugins("evaluators").names("evaluators")
    assert {"latency_study", "example_report"} <= set(report_notebooks())
    assert {"calculator", "example_greeter"} <= {blueprint.name for blueprint in list_blueprints()}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda bench: make_evaluator("broken_evaluator"), "ValueError"),
        (lambda bench: make_evaluator("nobodys"), "a broken plugin may provide it.*Unprintable"),
        (lambda bench: bench.deploy("broken_blueprint"), "expected a folder with an agent.py"),
        (lambda bench: bench.deploy("nobodys"), f"may provide it.*{MISSING}"),
        (lambda bench: find_report("broken_report"), "expected an .ipynb file"),
        (lambda bench: find_report("nobodys"), f"may provide it.*{MISSING}"),
        (lambda bench: bench.panel("broken_panel"), "ValueError"),
        (lambda bench: bench.panel("broken-import"), f"is broken: ModuleNotFoundError.*{MISSING}"),
        (
            lambda bench: bench.agent("echo").telemetry.traces(last=1, source="broken_spans"),
            "expected a function of an invocation",
        ),
    ],
)
def test_asking_by_name_repeats_the_error_with_the_fix(
    bench: loom.Workbench, ask: Callable[[loom.Workbench], object], said: str
) -> None:
    bench.agent("echo", deploy=True)
    with pytest.raises(PluginError, match=rf"{said}.*") as caught:
        ask(bench)
    assert caught.value.try_


def test_a_service_with_a_broken_model_states_whose_it_is(command: Command, tmp_path: Path) -> None:
    process = command(tmp_path / "home", "up", "--model", "broken_model", code=1)
    assert "expected a model with converse and converse_stream, not str" in process.stderr
    assert "loom-broken" in process.stderr


def test_the_notebooks_list_shows_what_failed_since_and_runs_nothing_of_it(bench: loom.Workbench) -> None:
    with pytest.raises(PluginError):
        bench.panel("broken_panel")
    view = bench.plugins()
    assert {line.target for line in view.broken} == {
        f"loom_broken.{module}" for module in ("missing", "hooks", "things")
    }
    assert "panel 'broken_panel': ValueError" in repr(view)
    assert "\x1b" not in repr(view)
    page = view._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert list(view.to_frame().columns) == ["distribution", "version", "target", "status", "offers", "error", "fix"]
