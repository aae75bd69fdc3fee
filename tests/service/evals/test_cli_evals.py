"""`loom evaluate`, `loom runs` and `loom compare` as a build calls them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from loom_command import LoomCommand

from loomlib import local
from loomlib.evals import EvalCase, EvalSet, Turn

COUNT = 6  # the fewest that are compared with another run
Loom = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def loom(tmp_path_factory: pytest.TempPathFactory, loom_command: LoomCommand) -> Iterator[Loom]:
    place = tmp_path_factory.mktemp("cli")
    cases = [
        EvalCase(id=f"echo {n}", turns=(Turn(prompt=f"word{n}", expected_answer=f"word{n}"),)) for n in range(COUNT)
    ]
    EvalSet(name="words", cases=tuple(cases)).write(place / "words.json")
    environment = {**os.environ, "LOOM_HOME": str(place / "home")}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return loom_command.run(*arguments, environment=environment, cwd=place)

    local.start(place / "home", persistent=True)
    yield call
    local.stop(place / "home")


def test_a_build_gets_words_files_and_an_exit_code(loom: Loom, tmp_path: Path) -> None:
    files = ("--junit", str(tmp_path / "out.xml"), "--json", str(tmp_path / "out.json"))
    result = loom("evaluate", "echo", "words.json", "--gate", "contains>=50%", *files)
    assert result.returncode == 0, result.stderr
    assert "contains: 100 %" in result.stdout
    assert "Gate passed: contains" in result.stderr
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == str(COUNT + 1)
    assert len(json.loads((tmp_path / "out.json").read_text())["cases"]) == COUNT

    missed = loom("--json", "evaluate", "echo", "words.json", "-e", "regex:nothing", "--gate", "regex>=50%")
    assert missed.returncode == 2
    summary = json.loads(missed.stdout)
    assert summary["exit_code"] == 2
    assert summary["gates"][0]["outcome"] == "missed"

    listed = json.loads(loom("--json", "runs").stdout)
    assert [row["set"] for row in listed] == ["words", "words"]
    first = listed[-1]["id"]
    again = loom("evaluate", "echo", "words.json", "--baseline", first)
    assert again.returncode == 0
    assert "No difference found" in again.stdout
    nothing = loom("compare", listed[0]["id"], first)
    assert nothing.returncode == 1, "no evaluator in common: that is not a pass"
    assert "No evaluator in common" in nothing.stderr


def test_what_cannot_be_done_is_an_error_in_words(loom: Loom) -> None:
    for arguments, words in (
        (("evaluate", "echo", "no-such-set"), "no-such-set"),
        (("evaluate", "echo", "words.json", "--gate", "high"), "write a gate as"),
        (("evaluate", "echo", "words.json", "-e", "exakt"), "exakt"),
        (("compare", "eval-1", "eval-2"), "No such evaluation run in the store (eval-1)"),
    ):
        failed = loom(*arguments)
        assert failed.returncode == 1
        assert words in failed.stderr
        assert "Traceback" not in failed.stderr
