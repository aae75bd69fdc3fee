"""One distribution with every hook, from outside: each thing of it works as Loom's own do."""

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
from loomlib.plugins import HOOKS, find_plugins
from loomlib.workbench import find_or_deploy

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module", autouse=True)
def plugged(sites: dict[str, Path]) -> Iterator[None]:
    yield from plugged_in(sites["loom-example"])


@pytest.fixture(scope="module")
def bench(plugged: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    """A local AgentCore whose model is the plugin's."""
    yield from open_bench(tmp_path_factory.mktemp("example") / "home", model="example_parrot")


@pytest.fixture(scope="module")
def greeter(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("example_greeter", platform_version="V1")


@pytest.fixture
def command(bench: loom.Workbench, loom_command: LoomCommand) -> Command:
    def call(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        process = loom_command.run(
            *arguments, environment={**os.environ, "LOOM_HOME": str(bench.context.settings.home)}
        )
        assert process.returncode == code, process.stdout + process.stderr
        assert "Traceback" not in process.stderr
        return process

    return call


def test_it_is_listed_with_one_thing_of_every_kind() -> None:
    (line,) = [line for line in find_plugins().check().lines() if line.distribution == "loom-example"]
    assert (line.version, line.target, line.status) == ("1.2", "loom_example.plugin", "ok")
    assert tuple(line.offers) == tuple(HOOKS)


def test_its_blueprint_is_deployed_by_name_and_its_model_answers(greeter: loom.Agent, bench: loom.Workbench) -> None:
    assert greeter.name == "example_greeter"
    assert find_or_deploy(bench, "example_greeter")[1] is False
    inv = greeter.invoke("Good morning").raise_for_status()
    assert inv.text == "Polly says: Good morning, thank you"
    assert "model: example parrot (simulated)" in inv.record.labels
    blueprints = bench.blueprints().set_index("name")
    assert blueprints.loc["example_greeter", "title"] == "Greeter"
    assert next(iter(blueprints.index)) != "example_greeter", "Loom's own come first"


def test_its_evaluators_judge_a_run(greeter: loom.Agent) -> None:
    evalset = loom.EvalSet.from_rows([{"id": "morning", "prompt": "Good morning"}])
    run = loom.evaluate(greeter, evalset, evaluators=["example_polite", "example_wordy(least=99)"])
    passed = run.scores().set_index("evaluator")["passed"].to_dict()
    assert list(passed.values()) == [True, False], passed


def test_its_spans_are_a_trace(greeter: loom.Agent) -> None:
    inv = greeter.invoke("Good evening").raise_for_status()
    assert [span.name for span in inv.trace(source="example_spans").trace.spans] == ["invoke_agent example"]
    assert inv.trace(source="cloudwatch").trace.spans == inv.trace().trace.spans


def test_its_rule_is_asked_in_a_diagnosis(greeter: loom.Agent, bench: loom.Workbench) -> None:
    assert bench.telemetry.rules().set_index("rule").loc["example_rule", "asks"] == "does it?"
    diagnosis = greeter.invoke("Good night").raise_for_status().trace(source="example_spans").findings()
    assert "example_rule" in [finding.rule for finding in diagnosis.findings]


def test_its_panel_opens_by_name(bench: loom.Workbench) -> None:
    assert repr(bench.panel("example_clock", zone="CET")).startswith("<Clock in CET")


def test_its_command_is_one_of_loom(greeter: loom.Agent, command: Command) -> None:
    assert "example-hello" in command("--help").stdout
    assert command("example-hello").stdout == "Hello, 1 agents\n"
    assert json.loads(command("--json", "example-hello").stdout) == {"agents": 1}
    failed = command("example-hello", "--fail", code=1)
    assert "The command 'example-hello' failed: RuntimeError: on purpose" in failed.stderr
    assert "loom-example 1.2" in failed.stderr


def test_its_report_runs_by_name(bench: loom.Workbench, tmp_path: Path) -> None:
    outcome = loom.run_report("example_report", {"name": "Grace"}, str(tmp_path), settings=bench.context.settings)
    assert outcome.exit_code == 0
    assert "Grace has 5 letters" in Path(outcome.html or "").read_text()


def test_the_list_of_plugins_has_three_representations(bench: loom.Workbench) -> None:
    view = bench.plugins()
    frame = view.to_frame().set_index("target")
    assert frame.loc["loom_example.plugin", "offers"]["panels"] == ["example_clock"]
    assert frame.loc["loom_example.plugin", "status"] == "ok"
    assert "loom-example 1.2 · ok · evaluators: example_polite, example_wordy; models: example_parrot" in repr(view)
    page = view._repr_html_()
    assert ">loom_example.plugin<" in page
    assert "<script" not in page
