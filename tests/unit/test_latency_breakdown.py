"""Many calls' breakdowns as estimates, and a study's scenarios side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.latency import Measurement, Scenario
from loomlib.latency.breakdown_estimate import estimate_breakdown
from loomlib.latency.scenario_parts import split_scenarios
from loomlib.statistics.ratios import estimate_ratio
from loomlib.telemetry.traces import PARTS, Breakdown, Part

MS = 1_000_000


def spent(certainty: str = "measured", **ms: float) -> Breakdown:
    whole = sum(ms.values())
    parts = tuple(
        Part(
            name=name,
            duration_ns=round(ms.get(name, 0) * MS),
            share=ms.get(name, 0) / whole if whole else 0.0,
            derived_from="a test",
            certainty=certainty if name == "agent" else "measured",
            caveat="no server span" if name == "agent" and certainty != "measured" else "",
        )
        for name in PARTS
    )
    return Breakdown(start_ns=0, end_ns=round(whole * MS), parts=parts, whole="a test")


@dataclass(frozen=True)
class Traced:
    invocation_id: int
    found: Breakdown
    state: str = "found"

    def breakdown(self) -> Breakdown:
        return self.found


def call(position: int, block: int, scenario: Scenario, *, state: str = "done") -> Measurement:
    return Measurement(
        position=position, block=block, scenario=scenario, state=state, invocation_id=position, duration_ms=1.0
    )


def test_shares_add_up_to_one_and_the_largest_part_is_named_first() -> None:
    inside = estimate_breakdown([spent(model=60, tools=30, agent=10)] * 5 + [spent(model=10, tools=80, agent=10)] * 3)
    assert sum(part.pooled_share for part in inside.parts) == pytest.approx(1)
    assert [part.name for part in inside.largest()] == ["tools", "model", "agent"]
    assert inside.sentence().startswith("The largest share of the time goes to tools: 48.8 % (95 % interval ")
    assert "n = 8" in inside.sentence()


def test_too_few_calls_give_shares_without_an_interval() -> None:
    inside = estimate_breakdown([spent(model=60, agent=40)] * 3)
    assert inside["model"].p50_ms.reason == "n too small"
    assert "too few for an interval" in inside.sentence()
    assert inside.rows()[0]["share of all time [95 %]"] in ("40 %", "60 %")


def test_a_garbage_collection_that_only_warm_calls_contain_is_named_and_not_counted_as_the_models() -> None:
    calls, traces = [], []
    for block in range(8):
        calls += [call(2 * block, block, Scenario.COLD), call(2 * block + 1, block, Scenario.WARM)]
        traces += [Traced(2 * block, spent(cold_start=500, model=30 + block % 3, agent=10))]
        traces += [Traced(2 * block + 1, spent(model=30 + block % 2, agent=10, garbage_collection=66 + block % 3))]
    breakdown = split_scenarios(calls, traces)
    assert breakdown.table()["cold − warm [95 %] ms"]["garbage collection"].startswith("−6")
    assert breakdown.extra["model"].value == pytest.approx(0, abs=1)


def test_no_call_is_reported_and_not_divided_by() -> None:
    assert estimate_breakdown([]).sentence() == "It is not known where the time went."
    assert estimate_breakdown([spent()]).n == 0


def test_a_part_that_is_not_measured_keeps_its_caveat() -> None:
    inside = estimate_breakdown([spent("inferred", model=1, agent=1)] * 2 + [spent(model=1, agent=1)] * 6)
    assert inside["agent"].certainty() == "inferred in 2 of 8: no server span"
    assert inside["model"].certainty() == "measured"


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(1e-3, 1e6)), min_size=6, max_size=40))
def test_a_ratio_lies_in_its_interval_and_a_share_between_none_and_all(pairs: list) -> None:
    ratio = estimate_ratio([part for part, _ in pairs], [whole for _, whole in pairs])
    assert 0 <= ratio.low <= ratio.value <= ratio.high < math.inf
    share = estimate_ratio([min(pair) for pair in pairs], [whole for _, whole in pairs])
    assert 0 <= share.low <= share.value <= share.high <= 1


def test_a_part_that_only_one_call_has_may_be_none_of_the_whole() -> None:
    ratio = estimate_ratio([0, 0, 0, 0, 0, 5], [10] * 6)
    assert ratio.low == 0
    assert ratio.value == pytest.approx(5 / 60)
    assert estimate_ratio([0] * 6, [10] * 6).high == 0
    assert estimate_ratio([10] * 6, [10] * 6).low == 1


def test_the_interval_of_a_ratio_holds_the_truth_about_as_often_as_it_claims() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        wholes = random.lognormal(5, 0.5, 30)
        ratio = estimate_ratio(wholes * random.beta(6, 4, 30), wholes)
        hits += ratio.low <= 0.6 <= ratio.high
    assert 176 <= hits <= 200


def test_what_is_slower_when_cold_is_named_with_its_interval() -> None:
    calls = [call(2 * block, block, Scenario.COLD) for block in range(8)]
    calls += [call(2 * block + 1, block, Scenario.WARM) for block in range(8)]
    traces = [
        Traced(measurement.position, spent(cold_start=300 + measurement.block, model=50, agent=20))
        if measurement.scenario is Scenario.COLD
        else Traced(measurement.position, spent(model=50, agent=5))
        for measurement in calls
    ]
    parts = split_scenarios(calls, traces)
    assert parts.sentence().startswith("What is slower when cold: cold start +304 ms [")
    assert "agent overhead +15 ms" in parts.sentence()
    assert "model" not in parts.sentence()
    assert list(parts.table().index) == ["cold start", "agent overhead", "model"]
    figure = parts.figure()
    assert sum(trace.x[list(trace.y).index("cold")] for trace in figure.data) == pytest.approx(373.5)


def test_with_fewer_than_six_pairs_it_is_unknown_which_parts_are_slower_when_cold() -> None:
    calls = [call(place, place // 2, (Scenario.COLD, Scenario.WARM)[place % 2]) for place in range(6)]
    traces = [
        Traced(measurement.position, spent(cold_start=30_000 * (measurement.scenario is Scenario.COLD), model=50))
        for measurement in calls
    ]
    assert split_scenarios(calls, traces).sentence() == (
        "Which parts of a cold call are slower is unknown: 3 pairs of a cold and a warm call have spans, 6 are needed."
    )


def test_calls_without_spans_are_counted_and_in_no_number() -> None:
    calls = [call(0, 0, Scenario.COLD), call(1, 0, Scenario.WARM), call(2, 1, Scenario.WARM, state="failed")]
    traces = [
        Traced(0, spent(unknown=9), "exports_nothing"), Traced(1, spent(model=1)), Traced(2, spent(model=9))
    ]  # fmt: skip
    parts = split_scenarios(calls, traces)
    assert list(parts.inside) == [Scenario.WARM]
    assert parts.coverage() == "1 of 2 calls have spans; exports nothing 1."
    nothing = split_scenarios(calls, [])
    assert "No call of this study has spans" in nothing.sentence()
    assert nothing.table().empty
    assert nothing.figure().layout.annotations[0].text == "No call has spans."


@pytest.mark.parametrize("n", [6, 12, 24])
def test_the_interval_of_a_ratio_of_few_calls_covers_it_about_as_often_as_it_claims(n: int) -> None:
    random, hits, of = np.random.default_rng(3), 0, 2000
    for _ in range(of):
        parts = random.gamma(3, 10, n)
        ratio = estimate_ratio(parts, parts + random.gamma(4, 20, n))
        assert ratio.low is not None
        assert ratio.high is not None
        hits += ratio.low <= 30 / 110 <= ratio.high
    assert 0.935 * of <= hits <= 0.965 * of
