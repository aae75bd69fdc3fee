"""pytest as a way to run an eval set, in a real pytest of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn

pytest_plugins = "pytester"
ROOT = Path(__file__).resolve().parents[2]
AGENT = """
def answer(prompt):
    if prompt == "3+3":
        raise RuntimeError("boom \\x1b[31m <script>")
    a, b = map(int, prompt.split("+"))
    tools = [] if prompt == "1+1" else [{"name": "add", "arguments": {"a": a, "b": b}}]
    return {"text": "five" if prompt == "2+2" else str(a + b), "tools": tools}
"""


@pytest.fixture
def place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("LOOM_HOME", str(pytester.path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the other plugins take four fifths of pytest's start
    pytester.makepyfile(agents=AGENT, test_own="def test_mine(): assert True")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    cases = [
        EvalCase(
            id=f"sum of {n}",
            tags=("odd",) if n % 2 else (),
            turns=(
                Turn(
                    prompt=f"{n}+{n}",
                    expected_answer=str(2 * n),
                    expected_tools=(ExpectedTool(name="add", arguments={"a": n, "b": n}),),
                ),
            ),
        )
        for n in range(5)
    ]
    cases.append(EvalCase(id="small talk", turns=(Turn(prompt="9+9"),)))
    EvalSet(name="sums", cases=tuple(cases)).write(pytester.path / "sums.json")
    return pytester


def run(place: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    options = ("--loom-evalset", "sums.json", "--loom-agent", "agents:answer")
    return place.runpytest_subprocess("-p", "loomlib.pytest_plugin", *options, *arguments, timeout=300)


def test_each_case_is_a_test_and_its_failure_shows_rationale_and_path(
    place: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # once among all other plugins
    result = run(place)
    result.assert_outcomes(passed=2, failed=2, errors=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "collected 6 items",
            "*ERROR at setup of sums::sum of 3*",
            "not answered: exception: RuntimeError: boom *",
            "*trajectory: The paths differ from step 1: expected add(a=1, b=1)*",
            "*- missing   1      add(a=1, b=1)*",
        ]
    )
    text = result.stdout.str()
    assert "\x1b[31m <script>" not in text
    assert "pytest_cases.py" not in text, "no line of the plugin's own code"
    assert "test_mine" not in text, "without a path only the cases run"


def test_cases_are_chosen_by_name_and_tag_and_run_beside_tests_of_a_given_path(place: pytest.Pytester) -> None:
    run(place, "-k", "odd and not 3").assert_outcomes(failed=1, deselected=5)
    run(place, "test_own.py", "-k", "mine or 0").assert_outcomes(passed=2, deselected=5)


def test_workers_share_the_cases(place: pytest.Pytester) -> None:
    run(place, "-p", "xdist", "-n", "2").assert_outcomes(passed=2, failed=2, errors=1, skipped=1)


def test_a_wrong_set_or_evaluator_is_an_error_in_words(place: pytest.Pytester) -> None:
    result = run(place, "--loom-evalset", "no-such-set.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *no-such-set.json*"])
    result = run(place, "--loom-evaluator", "trajectry", "-k", "0")
    result.assert_outcomes(errors=1, deselected=5)
    result.stdout.fnmatch_lines(["*cannot start the evaluation: *trajectry*"])
    alone = place.runpytest_subprocess("-p", "loomlib.pytest_plugin", "--loom-evalset", "sums.json")
    alone.stderr.fnmatch_lines(["ERROR: --loom-evalset needs --loom-agent*"])


def test_without_its_options_the_plugin_loads_nothing_and_changes_nothing(place: pytest.Pytester) -> None:
    place.runpytest_subprocess("-p", "loomlib.pytest_plugin").assert_outcomes(passed=1)
    code = (
        "import sys, loomlib.pytest_plugin as p; "
        "print([n for n in sys.modules if n.startswith('loomlib.') and n != p.__name__], 'pandas' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert child.stdout.strip() == "['loomlib.dispatch'] False", "the module by which loomlib imports names on use"


def test_the_plugin_is_announced_under_its_modules_own_name() -> None:
    announced = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert announced == {"loomlib.pytest_plugin": "loomlib.pytest_plugin"}
