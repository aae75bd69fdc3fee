"""Watching an agent: nights in a real database, the day and the version of a change, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from night_studies import AGENT_ARN, BEGAN, durations, store_night

from loomlib.cli.main import cli
from loomlib.errors import AgentNotFoundError, StudyError
from loomlib.latency import Scenario
from loomlib.latency.watch import Change, WatchResult, watch_agent
from loomlib.store import Store

OVERLOADED = {"machine": [{"duration_s": 60.0, "processors": 2, "samples": 600, "tasks": 20.0}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/loom.db") as opened:
        yield opened


def fill(store: Store, levels: Mapping[int, float], nights: int, **options: Any) -> None:
    """Store nights of 7 warm calls; `levels` has the level in ms from each night on."""
    level = 320.0
    for night in range(nights):
        level = levels.get(night, level)
        calls = durations(3, night, level_ms=level, count=7)
        store_night(store, night, {Scenario.WARM: calls}, **options)


def watch(store: Store, nights: int, **options: Any) -> WatchResult:
    """Watch on the morning after so many nights."""
    options = {"agent_arn": AGENT_ARN, "metrics": ["p50"]} | options
    return watch_agent(
        store, scope="aws", agent_name="calculator", now=BEGAN + timedelta(days=nights - 1, hours=5), **options
    )


def only(result: WatchResult) -> Change:
    (change,) = result.changes
    return change


def test_a_regression_names_the_day_the_version_and_the_ratio_with_its_interval(store: Store) -> None:
    for night in range(22):
        release = (
            {"version": "7", "environment": {"agent_code": "b0b"}}
            if night >= 16
            else {"environment": {"agent_code": "a0a"}}
        )
        level = 420.0 if night >= 16 else 320.0
        store_night(store, night, {Scenario.WARM: durations(3, night, level_ms=level, count=7)}, **release)  # type: ignore[arg-type]
    result = watch(store, 22)
    change = only(result)
    assert result.exit_code == 2
    assert result.regressions == (change,)
    assert change.since == BEGAN + timedelta(days=16)
    assert change.facts == {"version": ("6", "7"), "code": ("a0a", "b0b")}
    assert (change.effect.low or 0) > 1
    assert (change.effect.low or 0) <= 420 / 320 <= (change.effect.high or 0)
    (sentence,) = result.sentences()
    assert sentence.startswith(
        "Regression since 14 Oct 2026: the change came between 13 and 14 Oct 2026, with version 7 (before: 6); the "
        "code changed. p50 of warm calls rose from 3"
    )
    assert f"{change.effect_text()}." in sentence
    assert change.effect_text() == "1.27 times [1.13–1.43]"


def test_nights_without_a_change_are_no_regression(store: Store) -> None:
    fill(store, {}, 20)
    result = watch(store, 20)
    assert (result.exit_code, result.changes) == (0, ())
    assert result.sentences() == ["No regression in 20 nights from 28 Sep 2026 to 17 Oct 2026, in 1 figure."]


def test_an_improvement_is_reported_and_fails_nothing(store: Store) -> None:
    fill(store, {16: 220.0}, 24)
    result = watch(store, 24)
    assert (result.exit_code, only(result).state) == (0, "improvement")
    assert "Improvement since 14 Oct 2026" in str(result)
    assert "p50 of warm calls fell from" in str(result)
    assert "nothing that Loom records changed with it" in str(result)


def test_too_few_nights_are_said_and_end_with_another_code(store: Store) -> None:
    fill(store, {}, 5)
    result = watch(store, 5)
    assert result.exit_code == 1
    assert str(result) == (
        "Too few nights: 5 nights under the same conditions since 28 Sep 2026; a change can be found with 12 or more."
    )


@pytest.mark.parametrize(
    ("allowed", "state", "code"), [(0.05, "regression", 2), (0.3, "unclear", 0), (2.0, "within the limit", 0)]
)
def test_a_limit_is_compared_with_the_whole_interval(store: Store, allowed: float, state: str, code: int) -> None:
    fill(store, {16: 420.0}, 24)
    result = watch(store, 24, max_slower=allowed)
    assert (only(result).state, result.exit_code) == (state, code)


def test_a_regression_that_was_taken_back_fails_no_longer(store: Store) -> None:
    fill(store, {16: 480.0, 28: 320.0}, 42)
    result = watch(store, 42)
    assert [change.state for change in result.changes] == ["improvement", "undone"]
    assert result.exit_code == 0
    assert watch(store, 27).exit_code == 2


def test_a_change_is_accepted_as_the_new_level_by_a_later_beginning(store: Store) -> None:
    fill(store, {16: 480.0}, 34)
    assert watch(store, 34).exit_code == 2
    accepted = watch(store, 34, since=date(2026, 10, 14))
    assert (accepted.exit_code, accepted.nights) == (0, 18)


def test_a_change_that_was_found_long_ago_counts_as_the_level_of_today(store: Store) -> None:
    fill(store, {16: 480.0}, 34)
    result = watch(store, 34, days=10, since=BEGAN.date())
    assert (result.exit_code, result.changes, len(result.earlier)) == (0, (), 1)
    assert "1 older change of more than 10 days ago" in str(result)


def test_nights_with_another_number_of_calls_are_not_compared(store: Store) -> None:
    fill(store, {}, 4)
    for night in range(4, 9):
        store_night(store, night, {Scenario.WARM: durations(3, night, count=20)})
    result = watch(store, 9)
    assert result.nights == 5
    assert "4 nights with another number of calls are not compared (p50 of warm calls)." in str(result)


def test_calls_that_fail_more_often_are_a_regression_in_points(store: Store) -> None:
    for night in range(22):
        failed = 2 if night >= 16 else 0
        calls = durations(3, night, count=10 - failed)
        store_night(store, night, {Scenario.WARM: calls}, failed=failed)
    result = watch(store, 22, metrics=["failures"])
    assert result.exit_code == 2
    assert "share of failed warm calls rose from 0 % to 20 %: +20 points [" in str(result).replace("Share", "share")


def test_a_disturbed_machine_another_prompt_and_an_unfinished_study_are_left_out_and_said(store: Store) -> None:
    fill(store, {}, 14)
    for night in range(8, 14):
        slow = {Scenario.WARM: durations(5, night, level_ms=900.0, count=7)}
        store_night(store, night, slow, hour=1, environment=OVERLOADED)
    store_night(store, 3, {Scenario.WARM: durations(5, 3, level_ms=900.0, count=7)}, prompt="a long one", hour=2)
    store_night(store, 4, {Scenario.WARM: [1.0] * 7}, state="interrupted", hour=3)
    store_night(store, 5, {Scenario.WARM: [900.0] * 7}, hour=4, arn=AGENT_ARN.replace("us-east-1", "eu-west-1"))
    result = watch(store, 14)
    assert (result.exit_code, result.changes, result.nights) == (0, (), 14)
    report = str(result)
    everything = watch(store, 14, allow_overload=True)
    assert "6 studies on an overloaded machine are compared as they are" in str(everything)
    assert everything.histories[0].values[-1] > 400
    assert "6 studies on an overloaded machine are left out: 6 Oct 2026" in report
    assert "1 incomplete study left out." in report
    assert "1 night with another prompt is not compared (p50 of warm calls)." in report


def test_two_studies_of_a_day_are_one_night_and_two_versions_of_a_day_are_two(store: Store) -> None:
    fill(store, {}, 13)
    store_night(store, 12, {Scenario.WARM: durations(8, 12, count=7)}, hour=2)
    assert watch(store, 13).nights == 13
    store_night(store, 12, {Scenario.WARM: durations(9, 12, count=7)}, hour=4, version="7")
    result = watch(store, 13)
    assert result.nights == 14
    assert result.histories[0].versions[-2:] == ("6", "7")


def test_an_update_of_the_client_is_named_and_another_machine_is_not_compared(store: Store) -> None:
    for night in range(22):
        system = f"Linux {'6.2' if night >= 16 else '6.1'} x86_64"
        slow = {Scenario.WARM: durations(3, night, level_ms=420.0 if night >= 16 else 320.0, count=7)}
        store_night(store, night, slow, environment={"client": {"system": system, "processors": 4}})
        other = {"client": {"system": "Linux 6.1 aarch64", "processors": 4}}
        if night < 2:
            store_night(store, night, {Scenario.WARM: [90.0] * 7}, hour=1, environment=other)
    result = watch(store, 22)
    assert only(result).facts == {"the system of the client": ("6.1", "6.2")}
    assert "; the system of the client changed from 6.1 to 6.2. p50" in str(result)
    assert "2 nights with another measuring machine are not compared" in str(result)


def test_the_version_of_an_older_study_is_the_one_that_its_endpoint_served_then(store: Store) -> None:
    store.releases.add_change("aws", AGENT_ARN, "DEFAULT", action="created", version="3")
    now = datetime.now(UTC)
    store_night(store, 0, {Scenario.WARM: durations(1, 0)}, version="", began=now)
    result = watch_agent(store, scope="aws", agent_arn=AGENT_ARN, now=now + timedelta(hours=1))
    assert result.histories[0].versions == ("3",)


def test_the_page_the_chart_and_the_json_say_the_same(store: Store) -> None:
    hostile = "model: <script>alert(1)</script>"
    fill(store, {16: 420.0}, 24, labels=(hostile,))
    result = watch(store, 24, metrics=[])
    page = result._repr_html_()
    assert "<script>" not in page
    assert "Regression since 14 Oct 2026" in page
    assert "p90 to the first byte of warm calls" in page
    drawn = result.figure("warm", "p50").to_plotly_json()
    assert len(drawn["data"][0]["x"]) == 24
    assert [trace["name"] for trace in drawn["data"][1:]] == ["level: first", "level: regression"]
    summary = json.loads(json.dumps(result.summary()))
    assert summary["exit_code"] == 2
    assert {change["metric"] for change in summary["changes"]} >= {"p50", "ttft_p50"}
    assert result.table().loc["p50 of warm calls", "state"] == "regression"
    with pytest.raises(ValueError, match="cold, p50 is not watched"):
        result.figure("cold", "p50")


def test_bad_arguments_say_what_is_allowed(store: Store) -> None:
    with pytest.raises(
        StudyError,
        match="No complete latency study or evaluation of the endpoint DEFAULT is stored since 3 Jul 2026",
    ):
        watch(store, 3)
    with pytest.raises(ValueError, match="days must be at least 1, not 0"):
        watch(store, 3, days=0)
    with pytest.raises(ValueError, match="days must not reach back before the year 1, as 800000 days do"):
        watch(store, 3, days=800_000)
    with pytest.raises(ValueError, match=r"0\.1 for 10 %, not -0\.1"):
        watch(store, 3, max_slower=-0.1)
    with pytest.raises(ValueError, match=r"a watched figure must be one of p50, p90, .*, cost, .*, not 'p95'"):
        watch(store, 3, metrics=["p95"])
    with pytest.raises(ValueError, match="a scenario must be one of cold, warm, sticky, not 'hot'"):
        watch(store, 3, scenarios=["hot"])


def loom(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["--where", "aws", "--home", str(home), *arguments], standalone_mode=False, env={"DATABASE_URL": ""}
    )


def test_the_command_reads_the_database_alone_and_ends_with_the_code_of_a_gate(tmp_path: Path) -> None:
    home = tmp_path / "home"
    began = datetime.now(UTC) - timedelta(days=25)
    with Store.open(f"sqlite:///{home}/loom.db") as store:
        fill(store, {16: 450.0}, 24, began=began)
    slower = loom(home, "watch", "calculator", "--scenario", "warm", "--metric", "p50")
    assert slower.return_value == 2
    assert slower.stdout.startswith("Regression since ")
    printed = loom(home, "--json", "watch", "calculator", "--metric", "p50", "--notify", "nobody")
    assert printed.return_value == 2
    (problem,) = json.loads(printed.stdout)["problems"]
    assert "there is no address 'nobody'" in problem
    allowed = loom(home, "--json", "watch", "calculator", "--metric", "p50", "--max-slower", "100%")
    assert allowed.return_value == 0
    assert json.loads(allowed.stdout)["changes"][0]["state"] == "within the limit"
    few = loom(home, "watch", "calculator", "--since", f"{datetime.now(UTC) - timedelta(days=6):%Y-%m-%d}")
    assert few.return_value == 1
    assert few.stdout.startswith("Too few nights")
    unknown = loom(home, "watch", "calculater")
    assert isinstance(unknown.exception, AgentNotFoundError)
    assert "there are studies of calculator" in str(unknown.exception)
    assert "neither a number nor a percentage" in str(loom(home, "watch", "calculator", "--max-slower", "x").exception)
