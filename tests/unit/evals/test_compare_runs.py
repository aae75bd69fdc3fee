"""Two runs on the same cases: verdicts, flips, what is left out, gates, slices and leaderboards."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from compare_outcomes import outcome, run

from loomlib.evals import Outcome
from loomlib.evals.compare import compare, compare_slices, leaderboard
from loomlib.statistics import cohens_h, mcnemar

BASELINE = run([True] * 80 + [False] * 20, trace_id="before")
WORSE = run([True] * 60 + [False] * 40, trace_id="after")


def test_a_planted_regression_is_found_and_its_cases_are_named() -> None:
    comparison = compare(WORSE, BASELINE)
    exact = comparison["exact"]
    assert comparison.headline() == "Against baseline, new is worse on exact."
    assert (exact.won, exact.lost, exact.same, exact.n) == (0, 20, 80, 100)
    assert exact.test.p_value == mcnemar(0, 20)
    assert exact.test.method == "McNemar mid-p"
    assert exact.effect == pytest.approx(cohens_h(0.6, 0.8))
    assert exact.difference.value == pytest.approx(-0.2)
    assert [flip.case_id for flip in comparison.flips("lost")] == [f"case {n}" for n in range(60, 80)]
    assert comparison.flips("lost")[0].trace_ids == ("after",)
    assert comparison.flips("lost")[0].baseline_trace_ids == ("before",)
    assert comparison.exit_code == 2
    assert exact.sentence() == (
        "exact: worse. Pass rate 80 % → 60 %, −20 points [−27.9 to −11.3], p < 0.001 (McNemar mid-p); "
        "0 won, 20 lost, 80 unchanged of 100 cases."
    )


def test_the_same_run_twice_shows_no_difference_and_no_proof_of_none() -> None:
    comparison = compare(BASELINE, BASELINE)
    assert comparison["exact"].verdict == "no difference found"
    assert "does not prove that there is none" in comparison.headline()
    assert comparison["exact"].power_advice().startswith("No case changed")
    assert comparison.flips() == ()


def test_the_same_scores_in_another_order_of_the_repeats_are_no_difference() -> None:
    scores = [0.1, 0.2, 0.3]  # whose sum depends on the order, in the last bits
    compared = compare(run([scores] * 20), run([scores[::-1]] * 20))["exact"]
    assert (compared.won, compared.lost, compared.same) == (0, 0, 20)
    assert compared.difference.value == 0


def test_swapping_the_runs_swaps_the_signs() -> None:
    forward, reverse = compare(WORSE, BASELINE)["exact"], compare(BASELINE, WORSE)["exact"]
    assert reverse.verdict == "better"
    assert reverse.test == forward.test
    assert (reverse.difference.low, reverse.difference.high) == pytest.approx(
        (-(forward.difference.high or 0), -(forward.difference.low or 0))
    )


def test_only_cases_that_have_the_same_content_and_have_a_score_in_both_are_compared() -> None:
    new = [
        outcome("same", True), outcome("edited", True, case_digest="v2"), outcome("added", True),
        outcome("failed", "answer_failed"), outcome("healed", True), outcome("other", "not_applicable"),
    ]  # fmt: skip
    old = [
        outcome("same", True), outcome("edited", True), outcome("dropped", True), outcome("failed", True),
        outcome("healed", "judge_failed"), outcome("other", True),
    ]  # fmt: skip
    comparison = compare(new, old)
    assert comparison["exact"].n == 1
    assert comparison["exact"].unpaired.counted() == [
        ("only in the new run", ("added",)),
        ("only in the baseline", ("dropped",)),
        ("edited in between", ("edited",)),
        ("without a score in the new run", ("failed",)),
        ("without a score in the baseline", ("healed",)),
        ("not applicable", ("other",)),
    ]
    assert "Not compared: 1 case edited in between (edited)." in comparison.notes()
    assert comparison["exact"].verdict == "too few cases"
    assert comparison.headline() == "new and baseline have too few cases in common for a comparison."


def test_repeats_are_compared_by_their_case() -> None:
    rng = random.Random(4)
    old = run([[rng.random() < 0.9 for _ in range(5)] for _ in range(40)])
    new = run([[rng.random() < 0.6 for _ in range(5)] for _ in range(40)])
    exact = compare(new, old)["exact"]
    assert (exact.n, exact.test.method, exact.verdict) == (40, "paired t", "worse")
    assert exact.difference.n == 40


def test_scores_are_compared_by_means_with_a_bootstrap_beside() -> None:
    rng = random.Random(5)
    old = [rng.betavariate(4, 2) for _ in range(60)]
    exact = compare(run([min(1.0, v + 0.05 * rng.random()) for v in old]), run(old), seed=3)["exact"]
    assert (exact.measure, exact.verdict) == ("score", "better")
    assert (exact.bootstrap.low, exact.bootstrap.high) == pytest.approx(
        (exact.difference.low, exact.difference.high), abs=0.003
    )
    assert exact.effect is not None
    assert exact.effect > 0.8
    assert exact == compare(run([min(1.0, v) for v in [f.value for f in exact.flips]]), run(old), seed=3)["exact"]


def test_many_evaluators_are_held_to_one_false_alarm_in_twenty() -> None:
    """Twenty evaluators without a true difference; unadjusted, one of them would alarm in two runs of three."""
    random_ = np.random.Generator(np.random.PCG64(6))
    alarms = 0
    for _ in range(30):
        new: list[Outcome] = []
        old: list[Outcome] = []
        for n in range(20):
            new += run((random_.random(40) < 0.6).tolist(), evaluator=f"e{n}")
            old += run((random_.random(40) < 0.6).tolist(), evaluator=f"e{n}")
        alarms += any(evaluator.verdict in ("better", "worse") for evaluator in compare(new, old).evaluators)
    assert alarms <= 4  # 30 runs, 1.5 expected at most; unadjusted it would be about 19


@pytest.mark.parametrize(("lost", "outcome_expected"), [(0, "passed"), (10, "unclear"), (60, "missed")])
def test_a_gate_is_missed_only_if_worse_by_more_than_the_margin_with_its_whole_interval(
    lost: int, outcome_expected: str
) -> None:
    old = run([True] * 450 + [False] * 50)
    new = run([True] * (450 - lost) + [False] * (50 + lost))
    (gate,) = compare(new, old, margin=0.02).gates()
    assert gate.outcome == outcome_expected
    assert gate.exit_code == (2 if outcome_expected == "missed" else 0)
    assert "largest accepted decrease 2 points" in gate.sentence()


def test_a_version_that_stops_answering_does_not_pass_its_gate() -> None:
    old = run([True] * 500)
    (gate,) = compare(run([True] * 440 + ["answer_failed"] * 60), old).gates()
    assert gate.outcome == "unclear"
    assert "12 % of the new run's attempts have no score" in gate.sentence()
    (gate,) = compare(run([[True, "answer_failed"]] * 500), run([[True, True]] * 500)).gates()
    assert gate.outcome == "unclear"


def test_a_missing_score_counts_as_the_worst_of_its_scale() -> None:
    old = [7.0 + case % 3 for case in range(60)]
    new = [7.0 + (case + 1) % 3 for case in range(42)] + ["judge_failed"] * 18
    (gate,) = compare(run(new), run(old), margin=1.0).gates()
    assert gate.outcome == "unclear"
    assert "30 % of the new run's attempts have no score" in gate.sentence()


def test_power_advice_states_how_many_cases_a_difference_takes() -> None:
    advice = compare(run([True, False] * 20 + [True] * 20), run([True] * 40 + [False, True] * 10))[
        "exact"
    ].power_advice()
    assert advice.startswith("Detecting a difference of 5 points with 80 % power needs about ")
    assert advice.endswith("there are 60.")
    advice = compare(run([0.7] * 30), run([0.5] * 30))["exact"].power_advice()
    assert advice == "All cases differ by the same amount, so their variance is unknown."


def test_every_display_of_a_comparison_shows_the_same() -> None:
    comparison = compare(WORSE, BASELINE, names=("v2", "v1"))
    assert str(comparison).startswith("Against v1, v2 is worse on exact.")
    assert comparison.table().loc["exact", "verdict"] == "worse"
    assert comparison.frame().loc["exact", "difference"] == pytest.approx(-0.2)
    assert (comparison.flip_frame()["verdict"] == "lost").sum() == 20
    summary = json.loads(json.dumps(comparison.summary()))
    assert summary["exit_code"] == 2
    assert len(summary["evaluators"][0]["lost"]) == 20
    assert "Against v1, v2 is worse on exact." in comparison._repr_html_()
    assert json.loads(json.dumps(compare([], []).summary()))["exit_code"] == 0
    assert list(compare([], []).frame().columns) == list(comparison.frame().columns)


def test_hostile_names_stay_text_in_every_display() -> None:
    hostile = "<img src=x onerror=alert(1)>\x1b]0;owned\x07"
    new = [outcome(f"{hostile}{n}", n > 10, evaluator=hostile, tags=(hostile,)) for n in range(40)]
    old = [outcome(f"{hostile}{n}", True, evaluator=hostile, tags=(hostile,)) for n in range(45)]
    for display in (
        compare(new, old, names=(hostile, hostile)),
        compare_slices(new, old),
        leaderboard({hostile: new, "b": old}),
    ):
        assert "<img" not in display._repr_html_()
        assert "\x1b" not in str(display) + display._repr_html_()


def test_evaluators_of_one_run_only_are_named() -> None:
    comparison = compare(WORSE + run([True] * 5, evaluator="contains"), BASELINE)
    assert comparison.only_new == ("contains",)
    assert "Judged in new only: contains." in comparison.notes()


def test_a_slice_that_got_worse_is_found_among_many_that_did_not() -> None:
    tags = [f"topic {n // 40}" for n in range(400)]
    old = [outcome(f"c{n}", True, tags=(tags[n],)) for n in range(400)]
    new = [outcome(f"c{n}", not 120 <= n < 140, tags=(tags[n],)) for n in range(400)]
    comparison = compare_slices(new, old)
    assert [tag for tag, result in comparison.slices if result.verdict == "worse"] == ["topic 3"]
    assert comparison.sentences()[0].startswith("topic 3 – exact: worse.")
    assert "10 slices tested" in comparison.sentences()[-1]
    assert [tag for tag, _ in compare_slices(new, old, tags=["topic 3"]).slices] == ["topic 3"]
    assert compare_slices([], []).sentences() == ["No slice has enough cases for a comparison."]


def test_runs_that_no_test_parts_share_a_place() -> None:
    board = leaderboard({"low": WORSE, "high": BASELINE, "nearly": run([True] * 79 + [False] * 21)})
    assert [(standing.place, standing.name) for standing in board.standings] == [(1, "high"), (1, "nearly"), (3, "low")]
    assert board.standings[0].tied_with == ("nearly",)
    assert board.sentences()[0] == "high, nearly share first place on exact, pass rate on 100 shared cases."
    assert list(board.table().index) == ["1", "1", "3"]
    assert json.loads(json.dumps(board.summary()))["n"] == 100


def test_a_leaderboard_counts_only_cases_that_all_runs_have_a_score_for() -> None:
    short = [result for result in BASELINE if result.case_id != "case 3"]
    broken = [outcome("case 5", "answer_failed") if result.case_id == "case 5" else result for result in WORSE]
    board = leaderboard({"a": BASELINE, "b": short, "c": broken})
    assert (board.n, board.left_out) == (98, 2)
    assert board.standings[-1].no_score == 1
    with pytest.raises(ValueError, match="there is none"):
        leaderboard({"a": BASELINE, "b": run([True], evaluator="other")})
    with pytest.raises(ValueError, match="needs at least one run"):
        leaderboard({})
    assert leaderboard({"a": run([True]), "b": [outcome("x", True)]}).sentences() == [
        "The runs share no case for which all of them have a score."
    ]


def test_a_margin_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="margin"):
        compare(WORSE, BASELINE, margin=-0.1)
    with pytest.raises(ValueError, match="'won', 'lost' or 'same'"):
        compare(WORSE, BASELINE).flips("better")
