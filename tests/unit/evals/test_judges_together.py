"""Several verdicts: pairs in both orders, orders, panels, repeats, and people's labels."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from eval_runs import Says
from fake_judge import FakeJudge
from waiting import PATIENCE_S

from loomlib.evals import CaseAnswer, CaseFailure, EvalCase, Rubric, Score, Turn, TurnAnswer
from loomlib.evals.judges import (
    CorrectnessJudge,
    JudgeFailedError,
    JudgePanel,
    PairwiseJudge,
    RankingJudge,
    RubricJudge,
    calibrate,
    judge_variance,
    panel_agreement,
    summarize_pairs,
)
from loomlib.evals.judges.scales import BINARY, Scale
from loomlib.statistics import cohen_kappa, estimate_alpha, estimate_kappa, krippendorff_alpha

CASE = EvalCase(id="c", turns=(Turn(prompt="p", expected_answer="4"),), rubrics=(Rubric(text="r"),))


def answer(text: str) -> CaseAnswer:
    return CaseAnswer(turns=(TurnAnswer(text=text, tools=()),))


def longest(question, parts, sample):
    a, b = len(parts["answer A"]), len(parts["answer B"])
    return {"rationale": "length", "winner": "A" if a > b else "B" if b > a else "tie"}


async def test_a_pair_is_asked_in_both_orders_and_agreement_decides():
    verdict = await PairwiseJudge(model=FakeJudge(longest)).compare(CASE, "short", "much longer")
    assert (verdict.winner, verdict.votes, verdict.is_consistent, verdict.favoured) == (
        "second", ("second", "second"), True, None,
    )  # fmt: skip
    assert (verdict.tokens, verdict.cost) == (24, 0.002)


async def test_position_bias_decides_nothing_and_is_reported():
    judge = PairwiseJudge(model=FakeJudge(lambda *_: {"rationale": "", "winner": "A"}))
    verdicts = [await judge.compare(CASE, "x", "y") for _ in range(5)]
    fair = await PairwiseJudge(model=FakeJudge(longest)).compare(CASE, "xx", "y")
    summary = summarize_pairs([*verdicts, fair])
    assert {verdict.winner for verdict in verdicts} == {"tie"}
    assert summary.wins == {"first": 1, "second": 0, "tie": 5}
    assert summary.position_bias.value == pytest.approx(5 / 6)
    assert summary.favoured == {"shown first": 5, "shown second": 0}
    assert summary.second_better == pytest.approx(2.5 / 6)
    assert "order decided 83.3 % of the comparisons" in summary.sentence()


async def test_an_order_is_asked_forwards_and_backwards():
    def by_length(question, parts, sample):
        lengths = {name.split()[-1]: len(text) for name, text in parts.items() if name.startswith("answer ")}
        return {"rationale": "", "ranking": sorted(lengths, key=lambda name: -lengths[name])}

    ranking = await RankingJudge(model=FakeJudge(by_length)).rank(CASE, ["aa", "aaaa", "a"])
    assert (ranking.order, ranking.ranks, ranking.consistency) == ((1, 0, 2), (2.0, 1.0, 3.0), 1.0)

    as_shown = FakeJudge(
        lambda q, *_: {"rationale": "", "ranking": list(q.form.properties["ranking"]["items"]["enum"])}
    )
    biased = await RankingJudge(model=as_shown).rank(CASE, ["aa", "aaaa", "a"])
    assert (set(biased.ranks), biased.consistency) == ({2.0}, -1.0)


async def test_answers_to_a_follow_up_are_ordered_beside_all_prompts():
    model = FakeJudge(lambda *_: {"rationale": "", "ranking": ["1", "2"]})
    case = EvalCase(id="two", turns=(Turn(prompt="Weather in Paris?"), Turn(prompt="And in Oslo?")))
    await RankingJudge(model=model).rank(case, ["Rain.", "Sun."])
    assert dict(model.asked[0].parts)["prompt"] == "Weather in Paris?\nAnd in Oslo?"


async def test_an_order_that_leaves_an_answer_out_is_no_verdict():
    model = FakeJudge(lambda *_: {"rationale": "", "ranking": ["1", "1", "2"]})
    with pytest.raises(JudgeFailedError):
        await RankingJudge(model=model).rank(CASE, ["a", "b", "c"])


def saying(label: str, key: str):
    return FakeJudge(lambda *_: {"rationale": key, "verdict": label}, key=key)


def broken(question, parts, sample):
    raise JudgeFailedError("gone", kind="timeout")


async def test_a_panel_votes_and_keeps_every_vote():
    judges = [
        RubricJudge(model=saying(v, v), scale=BINARY, name=n) for n, v in (("a", "yes"), ("b", "yes"), ("c", "no"))
    ]
    (score,) = await JudgePanel(judges=tuple(judges)).judge(CASE, answer("x"))
    assert (score.value, score.passed) == (pytest.approx(2 / 3), True)
    assert [(v["judge"], v["passed"]) for v in score.details["votes"]] == [("a", True), ("b", True), ("c", False)]
    assert (score.tokens, score.details["unanimous"], score.labels) == (36, False, ("fake judge",))
    (mean,) = await JudgePanel(judges=tuple(judges), rule="mean", threshold=0.7).judge(CASE, answer("x"))
    assert mean.passed is False


async def test_a_failing_member_is_a_vote_missing_and_no_zero():
    good, bad = RubricJudge(model=saying("yes", "y"), scale=BINARY), RubricJudge(model=FakeJudge(broken), scale=BINARY)
    (score,) = await JudgePanel(judges=(good, good, bad)).judge(CASE, answer("x"))
    assert (score.value, score.details["missing"][0]["kind"]) == (1.0, "timeout")
    with pytest.raises(JudgeFailedError) as failed:
        await JudgePanel(judges=(good, bad, bad)).judge(CASE, answer("x"))
    assert failed.value.kind == "no_quorum"


async def test_parts_of_the_same_name_each_have_their_votes():
    model = FakeJudge(lambda q, parts, _: {"rationale": "", "verdict": "yes" if "polite" in parts["rubric"] else "no"})
    judge = RubricJudge(model=model, scale=BINARY)
    case = EvalCase(
        id="c", turns=CASE.turns, rubrics=tuple(Rubric(text=text, id="tone") for text in ("short", "polite"))
    )
    scores = await JudgePanel(judges=(judge, judge, judge)).judge(case, answer("x"))
    assert [(score.part, score.passed, len(score.details["votes"])) for score in scores] == [
        ("tone", False, 3),
        ("tone (2)", True, 3),
    ]


def returning(verdict: Any) -> Says:
    return Says("own", lambda *_: verdict, is_quick=False)


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (CaseFailure(stage="judge", kind="malformed", message="no verdict"), "malformed"),
        (float("nan"), "exception"),
        (None, "exception"),
        ("yes", "exception"),
    ],
)
async def test_what_a_member_returns_instead_of_a_verdict_is_a_vote_missing(verdict: Any, kind: str):
    (score,) = await JudgePanel(judges=(returning(True), returning(True), returning(verdict))).judge(CASE, answer("x"))
    assert (score.value, [missing["kind"] for missing in score.details["missing"]]) == (1.0, [kind])


async def test_a_part_is_not_replaced_by_one_that_has_its_name_with_a_number():
    values = {"a": (1.0, 0.0), "a (2)": (1.0,)}
    parts = [Score(value=value, passed=value > 0, part=part) for part, several in values.items() for value in several]
    scores = await JudgePanel(judges=(returning(parts),)).judge(CASE, answer("x"))
    assert [(score.part, score.passed) for score in scores] == [("a", True), ("a (2)", False), ("a (2) (2)", True)]


async def test_a_members_vote_on_the_whole_case_is_independent_of_its_parts():
    member = returning([Score(value=1.0), Score(value=1.0), Score(value=0.0, part="tone")])
    whole, tone = await JudgePanel(judges=(member,)).judge(CASE, answer("x"))
    assert (whole.passed, tone.passed) == (True, False)


async def test_a_members_scores_of_the_whole_case_are_one_vote():
    member = returning([Score(value=0.0, passed=False, tokens=3), Score(value=1.0, passed=True, tokens=4)])
    (score,) = await JudgePanel(judges=(member,)).judge(CASE, answer("x"))
    assert (score.passed, score.tokens, score.details["votes"][0]["value"]) == (False, 7, 0.5)


async def test_plain_members_of_a_panel_run_at_once_outside_of_the_loops_thread():
    both_run, threads = threading.Barrier(2, timeout=PATIENCE_S), []

    def passes(case: EvalCase, answer: CaseAnswer) -> bool:
        threads.append(threading.current_thread())
        both_run.wait()
        return True

    members = tuple(Says(name, passes, is_quick=False) for name in "ab")
    (score,) = await JudgePanel(judges=members).judge(CASE, answer("x"))
    assert score.value == 1.0
    assert threading.current_thread() not in threads


def unclear(question, parts, sample):
    raise JudgeFailedError("no tool call", kind="malformed", tokens=100, cost=0.25)


async def test_replies_without_a_verdict_are_part_of_a_panels_cost():
    good, bad = RubricJudge(model=saying("yes", "y"), scale=BINARY), RubricJudge(model=FakeJudge(unclear), scale=BINARY)
    (score,) = await JudgePanel(judges=(good, good, bad)).judge(CASE, answer("x"))
    assert (score.tokens, score.cost) == (24 + 100, pytest.approx(0.252))
    for judges, tokens in (((good, bad, bad), 212), ((bad, bad), 200)):
        with pytest.raises(JudgeFailedError) as failed:
            await JudgePanel(judges=judges).judge(CASE, answer("x"))
        assert failed.value.tokens == tokens


async def test_a_failed_part_waits_for_the_others_and_counts_their_cost():
    def half(question, parts, sample):
        return unclear(question, parts, sample) if parts["rubric"] == "a" else {"rationale": "", "verdict": "yes"}

    model = FakeJudge(half)
    case = EvalCase(id="c", turns=CASE.turns, rubrics=tuple(Rubric(text=text) for text in "abc"))
    with pytest.raises(JudgeFailedError) as failed:
        await RubricJudge(model=model, scale=BINARY).judge(case, answer("x"))
    assert (len(model.asked), failed.value.tokens, failed.value.kind) == (3, 100 + 24, "malformed")


async def test_a_panels_agreement_is_reported_over_its_scores():
    judges = (CorrectnessJudge(model=FakeJudge(key="a")), CorrectnessJudge(model=FakeJudge(key="b")))
    scores = [s for n in range(8) for s in await JudgePanel(judges=judges).judge(CASE, answer("4" if n % 2 else "5"))]
    assert panel_agreement(scores).value == pytest.approx(1.0)


async def test_a_judges_own_chance_is_distinguished_from_differences_between_answers():
    def moody(question, parts, sample):
        good = parts["output"] == "4"
        return {"rationale": "", "verdict": "yes" if good or (parts["output"] == "?" and sample % 2) else "no"}

    cases = [(EvalCase(id=t, turns=CASE.turns, rubrics=CASE.rubrics), answer(t)) for t in ("4", "5", "?")]
    variance = await judge_variance(RubricJudge(model=FakeJudge(moody), scale=BINARY), cases, repeats=4)
    assert [v.flips for v in variance.verdicts] == [False, False, True]
    assert variance.flipping.value == pytest.approx(1 / 3)
    assert variance.table()[0]["case"] == "?"
    assert variance.within is not None
    assert 0 < variance.within < variance.between
    assert 0.5 < variance.reliability < 1


async def test_answers_to_one_case_are_separate_verdicts_of_a_judge():
    case = EvalCase(id="c", turns=CASE.turns, rubrics=(Rubric(text="r", id="tone"), Rubric(text="4", id="tone")))

    def steady(question, parts, sample):
        return {"rationale": "", "verdict": "yes" if parts["output"] == parts["rubric"] else "no"}

    judge = RubricJudge(model=FakeJudge(steady), scale=BINARY)
    variance = await judge_variance(judge, [(case, answer("4")), (case, answer("5"))] * 2, repeats=3)
    assert (variance.flipping.value, variance.within, variance.reliability) == (0.0, 0.0, 1.0)
    assert [verdict.values for verdict in variance.verdicts] == [(0.0,) * 3, (1.0,) * 3, (0.0,) * 3, (0.0,) * 3] * 2


async def test_a_verdict_without_a_second_one_is_not_known_to_be_steady():
    def once(question, parts, sample):
        return unclear(question, parts, sample) if sample else {"rationale": "", "verdict": "yes"}

    judge = RubricJudge(model=FakeJudge(once), scale=BINARY)
    variance = await judge_variance(judge, [(CASE, answer("4"))] * 4, repeats=2)
    assert (variance.flipping.value, variance.flipping.reason, variance.failed) == (None, "no verdict was repeated", 4)
    assert [verdict.failed for verdict in variance.verdicts] == [1, 1, 1, 1]


@pytest.mark.parametrize("count", [3, 6, 7])
async def test_equal_verdicts_have_no_variance_between_them(count: int):
    tenths = Scale(name="tenths", steps=(("a", 0.1, "low"), ("b", 1.0, "high")), bar=0.5)
    judge = RubricJudge(model=saying("a", "key"), scale=tenths)
    variance = await judge_variance(judge, [(CASE, answer("4"))] * count, repeats=3)
    assert (variance.between, variance.reliability) == (0.0, None)


def test_a_judge_is_calibrated_against_human_labels():
    human = {str(n): n % 2 == 0 for n in range(100)}
    judged = {key: passed or int(key) % 10 == 1 for key, passed in human.items()} | {"extra": 1.0}
    calibration = calibrate(judged, human)
    assert calibration.confusion == {(True, True): 50, (True, False): 0, (False, True): 10, (False, False): 40}
    assert (calibration.agreement.value, calibration.sensitivity.value, calibration.specificity.value) == (
        0.9,
        1.0,
        0.8,
    )
    assert calibration.kappa.value == pytest.approx(0.8)
    assert calibration.bias.value == pytest.approx(0.1)
    assert calibration.bias.low > 0
    assert (calibration.unlabelled, calibration.disagreements) == (1, tuple(str(n) for n in range(1, 100, 10)))
    assert "too lenient" in calibration.sentence()
    few = {key: human[key] for key in list(human)[:40]}
    assert "too lenient" not in calibrate(judged, few).sentence()  # four of four may be chance: McNemar's p is 0.06


@pytest.mark.parametrize("label", [None, float("nan"), "yes"])
def test_what_is_no_label_is_reported_with_its_case(label: Any):
    with pytest.raises(ValueError, match=r"a label must be a number or a bool, not .* \(case 'b'\)"):
        calibrate({"a": 1.0, "b": 0.0}, {"a": True, "b": label})


N = None
KRIPPENDORFF = [  # Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, example C and E
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_published_example(level, published):
    assert krippendorff_alpha(KRIPPENDORFF, level) == pytest.approx(published, abs=5e-4)
    estimate = estimate_alpha(KRIPPENDORFF, level)
    assert estimate.n == 11  # one unit has a single rating
    assert estimate.low <= estimate.value <= estimate.high


def test_alpha_is_that_of_krippendorffs_smaller_examples():
    binary = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert krippendorff_alpha(binary) == pytest.approx(0.095, abs=5e-4)
    letters = [["abcde".index(c) for c in text] for text in ("aabbdcccedda", "babbbccceddd")]
    assert krippendorff_alpha(letters) == pytest.approx(0.692, abs=5e-4)


def test_agreement_that_chance_cannot_be_distinguished_from_is_not_defined():
    assert krippendorff_alpha([[1, 1, 1], [1, 1, 1]]) is None
    assert krippendorff_alpha([[1, N], [N, 1]]) is None
    assert estimate_alpha([[1] * 9, [1] * 9]).value is None
    assert estimate_kappa(["y"] * 9, ["y"] * 9).value is None
    assert estimate_alpha([[1, 2], [1, 2]]).needed_n == 6
    with pytest.raises(ValueError, match="one value"):
        krippendorff_alpha([[1], [1, 2]])


def test_kappa_is_that_of_a_textbook_table():
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
