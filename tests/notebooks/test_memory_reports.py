"""The two reports on memory against the local AgentCore, offline, with their defaults made smaller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kernel_template import kernel_environment

import loomlib as loom
from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

pytestmark = pytest.mark.slow
Report = Callable[..., ReportOutcome]
KEY = "AKIA" + "QYLPMN5HHZ7X2B3C"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("memory_reports") / "home"
    local.start(home, local.ServiceOptions(memory_delay_s=0.02), persistent=True)
    yield home
    local.stop(home)


@pytest.fixture(scope="module")
def report(home: Path) -> Report:
    def run(name: str, **parameters: str) -> ReportOutcome:
        return run_report(
            name, parameters, str(home.parent / "out"), settings=Settings(home=home),
            environment=kernel_environment(), say=lambda _line: None,
        )  # fmt: skip

    return run


def test_recall_is_judged_and_the_page_begins_with_the_answer(report: Report) -> None:
    outcome = report("recall_study", conversations="0", min_recall_percent="50", arms="none+window,reactive+window")
    assert outcome.exit_code == 0, outcome.message
    (gate,) = outcome.summary["gates"]
    assert gate["outcome"] in ("passed", "unclear")
    assert outcome.summary["format"] == "loom.recall-study/1"
    assert "Facts stated 9 sessions before" in " ".join(outcome.summary["sentences"])
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("what the model is given contains the fact") < page.index("The numbers")


def test_recall_that_is_too_low_misses_the_gate(report: Report) -> None:
    outcome = report("recall_study", conversations="2", arms="none+window", script="", min_recall_percent="99")
    assert outcome.exit_code == 2
    assert "Gate missed" in outcome.message


def test_a_sample_memory_is_in_order_and_nothing_crosses(report: Report) -> None:
    outcome = report("memory_inspection", try_isolation="true", sessions="2", since="7d")
    assert outcome.exit_code == 0, outcome.message
    assert [gate["outcome"] for gate in outcome.summary["gates"]] == ["passed"]
    assert outcome.summary["actors"] == 2
    assert outcome.summary["isolation"]["crossings"] == []
    json.dumps(outcome.summary)


def test_a_memory_whose_records_cross_misses_the_gate_and_shows_no_secret(report: Report, home: Path) -> None:
    shared = {"semanticMemoryStrategy": {"name": "shared", "namespaceTemplates": ["/facts/all/"]}}
    with loom.connect(home=home) as bench:
        memory = bench.memories.create("crossing", strategies=[shared])
        data = memory.reader.clients.data()
        for actor in ("anna", "ben"):
            text = f"My name is {actor.title()}. The key is {KEY}."
            message = {"conversational": {"role": "USER", "content": {"text": text}}}
            data.create_event(
                memoryId=memory.id, actorId=actor, sessionId="s", eventTimestamp=datetime.now(UTC), payload=[message]
            )
        record = {"requestIdentifier": "r", "namespaces": ["/facts/all/"], "timestamp": datetime.now(UTC)}
        record["content"] = {"text": f"The user's key is {KEY}."}
        data.batch_create_memory_records(memoryId=memory.id, records=[record])
    outcome = report("memory_inspection", memory="crossing")
    assert outcome.exit_code == 2
    assert "Gate missed" in outcome.message
    assert not outcome.summary["healthy"]
    assert {"leak", "secret"} <= set(outcome.summary["counts"])
    assert KEY not in json.dumps(outcome.summary)
