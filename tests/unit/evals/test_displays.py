"""What a reader sees of runs, comparisons and sets: the sentence first, everything escaped, long things folded."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eval_runs import Says, case_of, sums
from shown_runs import bad, good, run_of, sums_with_tools

from loomlib.errors import EvalError
from loomlib.evals import EvalCase, EvalSet, NotApplicable, Score, Turn
from loomlib.evals.exports.case_text import headline
from loomlib.evals.runs import EvalRun, Silent, evaluate
from loomlib.evals.runs.case_results import case_results
from loomlib.evals.values.case_states import state_of, states_of_outcomes
from loomlib.evals.views import draw_comparison, draw_run, draw_runs
from loomlib.evals.views.run_page import verdict_sentences
from loomlib.reports import two_runs
from loomlib.store import Store
from loomlib.workbench.bench_evals import BenchEvals

TAGS = {
    "style", "div", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "dl", "dt", "dd", "span",
    "strong", "code", "caption", "ul", "li", "h4", "h5",
}  # fmt: skip


class Elements(HTMLParser):
    """The elements of a page, with their attributes; tables within tables."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open_tables = self.nested = 0
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "table":
            self.open_tables += 1
            self.nested = max(self.nested, self.open_tables)

    def handle_endtag(self, tag: str) -> None:
        self.open_tables -= tag == "table"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvalRun, EvalRun]:
    place, evalset = tmp_path_factory.mktemp("shown"), sums_with_tools(8)
    return run_of(good, evalset, place), run_of(bad, evalset, place)


def test_a_page_has_only_inert_elements_and_no_handler_whatever_an_agent_says(runs: tuple[EvalRun, EvalRun]) -> None:
    before, run = runs
    for page in (run._repr_html_(), run.compare(before)._repr_html_(), run.evalset._repr_html_()):
        elements = Elements(page)
        assert elements.names <= TAGS
        assert elements.attributes <= {"class", "style", "scope", "open"}
        assert elements.nested <= 1, "no table within a table"
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
        page.encode("utf-8")


def test_the_sentence_comes_before_the_table_and_the_worst_cases_before_the_good_ones(
    runs: tuple[EvalRun, EvalRun],
) -> None:
    page = runs[1]._repr_html_()
    order = ["loom-answer", "<table>", "3 failed · 1 not answered · 4 passed · 1 not applicable", ">sum 1<", ">sum 3<"]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert page.index(">sum 3<") < page.index("without a failure") < page.index(">sum 5<")


def test_a_failed_case_opens_to_its_rationale_and_to_where_the_paths_part(runs: tuple[EvalRun, EvalRun]) -> None:
    page = runs[1]._repr_html_()
    case = page[page.index(">sum 1<") : page.index(">sum 2<")]
    assert "The paths differ from step 1: expected add(a=1, b=1), got the end" in case
    assert "trajectory: expected and actual calls" in case
    assert "- missing" in case


def test_each_flip_opens_to_both_answers(runs: tuple[EvalRun, EvalRun]) -> None:
    before, run = runs
    page = run.compare(before)._repr_html_()
    flip = page[page.index(">sum 2<") :]
    assert flip.index("<h5>good</h5>") < flip.index("<h5>bad</h5>")
    assert "&lt;script&gt;document.title" in flip


def test_a_changed_case_opens_to_the_repeats_that_explain_it(tmp_path: Path) -> None:
    evaluators = [Says("says", lambda _, answer: Score(value=0.5, passed=answer.repeat != 1 or answer.text != "odd"))]
    evalset = EvalSet(name="one", cases=(case_of(1),))
    steady, odd = (
        evaluate(lambda _, text=text: text, evalset, evaluators, 3, store=str(tmp_path / "loom.db"), progress=Silent(),
                 name=text)
        for text in ("steady", "odd")
    )  # fmt: skip
    for new, baseline in ((odd, steady), (steady, odd)):
        page = new.compare(baseline)._repr_html_()
        assert "<h5>odd, repeat 2 of 3</h5>" in page
        assert "<h5>steady, repeat 1 of 3</h5>" in page
        assert "failed" in page


def test_ten_thousand_cases_are_a_page_that_a_browser_can_hold(tmp_path: Path) -> None:
    evalset = EvalSet(
        name="many",
        cases=tuple(
            EvalCase(id=f"case {n}", turns=(Turn(prompt=str(n), expected_answer=str(n)),)) for n in range(10_000)
        ),
    )
    run = run_of(lambda prompt: prompt if int(prompt) % 3 else "?", evalset, tmp_path)
    page = run._repr_html_()
    assert len(page) < 400_000
    assert page.count('class="loom-case"') == 40
    assert "… 8 960 more; all of them are in .rows() and .scores()" in page.replace("\u202f", " ")
    assert len(evalset._repr_html_()) < 400_000
    assert repr(evalset) == "<EvalSet 'many', version 1: 10000 cases>"


def test_text_representations_are_stable_and_have_no_control_character(runs: tuple[EvalRun, EvalRun]) -> None:
    before, run = runs
    assert re.fullmatch(r"<EvalRun eval-[\w-]+: bad on sums, complete>", repr(run))
    for text in (str(run), str(run.compare(before)), str(run.evalset)):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)


def test_states_read_from_outcomes_are_those_of_the_cases_themselves(runs: tuple[EvalRun, EvalRun]) -> None:
    run = runs[1]
    assert states_of_outcomes(run.outcomes()) == {
        (judgement.case_id, judgement.repeat): state_of(judgement) for judgement in run.judgements()
    }
    assert [result.state for result in case_results(run)][:4] == ["passed", "failed", "failed", "not answered"]
    assert run["sum 3"][0].answer.failure is not None
    with pytest.raises(EvalError, match=r"no such case.*a case of its set: sum 0"):
        run["no such case"]


def test_parts_behind_a_whole_decide_neither_a_cases_state_nor_its_number(tmp_path: Path) -> None:
    part = Score(value=0.0, passed=False, part="turn 1", rationale="the part's")
    evaluators = [
        Says("kind", [Score(value=1.0, passed=True), part], digest="kind"),
        Says("strict", lambda case, _: Score(value=float(case.id == "sum 0"), passed=case.id == "sum 0"), digest="s"),
    ]
    evalset = EvalSet(name="two", cases=(case_of(0), case_of(1)))
    run = evaluate(lambda prompt: prompt, evalset, evaluators, store=str(tmp_path / "loom.db"), progress=Silent())
    states = {("sum 0", 0): "passed", ("sum 1", 0): "failed"}
    assert states_of_outcomes(run.outcomes()) == states
    assert {(judgement.case_id, judgement.repeat): state_of(judgement) for judgement in run.judgements()} == states
    assert "kind ✓ 1" in run._repr_html_()
    assert headline(list(case_results(run))[1]) == "strict failed"


@pytest.mark.parametrize(
    ("rated", "sentence"),
    [
        (("sum 0", "sum 1"), "2 cases scored; no evaluator with a threshold judged them."),
        (("sum 0",), "No case failed: 1 of 2 cases passed; 1 scored without a threshold."),
        ((), "No case failed: 2 of 2 cases passed."),
    ],
)
def test_a_score_without_a_threshold_is_no_pass(tmp_path: Path, rated: tuple[str, ...], sentence: str) -> None:
    def strict(case: EvalCase, _: object) -> object:
        return NotApplicable("rated only") if case.id in rated else True

    evaluators = [Says("rating", 3.0, digest="rating"), Says("strict", strict, digest="strict")]
    run = evaluate(lambda _: "?", sums(2), evaluators, store=str(tmp_path / "loom.db"), progress=Silent())
    assert verdict_sentences(run) == [sentence]


def test_charts_have_their_marks_and_nobodys_markup(runs: tuple[EvalRun, EvalRun]) -> None:
    before, run = runs
    comparison = run.compare(before)
    charts = {**draw_run(run, before), **draw_comparison(comparison)}
    charts["runs"] = draw_runs({"<b>new</b>": run, "baseline": before}, "trajectory")
    assert set(charts) == {"quality", "taken", "differences", "flips", "runs"}
    drawn = {name: chart.to_plotly_json()["data"] for name, chart in charts.items()}
    assert charts["differences"].layout.xaxis.tickformat == "+.0%"
    assert [trace["name"] for trace in drawn["quality"]] == ["this run", "baseline"]
    assert sum(len(trace["x"]) for trace in drawn["taken"]) == 8, "every answer that came"
    assert list(drawn["flips"][0]["x"]) == [-1, -2]
    assert "<b>" not in str(drawn["runs"])


def test_charts_show_values_on_any_scale_and_one_row_for_each_evaluator(tmp_path: Path) -> None:
    long = "contains(texts=['the first long text of the answer to that', '{}'])"
    names = [*map(long.format, "bx"), f"{'y' * 60}1{'z' * 60}", f"{'y' * 60}2{'z' * 60}", "short"]
    verdicts = [0.0, 1.0, 0.0, 1.0, lambda case, answer: len(answer.text) * (float(case.id[4:]) % 4)]
    evaluators = [Says(name, verdict, digest=name) for name, verdict in zip(names, verdicts, strict=True)]
    runs = [
        evaluate(lambda _, text=text: text, sums(20), evaluators, store=str(tmp_path / "loom.db"), progress=Silent())
        for text in ("old", "newer")
    ]
    quality, differences = draw_run(runs[1])["quality"], draw_comparison(runs[1].compare(runs[0]))["differences"]
    for chart in (quality, differences):
        assert len(set(chart.data[0].y)) == len(names)
        assert sum(label.endswith((" 'b'])", " 'x'])", "short")) for label in chart.data[0].y) == 3
    assert (quality.layout.xaxis.range, max(quality.data[0].x)) == (None, 7.5)
    assert differences.layout.xaxis.tickformat == "+.2~f"
    assert draw_runs({"new": runs[1]}, "short").layout.yaxis.range is None
    assert draw_runs({"new": runs[1]}, names[1]).layout.yaxis.range == (-0.04, 1.12)


def test_a_run_without_a_number_still_has_a_page_and_charts(tmp_path: Path) -> None:
    def nothing(prompt: str) -> str:
        raise RuntimeError("down")

    run = run_of(nothing, sums_with_tools(2), tmp_path)
    assert "3 not answered" in run._repr_html_()
    assert draw_run(run)["taken"].layout.annotations[0].text == "Cost, tokens and duration of the cases are unknown."


def test_an_answer_of_5_mb_is_cut_on_the_page_which_states_where_all_of_it_is(tmp_path: Path) -> None:
    evalset = EvalSet(name="long", cases=(case_of(1, "word"),))
    run = run_of(lambda _prompt: "word " * 1_000_000, evalset, tmp_path)
    page = run._repr_html_()
    assert len(page) < 100_000
    where = "run[&#39;sum 1&#39;][0].answer.turns[0].text"
    assert f"more characters; all of them are in {where})" in page
    assert len(run["sum 1"][0].answer.turns[0].text) == 5_000_000


def bench_of(store: Store) -> Any:
    """The part of a workbench that reads stored runs."""
    context = SimpleNamespace(store=store)
    return SimpleNamespace(context=context, evals=BenchEvals(cast("Any", context)))


def test_the_default_baseline_of_a_run_is_the_complete_run_of_its_set_before_it(tmp_path: Path) -> None:
    evalset = sums_with_tools(1)
    first, second, third = (run_of(good, evalset, tmp_path) for _ in range(3))
    with first.store.open() as store:
        bench = bench_of(store)
        assert [run.id for run in two_runs(bench, "", "")] == [third.id, second.id]
        assert [run.id for run in two_runs(bench, second.id, "")] == [second.id, first.id]
        assert [run.id for run in two_runs(bench, first.id, third.id)] == [first.id, third.id]
        with pytest.raises(EvalError, match=f"No earlier complete run of the same set.*{first.id}"):
            two_runs(bench, first.id, "")
        store.eval_runs.save(second.id, state="stopped")
        assert [run.id for run in two_runs(bench, third.id, "")] == [third.id, first.id]
        assert [run.id for run in two_runs(bench, second.id, "")] == [second.id, first.id]


def test_all_stored_runs_are_listed_unless_a_limit_is_named(tmp_path: Path) -> None:
    run = run_of(good, sums_with_tools(1), tmp_path)
    with run.store.open() as store:
        (row,) = store.eval_runs.list()
        cases = store.eval_runs.get_set(row.set_digest)
        assert cases is not None
        for number in range(100):
            store.eval_runs.create(replace(row, id=f"run {number}"), cases)
        runs = bench_of(store).evals.runs
        assert len(runs()) == 101
        assert len(runs(limit=2)) == 2
