"""Watching pass rates, scores and costs of evaluations beside latency, night by night in a real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from night_studies import AGENT_ARN, BEGAN, durations, store_evaluation, store_night, verdicts

from loomlib.latency import Scenario
from loomlib.latency.watch import WatchResult, watch_agent
from loomlib.latency.watch.detection import WORSE, NightSeries, find_changes
from loomlib.presentation.formats import number
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/loom.db") as opened:
        yield opened


def watch(store: Store, nights: int, **options: Any) -> WatchResult:
    """Watch on the morning after so many nights."""
    options = {"scope": "aws", "agent_arn": AGENT_ARN, "agent_name": "calculator"} | options
    return watch_agent(store, now=BEGAN + timedelta(days=nights - 1, hours=5), **options)


def fill(store: Store, nights: int, *, at: int = 16, rate: float = 0.95, cost: float = 0.002) -> None:
    """Store nights of 40 cases; from night `at` on, with version 7, this share passes and an answer costs so much."""
    for night in range(nights):
        is_new = night >= at
        noise = float(np.exp(0.02 * np.random.default_rng([7, night]).standard_normal()))
        store_evaluation(
            store,
            night,
            passed=verdicts(5, night, rate=rate if is_new else 0.95),
            cost=(cost if is_new else 0.002) * noise,
            version="7" if is_new else "6",
        )


def test_a_lower_pass_rate_is_a_regression_in_points_with_its_day_and_version(store: Store) -> None:
    fill(store, 22, rate=0.6)
    result = watch(store, 22)
    (change,) = result.regressions
    assert result.exit_code == 2
    assert (change.figure.metric, change.since) == ("pass_rate", BEGAN + timedelta(days=16, hours=1))
    assert change.facts == {"version": ("6", "7")}
    assert change.effect.value is not None
    assert (change.effect.low or 0) <= change.effect.value <= (change.effect.high or 0) < 0
    sentence = result.sentences()[0]
    assert sentence.startswith(
        "Regression since 14 Oct 2026: the change came between 13 and 14 Oct 2026, with version 7"
    )
    assert "Pass rate of exact on sums fell from 95" in sentence
    assert " points [" in sentence
    assert watch(store, 22, max_drop=0.6).exit_code == 0


def test_dearer_answers_are_a_regression_unless_the_limit_allows_them(store: Store) -> None:
    fill(store, 24, cost=0.003)
    result = watch(store, 24)
    (change,) = result.regressions
    assert change.sentence().startswith(f"cost of {number(1000)} answers to sums rose from $2.0")
    assert (change.effect.low or 0) > 1
    assert (change.effect.low or 0) <= 1.5 <= (change.effect.high or 0)
    allowed = watch(store, 24, max_cost_increase=2.0)
    assert (allowed.exit_code, allowed.changes[0].state) == (0, "within the limit")
    assert "More expensive since 14 Oct 2026, within the limit of 200 %" in str(allowed)


def test_a_better_pass_rate_and_cheaper_answers_fail_nothing(store: Store) -> None:
    for night in range(26):
        is_new = night >= 16
        rate, cost = (0.98, 0.001) if is_new else (0.6, 0.002 * (1 + 0.01 * (night % 3)))
        store_evaluation(store, night, passed=verdicts(5, night, rate=rate), cost=cost, version="7" if is_new else "6")
    result = watch(store, 26)
    assert result.exit_code == 0
    assert {change.figure.metric for change in result.improvements} == {"pass_rate", "cost"}


def test_answers_that_were_used_again_another_evaluator_and_another_endpoint_are_not_compared(store: Store) -> None:
    fill(store, 14)
    store_evaluation(store, 13, passed=verdicts(5, 1), reused=True)
    store_evaluation(store, 0, passed=verdicts(5, 2), version="5", evaluator_digest="e0")
    result = watch(store, 14, metrics=["pass_rate"])
    assert result.histories[0].versions == ("6",) * 14
    assert "1 evaluation is left out because stored answers were reused" in str(result)
    assert "1 night with another evaluator is not compared (pass rate of exact on sums)." in str(result)
    assert watch(store, 14, qualifier="prod", allow_empty=True).exit_code == 1


def test_unanswered_cases_and_the_cost_of_measured_calls_are_watched(store: Store) -> None:
    agent = store.agents.upsert(
        scope="aws",
        arn=AGENT_ARN,
        runtime_id="calculator-AbC123dEf4",
        name="calculator",
        status="READY",
        region="us-east-1",
        account_id="123456789012",
        log_group=None,
    )
    for night in range(22):
        is_new = night >= 14
        study = store_night(store, night, {Scenario.WARM: durations(3, night, count=7)})
        invocation = store.invocations.begin(agent_id=agent.id, session_id="s" * 33)
        store.measurements.amend(study, 0, invocation_id=invocation)
        put_cost(store, invocation, 0.004 if is_new else 0.002 + 0.00002 * (night % 3))
        store_evaluation(store, night, passed=verdicts(5, night), failed=6 if is_new else 0)
    result = watch(store, 22, metrics=["cost", "failures"])
    assert {(change.figure.subject, change.figure.metric) for change in result.regressions} == {
        ("warm", "cost"),
        ("sums", "failures"),
    }
    table = result.table()
    assert table.loc[f"cost of {number(1000)} warm calls", "level now"] == "$4.00"
    assert table.loc["share of cases of sums without an answer", "state"] == "regression"


def put_cost(store: Store, invocation: int, usd: float) -> None:
    """Store the cost of a call."""
    from decimal import Decimal

    store.figures.put_cost(
        invocation, known=Decimal(repr(usd)), unknown=0, is_estimate=False, is_simulated=False, currency="USD"
    )


def test_the_page_marks_the_versions_and_the_change(store: Store) -> None:
    fill(store, 22, rate=0.6)
    result = watch(store, 22)
    page = result._repr_html_()
    assert "version 7</text>" in page
    assert "Pass rate of exact on sums fell" in page
    drawn = result.figure("exact", "pass_rate").to_plotly_json()
    assert [note["text"] for note in drawn["layout"]["annotations"]] == ["version 7"]
    assert json.loads(json.dumps(result.summary()))["changes"][0]["subject"] == "exact"


def histories_with_an_alarm(histories: int, *, nights: int) -> int:
    """Count simulated histories without a change in which any of eight figures has a false alarm at any look."""
    alarms = 0
    for seed in range(histories):
        random = np.random.default_rng([11, seed])
        rates = [random.binomial(cases, rate, nights) / cases for cases, rate in ((20, 0.95), (40, 0.9), (200, 0.7))]
        scores = random.beta(8, 2, (nights, 30)).mean(axis=1)
        ratios = 0.04 * random.standard_normal((4, nights)) + 0.02 * random.standard_normal(nights)
        series = [
            NightSeries(nights=range(nights), levels=[float(one) for one in levels], hints=[nights // 2])
            for levels in (*(-rate for rate in rates), -scores, *ratios)
        ]
        alarms += any(change.direction == WORSE for change in find_changes(series))
    return alarms


def test_pass_rates_scores_costs_and_latencies_together_raise_no_alarm_in_a_few_histories() -> None:
    # With a probability of 5 % a history, 3 or more of 8 have 0.6 %.
    assert histories_with_an_alarm(8, nights=16) <= 2


@pytest.mark.long
def test_false_alarms_of_all_figures_together_stay_below_five_percent() -> None:
    # With a probability of 5 % a history, 18 or more of 200 have 1 %.
    assert histories_with_an_alarm(200, nights=30) <= 17
