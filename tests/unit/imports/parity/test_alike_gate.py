"""The gate of parity: what it decides, how many more cases it asks for, and how often it is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from parity_pairs import judged

from loomlib.imports.bedrock_agents.parity.alike_gate import AlikeShare, alike_gate, alike_share, more_cases
from loomlib.statistics.rates import estimate_rate

LEAST = 0.95
SIMULATIONS = 4_000


def share_of(alike: int, judged_: int, without: int = 0) -> AlikeShare:
    verdicts = [judged(f"c{n}", n < alike) for n in range(judged_)]
    return alike_share([*verdicts, *(judged(f"f{n}", None) for n in range(without))])


def of_counts(passes: np.ndarray, tries: int) -> AlikeShare:
    cases = len(passes)
    estimate = estimate_rate(passes, np.full(cases, tries))
    return AlikeShare(estimate=estimate, alike=int(passes.sum()), judged=cases * tries, cases=cases, without=0)


@pytest.mark.parametrize(
    ("alike", "cases", "outcome"),
    [(118, 120, "unclear"), (73, 73, "passed"), (72, 72, "unclear"), (60, 100, "missed"), (0, 1, "missed"),
     (1, 1, "unclear"), (0, 0, "unclear")],
)  # fmt: skip
def test_the_whole_interval_decides(alike: int, cases: int, outcome: str) -> None:
    assert alike_gate(share_of(alike, cases), LEAST).outcome == outcome


def test_an_unclear_gate_says_how_many_more_cases_decide_it() -> None:
    gate = alike_gate(share_of(12, 12), LEAST)
    assert gate.data["more_cases"] == 73 - 12
    assert "about 61 more cases decide it (there are 12)" in gate.sentence()
    more = re.search(r"about (\d+) more cases", alike_gate(share_of(118, 120), LEAST).sentence())
    assert more is not None
    enough, too_few = (round((120 + int(more.group(1)) * factor) / 60) * 60 for factor in (1.5, 0.5))
    assert alike_gate(share_of(enough * 118 // 120, enough), LEAST).outcome == "passed"
    assert alike_gate(share_of(too_few * 118 // 120, too_few), LEAST).outcome == "unclear"
    assert more_cases(share_of(95, 100), LEAST) is None
    assert "too close to the limit" in alike_gate(share_of(95, 100), LEAST).sentence()


def test_answers_without_a_verdict_enter_no_share_but_can_make_a_pass_unclear() -> None:
    share = share_of(100, 100, without=3)
    assert (share.alike, share.judged, share.without) == (100, 100, 3)
    assert share.estimate.value == 1.0
    gate = alike_gate(share, LEAST)
    assert gate.outcome == "unclear"
    assert "3 answers without a verdict could reverse it" in gate.sentence()
    assert alike_gate(share_of(300, 300, without=3), LEAST).outcome == "passed"


def test_repeats_of_a_case_are_no_further_cases() -> None:
    verdicts = [judged(f"c{n}", True, repeat) for n in range(30) for repeat in range(5)]
    share = alike_share(verdicts)
    assert (share.judged, share.cases) == (150, 30)
    assert alike_gate(share, LEAST).outcome == "unclear", "150 tries of 30 cases are not 150 cases"
    assert "on 30 cases" in share.text()


@pytest.mark.parametrize("cases", [80, 120, 200, 500])
def test_an_agent_at_the_limit_passes_in_at_most_five_percent_of_simulations(cases: int) -> None:
    random = np.random.default_rng(cases)
    alike = random.binomial(cases, LEAST, SIMULATIONS)
    outcomes = {int(k): alike_gate(of_counts(np.r_[np.ones(k), np.zeros(cases - k)].astype(int), 1), LEAST).outcome
                for k in np.unique(alike)}  # fmt: skip
    drawn = [outcomes[int(k)] for k in alike]
    assert drawn.count("passed") / SIMULATIONS <= 0.05
    assert drawn.count("missed") / SIMULATIONS <= 0.05


@pytest.mark.parametrize(("rate", "cases", "outcome"), [(0.99, 400, "passed"), (0.85, 120, "missed")])
def test_an_agent_far_from_the_limit_is_decided_right(rate: float, cases: int, outcome: str) -> None:
    random = np.random.default_rng(7)
    drawn = [alike_gate(of_counts((random.random(cases) < rate).astype(int), 1), LEAST).outcome for _ in range(400)]
    assert drawn.count(outcome) / 400 > 0.9
    assert drawn.count("missed" if outcome == "passed" else "passed") == 0


@pytest.mark.parametrize(("mean", "spread"), [(0.95, 20.0), (0.95, 4.0)])
def test_with_repeats_the_interval_contains_the_truth_and_false_passes_stay_rare(mean: float, spread: float) -> None:
    """Cases differ in how often they are alike: Beta-distributed, three repeats each."""
    random = np.random.default_rng(11)
    runs, cases, repeats = 1_000, 150, 3
    contained, passed = 0, 0
    for _ in range(runs):
        rates = random.beta(mean * spread, (1 - mean) * spread, cases)
        share = of_counts(random.binomial(repeats, rates), repeats)
        assert share.estimate.low is not None
        assert share.estimate.high is not None
        contained += share.estimate.low <= mean <= share.estimate.high
        passed += alike_gate(share, LEAST).outcome == "passed"
    assert contained / runs >= 0.92
    assert passed / runs <= 0.05
