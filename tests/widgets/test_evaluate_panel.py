"""The Evaluate panel against a local AgentCore: run, stop, go on, look, compare, capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x07'\"</script>"


def case(id: str, prompt: str, expected: str | None, *tags: str) -> EvalCase:
    tools = None if expected is None else (ExpectedTool(name="calculator", arguments=None),)
    return EvalCase(id=id, turns=(Turn(prompt=prompt, expected_answer=expected, expected_tools=tools),), tags=tags)


CASES = (
    case("product", "What is 6 * 7?", "42", "sums"),
    case("wrong", "What is 2 + 2?", "5", "sums", HOSTILE),
    case(HOSTILE, f"What is 3 * 3? {HOSTILE}", "9"),
)


@pytest.fixture(scope="module")
def agents(bench: loom.Workbench) -> tuple[loom.Agent, loom.Agent]:
    return bench.deploy("calculator"), bench.deploy("calculator_guessing")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sets") / "sums.json"
    EvalSet(name="sums", cases=CASES).write(path)
    return path


@pytest.fixture
def watched(bench: loom.Workbench, agents: object) -> Iterator[Watched]:
    panel = loom_widgets.evaluate(bench)
    yield Watched(panel)
    panel.close()


def form(file: Path, *agents: str, **more: object) -> dict[str, object]:
    return {"set": "file:", "path": str(file), "agents": list(agents), "reuse": True, **more}


def test_a_set_is_asked_with_progress_and_its_cases_are_looked_into(watched: Watched, file: Path) -> None:
    told = watched.ask("look_set", **form(file))
    assert "3 cases" in told["sentence"]
    assert "contains" in told["sentence"]
    done = watched.ask("run", **form(file, "calculator", gate="contains>=10%", repeats="1", money="1"))
    head = watched.of("results")[-1]
    assert head["run"] == done["runs"][0] == watched.panel.state["run"]
    assert head["answered"] == 3
    assert head["gates"][0]["outcome"] in ("passed", "unclear")
    assert any(each.get("owed") == 3 for each in watched.of("progress"))
    rows = watched.ask("page", table="cases")["rows"]
    by_id = {row["case"]: row for row in rows}
    assert by_id["product"]["state"] == "passed"
    assert by_id["wrong"]["state"] == "low score"
    assert by_id["product"]["duration_ms"] > 0
    assert by_id["product"]["tokens"] > 0
    found = watched.ask("case", run=head["run"], place=1, repeat=0)
    assert found["turns"][0]["expected"] == "5"
    assert {row["evaluator"] for row in found["verdicts"]} >= {"contains", "trajectory"}
    trace = watched.ask("trace", run=head["run"], invocation=found["invocation"])
    assert trace["count"] > 0
    assert watched.ask("page", table=trace["table"])["total"] == trace["count"]
    assert watched.ask("filter", state="low score")["shown"] == 1
    assert watched.ask("filter", tag="sums") == {"shown": 2, "of": 3}
    assert "<img" not in watched.panel._repr_html_()
    compile(watched.panel.code, "copied", "exec")
