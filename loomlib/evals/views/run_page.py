"""A run as static HTML: the sentences, the table, then the cases, those that deserve a look first.

A page holds as much as a reader can use: the worst cases open to everything that is known of them, some hundred more
are lines in folded pages, and the rest is counted. The DataFrames have all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from loomlib.presentation.formats import number

from ..compare.page import escape, folded, page, table
from ..compare.summaries import COLUMNS
from ..compare.words import score_text
from ..values.answers import CaseFailure
from ..values.case_states import CASE_STATES, NOT_APPLICABLE, PASSED, SCORED, deciding, state_of, states_of_outcomes
from ..values.evaluator import NotApplicable
from .case_body import Said, case_body, line, verdict_word

if TYPE_CHECKING:
    from ..runs.eval_run import EvalRun
    from ..values.cases import EvalCase
    from ..values.judgement import Judgement

MOST_OPEN: Final = 40
"""Cases that open to their answer, rationale and path."""
PAGE_ROWS: Final = 100
MOST_PAGES: Final = 10
MARKS: Final[Mapping[str, str]] = {
    "failed": "✗", "not answered": "∅", "not judged": "?", "scored": "•", "passed": "✓", "not applicable": "–",
}  # fmt: skip
LINE_COLUMNS: Final = ("case", "state", "repeat", "asked", "tags")


def run_html(run: EvalRun, *, most_open: int = MOST_OPEN) -> str:
    """The whole page of a run; every foreign text in it is escaped."""
    summary = run.summary()
    how = f"Not all of it: {run.reason or run.state}."
    return page(
        title_of(run),
        [*([how] if run.state != "complete" else []), *summary.sentences()],
        table(COLUMNS, summary.rows()),
        cases_html(run, most_open=most_open),
    )


def title_of(run: EvalRun) -> str:
    """Who was asked what, with the labels that stay beside every number."""
    return " · ".join(filter(None, (run.target.name, *run.labels, f"evaluation {run.id}", run.name, run.state)))


def cases_html(run: EvalRun, *, most_open: int = MOST_OPEN) -> str:
    """The cases, worst first."""
    cases = run.evalset.cases
    places = {case.id: place for place, case in enumerate(cases)}
    states = states_of_outcomes(run.outcomes())
    if not states:
        return '<p class="loom-quiet">No case is judged yet.</p>'
    ranks = {state: rank for rank, state in enumerate(CASE_STATES)}
    order = sorted(states, key=lambda at: (ranks[states[at]], places[at[0]], at[1]))
    fine = {PASSED, NOT_APPLICABLE, SCORED}
    opened = run.judgements_at([(places[id], repeat) for id, repeat in order[:most_open]])
    counted = Counter(states.values())
    told = " · ".join(f"{number(counted[state], 0)} {state}" for state in CASE_STATES if counted[state])
    trouble = [each for each in opened if state_of(each) not in fine]
    others = [each for each in opened if state_of(each) in fine]
    several = run.repeats > 1
    rest = order[most_open:]
    return "".join(
        [
            f"<h4>Cases: {escape(told)}</h4>",
            *(_fold(cases[each.position], each, several=several) for each in trouble),
            folded(
                f"{_places(len(trouble), len(opened))} of {number(len(states), 0)}, nothing wrong",
                "".join(_fold(cases[each.position], each, several=several) for each in others),
            ),
            *_pages(
                rest, states, [cases[places[id]] for id, _ in rest[: PAGE_ROWS * MOST_PAGES]], most_open, len(states)
            ),
        ]
    )


def _fold(case: EvalCase, judgement: Judgement, *, several: bool) -> str:
    state = state_of(judgement)
    repeat = f" · repeat {judgement.repeat + 1}" if several else ""
    chips = "".join(f'<span class="loom-chip">{escape(chip(*each))}</span>' for each in judgement.verdicts.items())
    head = (
        f'<span class="loom-state loom-{state.replace(" ", "-")}">{MARKS[state]} {state}</span> '
        f"<strong>{escape(line(case.id, 60))}</strong>{repeat} "
        f'<span class="loom-quiet">{escape(line(case.prompt))}</span> {chips}'
    )
    return f'<details class="loom-case"><summary>{head}</summary>{case_body(case, judgement)}</details>'


def chip(name: str, said: Said) -> str:
    """An evaluator's word on a case, as short as it can be: `trajectory ✗ 0`."""
    if isinstance(said, CaseFailure):
        return f"{name} ?"
    if isinstance(said, NotApplicable):
        return f"{name} –"
    if not said:
        return f"{name} ?"
    scores = deciding(said)
    words = [verdict_word(each) for each in scores]
    value = sum(each.value for each in scores) / len(scores)
    word = "failed" if "failed" in words else words[0]
    return f"{name} {MARKS[word]} {score_text(value)}"


def _pages(
    rest: Sequence[tuple[str, int]],
    states: Mapping[tuple[str, int], str],
    cases: Sequence[EvalCase],
    before: int,
    count: int,
) -> list[str]:
    shown = rest[: PAGE_ROWS * MOST_PAGES]
    found: list[str] = []
    for start in range(0, len(shown), PAGE_ROWS):
        rows = [
            (line(id, 60), states[id, repeat], str(repeat + 1), line(case.prompt), ", ".join(case.tags))
            for (id, repeat), case in zip(
                shown[start : start + PAGE_ROWS], cases[start : start + PAGE_ROWS], strict=True
            )
        ]
        label = f"{_places(before + start, before + start + len(rows))} of {number(count, 0)}"
        found.append(folded(label, table(LINE_COLUMNS, rows)))
    if more := len(rest) - len(shown):
        found.append(f'<p class="loom-quiet">… {number(more, 0)} more; all of them are in .rows() and .scores()</p>')
    return found


def _places(before: int, last: int) -> str:
    if last <= before:
        return ""
    return f"Cases {number(before + 1, 0)} to {number(last, 0)}" if last - before > 1 else f"Case {number(last, 0)}"
