"""The report of a watch: an empty store, and nights with a regression of a pass rate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings
from loomlib.statistics import Estimate
from loomlib.store import EvalRunRow, Store, StoredAnswer, StoredResult, StoredSet


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("watch") / ".loom"
    yield folder
    local.stop(folder)


def report(home: Path, out: Path) -> ReportOutcome:
    return run_report(
        "watch",
        {},
        str(out),
        settings=Settings(home=home),
        environment=kernel_environment(),
        say=lambda _line: None,
    )


def store_evaluations(home: Path) -> None:
    """Store an evaluation on each of the last 24 days, of which the last 8 are of a version that passes less often."""
    with Store.open(f"sqlite:///{home}/loom.db") as store:
        (agent,) = store.agents.list("local")
        for night in range(24):
            version, share = ("2", 0.6 + 0.01 * (night % 3)) if night >= 16 else ("1", 0.9 + 0.01 * (night % 5))
            key = f"eval-{night}"
            store.eval_runs.create(
                EvalRunRow(
                    id=key,
                    set_digest="s1",
                    target_name="calculator",
                    target_key=f"{agent.arn} version {version} DEFAULT",
                    scope="local",
                    agent_arn=agent.arn,
                    repeats=1,
                    created_at=datetime.now(UTC) - timedelta(days=24 - night),
                    design={"set_name": "sums", "evaluators": [["exact", "answer", "e1"]]},
                    labels=("simulated",),
                ),
                StoredSet(digest="s1", name="sums", version="1", case_count=1, cases=()),
            )
            answer = StoredAnswer(0, None, False, 300.0, 100.0, None, None, None, 0.002, None, '{"turns": []}')
            store.eval_answers.put([answer], [StoredResult(key, 0, 0, 0, False)])
            rate = Estimate(value=share, low=share, high=share, n=100, confidence=0.95, method="counted").summary()
            judged = {"evaluator": "exact", "pass_rate": rate, "mean": rate, "scored": 100}
            store.eval_runs.save(key, state="complete", summary={"evaluators": [judged]})


def test_the_page_is_empty_first_and_then_draws_the_change_with_its_day_and_version(home: Path, tmp_path: Path) -> None:
    empty = report(home, tmp_path / "empty")
    assert empty.exit_code == 0, empty.message
    assert empty.summary["sentences"][0].startswith("Nothing to compare: no complete latency study or evaluation")
    assert "No night is stored, so there is nothing to draw." in Path(empty.html).read_text("utf-8")
    store_evaluations(home)
    outcome = report(home, tmp_path / "found")
    assert outcome.exit_code == 2, outcome.message
    assert outcome.summary["format"] == "loom.watch/1"
    assert outcome.summary["histories"][0]["versions"][-1] == "2"
    first = outcome.summary["sentences"][0]
    assert re.match(
        r"Regression since \d+ \w+ 20\d\d: the change came .*, with version 2 \(before: 1\)\. Pass rate", first
    )
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert "version 2</text>" in page
    assert page.index("Regression since") < page.index("Every figure, night by night")
    assert "<script src=" not in page
    assert not re.search(r"(?:src|href)=\"https?://", page)
