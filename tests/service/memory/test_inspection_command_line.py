"""`loom memory …` as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from inspected import new_memory, say, write
from loom_command import LoomCommand

from loomlib import local

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(prompt_service: local.ServiceState, loom_command: LoomCommand) -> Run:
    def loom(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LOOM_HOME": str(prompt_service.home)}
        ran = loom_command.run(*arguments, environment=environment)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    return loom


@pytest.fixture(scope="module")
def memory(memory_bench):
    memory = new_memory(memory_bench, "semantic")
    say(memory, "hello \x1b[31mthere", "Good day.")
    write(memory, "/facts/anna/", "The user likes tea.", "The user plays chess.")
    return memory


def test_memories_are_listed_and_shown(run: Run, memory):
    assert memory.name in run("memory", "list").stdout
    result = run("memory", "show", memory.name)
    assert "/facts/{actorId}/" in result.stdout
    assert "anna" in result.stdout
    description = json.loads(run("--json", "memory", "show", memory.id, "--actor", "anna").stdout)
    assert description["strategies"][0]["type"] == "SEMANTIC"
    assert description["rows"][0]["memory_session_id"] == "s1"


def test_events_and_the_timeline_do_not_drive_the_terminal(run: Run, memory):
    for command in ("events", "timeline"):
        output = run("memory", command, memory.name, "anna", "--since", "1h").stdout
        assert "hello" in output
        assert "\x1b" not in output


def test_what_an_agent_stored_for_itself_is_in_json_only(run: Run, memory) -> None:
    state = json.dumps({"agent_id": "assistant", "state": {}, "conversation_manager_state": {}})
    memory.reader.clients.data().create_event(
        memoryId=memory.id,
        actorId="eve",
        sessionId="s2",
        eventTimestamp=datetime.now(UTC),
        payload=[{"blob": state}],
    )
    ran = run("memory", "timeline", memory.name, "eve")
    assert "conversation_manager_state" not in ran.stdout
    assert "1 stored state of the agent in --json only" in ran.stderr
    (row,) = json.loads(run("--json", "memory", "timeline", memory.name, "eve").stdout)
    assert row["what"] == "stored state"


def test_records_search_and_provenance_answer_in_json(run: Run, memory):
    rows = json.loads(run("--json", "memory", "records", memory.name, "--actor", "anna").stdout)
    assert {row["text"] for row in rows} >= {"The user likes tea.", "The user plays chess."}
    best = json.loads(run("--json", "memory", "search", memory.name, "a hot drink: tea", "--top-k", "1").stdout)
    assert [row["text"] for row in best] == ["The user likes tea."]
    assert json.loads(run("--json", "memory", "provenance", memory.name, best[0]["record_id"]).stdout) == []


def test_an_empty_memory_is_reported_and_an_unknown_one_fails(run: Run, memory):
    assert "No records here" in run("memory", "records", memory.name, "/nowhere/").stdout
    assert "There is no memory" in run("memory", "events", "nobody_knows", code=1).stderr
    run("memory", "events", memory.name, "--since", "yesterday", code=2)
