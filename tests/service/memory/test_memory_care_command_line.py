"""`loom memory health|snapshot|diff|export|import|forget|isolation` as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from inspected import new_memory, say, write
from loom_command import LoomCommand

from loomlib import local

Run = Callable[..., subprocess.CompletedProcess[str]]
KEY = "AKIA" + "QQQQWWWWEEEERRRR"


@pytest.fixture(scope="module")
def run(prompt_service: local.ServiceState, loom_command: LoomCommand) -> Run:
    def loom(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LOOM_HOME": str(prompt_service.home)}
        ran = loom_command.run(*arguments, environment=environment)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    return loom


def test_a_memory_is_maintained_from_the_command_line(run: Run, memory_bench, tmp_path: Path):
    memory, other = new_memory(memory_bench, "semantic"), new_memory(memory_bench, "semantic")
    run("memory", "snapshot", memory.name, str(tmp_path / "before.json"))
    say(memory, f"my key is {KEY} \x1b[31m", extractionMode="SKIP")
    write(memory, "/facts/anna/", "The user plays chess.", "The user plays chess!")

    sick = run("memory", "health", memory.name, "--fail-on", "problem", code=2)
    assert "duplicate" in sick.stdout
    assert KEY not in sick.stdout + sick.stderr
    assert "\x1b" not in sick.stdout
    assert json.loads(run("--json", "memory", "health", other.name, "--fail-on", "warning").stdout)["healthy"] is True

    changed = json.loads(run("--json", "memory", "diff", memory.name, str(tmp_path / "before.json")).stdout)
    assert {row["change"] for row in changed["rows"]} == {"created"}

    path = tmp_path / "export.jsonl"
    run("memory", "export", memory.name, str(path))
    assert KEY not in path.read_text()
    assert "--yes" in run("memory", "import", other.name, str(path)).stderr
    assert len(other.events()) == 0
    run("memory", "import", other.name, str(path), "--yes")
    assert len(other.events()) == 1

    assert "--yes" in run("memory", "forget", memory.name, "anna").stderr
    assert len(memory.events()) == 1
    assert "verified" in run("memory", "forget", memory.name, "anna", "--yes").stderr
    assert len(memory.events()) == 0
    assert len(memory.records()) == 0
    assert "Nothing to delete" in run("memory", "forget", memory.name, "anna", "--yes").stdout


def test_isolation_is_a_gate(run: Run, memory_bench):
    memory = new_memory(memory_bench, "semantic")
    assert "none returned another actor's data" in run("memory", "isolation", memory.name, "--actors", "6").stderr
    crossed = run("memory", "isolation", memory.name, "--actors", "6", "--pattern", "/facts/", code=2)
    assert "tenant" in crossed.stdout
