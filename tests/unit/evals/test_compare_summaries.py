"""Summaries of a run: what is counted, what is not, and every display."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from compare_outcomes import outcome, run
from hypothesis import given
from hypothesis import strategies as st

from loomlib.evals import Outcome
from loomlib.evals.compare import Summary, gate_at_least, slices, summarize
from loomlib.experiments import MachineConditions, StudyConditions
from loomlib.statistics import estimate_share


def test_failures_to_answer_and_to_judge_are_counted_and_never_enter_the_mean() -> None:
    summary = summarize(
        run([True] * 18 + [False] * 2 + ["answer_failed"] * 3 + ["judge_failed"] + ["not_applicable"] * 6)
    )
    exact = summary["exact"]
    assert exact.pass_rate == estimate_share(18, 20)
    assert exact.mean == exact.pass_rate
    assert (exact.scored, exact.answer_failed, exact.judge_failed, exact.not_applicable) == (20, 3, 1, 6)
    assert (exact.cases, summary.cases) == (24, 30)
    assert summary.sentences() == [
        "exact: 90 % [69.9–97.2] of 24 cases pass; 3 not answered, 1 not judged, 6 not applicable."
    ]


def test_repeats_give_pass_at_k_and_pass_hat_k() -> None:
    exact = summarize(run([[True, True, False]] * 10 + [[True, True, True]] * 10))["exact"]
    assert exact.repeats == 3
    assert exact.pass_rate.value == pytest.approx(5 / 6)
    assert exact.pass_rate.n == 20
    assert {k: estimate.value for k, estimate in exact.pass_at.items()} == {2: 1.0, 3: 1.0}
    assert exact.pass_all[3].value == 0.5
    assert exact.pass_all[2].value == pytest.approx((1 / 3 + 1) / 2)
    assert list(summarize(run([[True, False]] * 8), ks=[1])["exact"].pass_at) == [1]


def test_an_evaluator_without_a_bar_has_a_mean_and_no_pass_rate() -> None:
    exact = summarize(run([0.2, 0.9, 0.5, 0.8, 0.4, 0.7]))["exact"]
    assert exact.mean.value == pytest.approx(3.5 / 6)
    assert str(exact.pass_rate) == "no threshold"
    assert exact.pass_at == {}


def test_scores_beyond_zero_and_one_have_a_mean_without_bounds() -> None:
    exact = summarize(run([2.0, 9.5, 5.0, -1.0, 4.0, 7.0, 30.0]))["exact"]
    assert exact.mean.value == pytest.approx(56.5 / 7)
    assert exact.mean.high is not None
    assert exact.mean.high > 10


def test_parts_behind_a_whole_are_no_repeats_of_it() -> None:
    outcomes = [
        result
        for n in range(12)
        for result in (
            outcome(f"case {n}", n % 2 == 0, evaluator="exact"),
            outcome(f"case {n}", True, part="turn 1", evaluator="exact"),
            outcome(f"case {n}", n % 2 == 0, part="turn 2", evaluator="exact"),
        )
    ]
    exact = summarize(outcomes)["exact"]
    assert (exact.repeats, exact.scored, dict(exact.pass_at)) == (1, 12, {})
    assert exact.pass_rate.value == 0.5


def test_a_case_with_many_parts_weighs_no_more_than_one_with_a_single_part() -> None:
    parts = [outcome("many", True, part=f"call {n}", evaluator="tool calls", level="component") for n in range(9)] + [
        outcome("many", False, part="call 9", evaluator="tool calls", level="component")
    ]
    others = [outcome(f"one {n}", True, part="call 0", evaluator="tool calls") for n in range(9)]
    tool_calls = summarize(parts + others)["tool calls"]
    assert tool_calls.scored == 10
    assert tool_calls.mean.value == pytest.approx(0.99)
    assert tool_calls.pass_rate == estimate_share(9, 10)


def test_a_part_that_could_not_be_judged_leaves_its_case_without_a_score() -> None:
    exact = summarize(
        [
            outcome("a", True, part="call 0"),
            outcome("a", "judge_failed", part="call 1"),
            outcome("b", "not_applicable", part="x"),
            outcome("b", False, part="y"),
        ]
    )["exact"]
    assert (exact.scored, exact.judge_failed, exact.pass_rate.value) == (1, 1, 0.0)


def test_few_graded_cases_state_that_they_are_too_few() -> None:
    summary = summarize(run([0.5, 0.6, 0.7]))
    assert summary.sentences() == ["exact: no result from 3 cases (n too small)."]
    assert summary.rows()[0][2] == "n too small (3 of 6)"
    assert summarize([]).sentences() == ["No case was judged."]


def test_labels_stay_beside_every_number() -> None:
    summary = summarize(run([True] * 9, labels=("simulated judge",)))
    assert "simulated judge" in str(summary)
    assert "simulated judge" in summary._repr_html_()
    assert "simulated judge" in summary.table().index[0]


def test_a_summary_survives_json() -> None:
    summary = summarize(run([[True, False], [0.5, 1.0], ["answer_failed", True]] * 4))
    assert Summary.read(json.loads(json.dumps(summary.summary()))) == summary


def test_the_frame_has_numbers_and_reports_nothing_where_nothing_is_known() -> None:
    frame = summarize(run([0.5, 0.6, 0.7])).frame()
    assert frame["mean"].isna().all()
    assert frame.loc["exact", "scored"] == 3


def test_what_a_set_or_an_agent_named_never_becomes_markup_or_a_terminals_command() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\ud800"
    outcomes = run([True] * 8, evaluator=hostile, tags=(hostile,), labels=(hostile,))
    for display in (summarize(outcomes), slices(outcomes)):
        assert "<script>" not in display._repr_html_()
        display._repr_html_().encode("utf-8")
        assert "\x1b" not in str(display) + display._repr_html_()
        str(display).encode("utf-8")


def test_outcomes_of_two_runs_are_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="two runs were mixed"):
        summarize([outcome("a", True), outcome("a", True, repeat=1, case_digest="edited")])


@pytest.mark.parametrize(
    "bad",
    [
        {"state": "scored", "value": None, "passed": None},
        {"state": "scored", "value": float("nan"), "passed": None},
        {"state": "answer_failed", "value": 0.0, "passed": None},
        {"state": "judge_failed", "value": None, "passed": False},
        {"state": "crashed", "value": None, "passed": None},
    ],
)
def test_an_outcome_that_makes_a_number_of_a_failure_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Outcome(case_id="a", case_digest="d", repeat=0, evaluator="exact", level="answer", **bad)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from([True, False, "answer_failed", "judge_failed", "not_applicable"]), max_size=40))
def test_every_outcome_is_counted_exactly_once(values: list[bool | str]) -> None:
    evaluators = summarize(run(values)).evaluators
    counted = sum(e.scored + e.answer_failed + e.judge_failed + e.not_applicable for e in evaluators)
    assert counted == len(values)


def test_slices_tell_kinds_of_cases_apart_and_warn_of_many_comparisons() -> None:
    by_tag = slices(
        run([True] * 20, tags=("easy",)) + [outcome(f"h{n}", n % 2 == 0, tags=("hard",)) for n in range(20)]
    )
    rates = {tag: summary.pass_rate.value for tag, summary in by_tag.slices}
    assert rates == {"easy": 1.0, "hard": 0.5}
    assert by_tag.sentences() == [
        "2 intervals at 95 % confidence: about 0.1 of them can be expected to miss the true value."
    ]
    assert [tag for tag, _ in slices(run([True] * 3)).slices] == ["(no tag)"]
    assert [tag for tag, _ in slices(run([True] * 3, tags=("b", "a")), tags=["b", "a"]).slices] == ["b", "a"]


def test_an_absolute_gate_is_passed_missed_or_unclear() -> None:
    good, bad, few = run([True] * 98 + [False] * 2), run([True] * 40 + [False] * 60), run([True] * 9 + [False])
    for outcomes, expected, code in ((good, "passed", 0), (bad, "missed", 2), (few, "unclear", 0)):
        verdict = gate_at_least(summarize(outcomes), 0.9)
        assert (verdict.outcome, verdict.exit_code) == (expected, code)
        assert verdict.sentence().startswith(f"Gate {expected}: exact, pass rate ")
    assert gate_at_least(summarize(run([0.5] * 3)), 0.4).sentence() == (
        "Gate unclear: exact, n too small: 3 cases, needs 6; required: at least 0.400."
    )


def test_a_gate_that_every_case_misses_is_missed_however_few_they_are() -> None:
    verdict = gate_at_least(summarize(run([False] * 2)), 0.5)
    assert (verdict.outcome, verdict.exit_code) == ("missed", 2)
    verdict = gate_at_least(summarize(run([0.2, 0.3])), 0.5)
    assert verdict.outcome == "missed"
    assert "all 2 cases miss the limit" in verdict.sentence()
    assert gate_at_least(summarize(run([0.2, 0.6])), 0.5).outcome == "unclear"


def test_an_undecided_gate_states_how_many_cases_it_needs() -> None:
    verdict = gate_at_least(summarize(run([True] * 18 + [False] * 2)), 0.8)
    assert verdict.outcome == "unclear"
    assert verdict.needed_n is not None
    assert f"about {verdict.needed_n} cases are needed to decide (there are 20)" in verdict.sentence()


def test_a_gate_on_durations_is_unclear_after_a_disturbed_run_and_others_are_not() -> None:
    crowded = StudyConditions((MachineConditions(duration_s=9, processors=2, samples=90, tasks=12.0),))
    summary = replace(
        summarize(run([True] * 60, evaluator="tool_calls") + run([True] * 60)),
        conditions=crowded,
        timed=("tool_calls",),
    )
    verdict = gate_at_least(Summary.read(summary.summary()), 0.9, evaluator="tool_calls")
    assert verdict.outcome == "unclear"
    assert verdict.sentence().startswith(
        "Gate unclear: the machine was overloaded. Taken at face value, the measured times would pass it: tool_calls, "
    )
    assert verdict.summary()["outcome_without_disturbance"] == "passed"
    assert gate_at_least(summary, 0.9, evaluator="exact").outcome == "passed"


def test_missing_scores_pass_no_gate() -> None:
    """All that was judged passed, but a third could not be."""
    verdict = gate_at_least(summarize(run([True] * 100 + ["answer_failed"] * 50)), 0.9)
    assert verdict.outcome == "unclear"
    assert "50 attempts without a score could reverse it" in verdict.sentence()


def test_a_gate_on_several_evaluators_wants_the_name_of_one() -> None:
    summary = summarize(run([True] * 8) + run([True] * 8, evaluator="contains"))
    with pytest.raises(ValueError, match="exact, contains"):
        gate_at_least(summary, 0.5)
    assert gate_at_least(summary, 0.5, evaluator="contains").evaluator == "contains"
