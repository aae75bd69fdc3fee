"""The report on the economics of starts: measured on the local service, then again from the stored study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

PREPARED = {"agent": "echo", "sessions": "6", "later_calls": "2"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("economics") / ".loom"
    yield folder
    local.stop(folder)


def report(home: Path, out: Path, **parameters: str) -> ReportOutcome:
    return run_report(
        "start_economics",
        parameters,
        str(out),
        settings=Settings(home=home),
        environment=kernel_environment(),
        say=lambda _line: None,
    )


@pytest.fixture(scope="module")
def measured(home: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportOutcome:
    return report(home, tmp_path_factory.mktemp("out"), max_p90_ms="60000", **PREPARED)


def test_the_page_says_first_which_policy_is_the_cheapest_and_needs_no_network(measured: ReportOutcome) -> None:
    assert measured.exit_code == 0, measured.message
    summary = measured.summary
    assert summary["format"] == "loom.start-economics/1"
    assert summary["is_simulated"]
    assert [(one["platform"], one["cold"], one["warm"]) for one in summary["measured"]] == [
        ("V1", 6, 12),
        ("V2", 6, 12),
    ]
    assert all("local AgentCore" in one["use"] for one in summary["measured"])
    page = Path(measured.html).read_text("utf-8").replace("&nbsp;", " ").replace("\u00a0", " ")
    first = summary["sentences"][0]
    assert "cheapest" in first
    assert re.search(r"\$\d", first)
    assert "simulated times" in first
    assert page.index(first.partition("“")[0]) < page.index("The policies")
    for heading in ("Latency against cost", "other services", "What would change the answer", "Prices"):
        assert heading in page
    assert "<script src=" not in page
    assert not re.search(r"(?:src|href)=\"https?://", page)


def test_a_stored_study_is_priced_again_without_a_call_and_with_own_prices(
    measured: ReportOutcome, home: Path, tmp_path: Path
) -> None:
    own = tmp_path / "prices.toml"
    own.write_text("[runtime]\ncpu_per_vcpu_hour = 89.5\n")
    study_id = measured.summary["measured"][0]["source"].removeprefix("study ")
    gate = {"max_p90_ms": "0", "max_usd_per_month": "0.01", "allow_overload": "true"}
    outcome = report(home, tmp_path / "out", study_id=study_id, prices=str(own), **gate)
    assert outcome.exit_code == 2, outcome.message
    assert outcome.summary["measured"] == measured.summary["measured"]
    before, after = (
        {(one["platform"], one["policy"]): one["active_usd"] for one in summary["policies"]}
        for summary in (measured.summary, outcome.summary)
    )
    assert all(after[name] > 10 * usd for name, usd in before.items())
    assert [gate["outcome"] for gate in outcome.summary["gates"]] == ["missed"]


def test_durations_from_elsewhere_need_no_study(measured: ReportOutcome, home: Path, tmp_path: Path) -> None:
    outcome = report(
        home,
        tmp_path / "out",
        cold_ms=", ".join(str(4000 + 20 * number) for number in range(40)),
        warm_ms=", ".join(str(2000 + 10 * number) for number in range(80)),
        vcpu_s="0.5",
        memory_gb="0.6",
        idle_memory_gb="0.2",
        think_times_s="5, 20, 400, 60, 90, 33",
        max_p90_ms="3500",
    )
    assert outcome.exit_code == 0, outcome.message
    assert not outcome.summary["is_simulated"]
    assert outcome.summary["cheapest"]["settings"]["pool"] > 0
    assert outcome.summary["traffic"]["think_n"] == 6
