"""A run as static HTML: the verdict and the summary, then the cases, failing ones first.

The worst cases can be expanded, the next thousand are rows in folded tables, and the rest are counted; the DataFrames
have all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from loomlib.presentation.formats import join, number, plural, score
from loomlib.presentation.html import fragment
from loomlib.presentation.text import printable

from ..compare.page import folded, heading, joined, page, quiet, table
from ..compare.summaries import COLUMNS
from ..values.answers import CaseFailure
from ..values.case_states import (
    CASE_STATES,
    NOT_APPLICABLE,
    PASSED,
    SCORED,
    deciding,
    state_of,
    states_of_outcomes,
    worst,
)
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable
from ..values.judgement import Judgement
from .case_body import CaseVerdict, case_body, line, verdict_word

if TYPE_CHECKING:
    from markupsafe import Markup

    from ..runs.eval_run import EvalRun

MOST_OPEN: Final = 40
"""Number of cases that can be expanded to their answers, rationales and alignments."""
PAGE_ROWS: Final = 100
MOST_PAGES: Final = 10
MARKS: Final[Mapping[str, str]] = {
    "failed": "✗", "not answered": "∅", "not judged": "?", "scored": "•", "passed": "✓", "not applicable": "–",
}  # fmt: skip
LINE_COLUMNS: Final = ("case", "state", "repeat", "prompt", "tags")
_NAMED_CASES: Final = 5


def run_html(run: EvalRun, *, most_open: int = MOST_OPEN) -> str:
    """Render the page of a run.

    Args:
        run: The run.
        most_open: Maximum number of cases that can be expanded.
    """
    summary = run.summary()
    return page(
        title_of(run),
        [*verdict_sentences(run), *summary.sentences()],
        table(COLUMNS, summary.rows()),
        cases_html(run, most_open=most_open),
    )


def title_of(run: EvalRun) -> str:
    """Return the title: the target, the provenance labels, and the run's id, name and state."""
    return " · ".join(filter(None, (run.target.name, *run.labels, f"evaluation {run.id}", run.name, run.state)))


def verdict_sentences(run: EvalRun) -> list[str]:
    """Summarize a run: whether it is complete, how many cases passed, and which failed.

    A case without a failure counts as passed when an evaluator with a threshold judged it, else as scored.
    """
    by_case: dict[str, list[str]] = {}
    outcomes = run.outcomes()
    for (case_id, _), state in states_of_outcomes(outcomes).items():
        by_case.setdefault(case_id, []).append(state)
    worst_of = {case_id: worst(states) for case_id, states in by_case.items()}
    summary = run.summary()
    disturbed = summary.conditions.sentence() if summary.timed else ""
    sentences = [disturbed] if disturbed else []
    if run.state != "complete":
        sentences.append(f"The run is incomplete: {run.reason or run.state}.")
    judged = [case_id for case_id, state in worst_of.items() if state != NOT_APPLICABLE]
    if not judged:
        return sentences
    parts: list[str] = []
    for state in CASE_STATES[:3]:
        cases = [case.id for case in run.evalset.cases if worst_of.get(case.id) == state]
        if cases:
            parts.append(f"{number(len(cases), 0)} {state} ({join([line(id, 40) for id in cases], most=_NAMED_CASES)})")
    with_threshold = {outcome.case_id for outcome in outcomes if outcome.passed is not None}
    fine = [case_id for case_id, state in worst_of.items() if state in (PASSED, SCORED)]
    passed = sum(case_id in with_threshold for case_id in fine)
    scored, total = len(fine) - passed, plural(len(judged), "case")
    if scored == len(judged):
        return [
            *sentences,
            f"{total} scored; no evaluator with a threshold judged {'it' if len(judged) == 1 else 'them'}.",
        ]
    parts = [f"{number(passed, 0)} of {total} passed", *parts]
    if scored:
        parts.append(f"{number(scored, 0)} scored without a threshold")
    return [*sentences, f"{'No case failed: ' if passed + scored == len(judged) else ''}{'; '.join(parts)}."]


def cases_html(run: EvalRun, *, most_open: int = MOST_OPEN) -> Markup:
    """Render the cases, failing ones first.

    Args:
        run: The run.
        most_open: Maximum number of cases that can be expanded.
    """
    cases = run.evalset.cases
    positions = {case.id: position for position, case in enumerate(cases)}
    states = states_of_outcomes(run.outcomes())
    if not states:
        return quiet("No case has been judged yet.")
    ranks = {state: rank for rank, state in enumerate(CASE_STATES)}
    order = sorted(states, key=lambda key: (ranks[states[key]], positions[key[0]], key[1]))
    fine = {PASSED, NOT_APPLICABLE, SCORED}
    opened = run.judgements_at([(positions[id], repeat) for id, repeat in order[:most_open]])
    counts = Counter(states.values())
    failing = [judgement for judgement in opened if state_of(judgement) not in fine]
    others = [judgement for judgement in opened if state_of(judgement) in fine]
    counted = " · ".join(f"{number(counts[state], 0)} {state}" for state in CASE_STATES if counts[state])
    several = run.repeats > 1
    rest = order[most_open:]
    return joined(
        [
            heading(f"Cases: {counted}"),
            *(_fold(cases[judgement.position], judgement, several=several) for judgement in failing),
            folded(
                f"{_range(len(failing), len(opened))} of {number(len(states), 0)} without a failure",
                joined([_fold(cases[judgement.position], judgement, several=several) for judgement in others]),
            ),
            *_pages(
                rest, states, [cases[positions[id]] for id, _ in rest[: PAGE_ROWS * MOST_PAGES]], most_open, len(states)
            ),
        ]
    )


def _fold(case: EvalCase, judgement: Judgement, *, several: bool) -> Markup:
    state = state_of(judgement)
    return fragment(
        "loomlib.evals:case.html.j2", css=state.replace(" ", "-"), mark=MARKS[state], state=state,
        name=printable(line(case.id, 60)), after=f" · repeat {judgement.repeat + 1}" if several else "",
        prompt=printable(line(case.prompt)), body=case_body(case, judgement),
        chips=[printable(chip(name, verdict)) for name, verdict in judgement.verdicts.items()],
    )  # fmt: skip


def chip(name: str, verdict: CaseVerdict) -> str:
    """Return an evaluator's verdict on a case in short, such as `trajectory ✗ 0`.

    Args:
        name: The evaluator.
        verdict: Its scores, or why there are none.
    """
    if isinstance(verdict, CaseFailure):
        return f"{name} ?"
    if isinstance(verdict, NotApplicable):
        return f"{name} –"
    if not verdict:
        return f"{name} ?"
    scores = deciding(verdict)
    verdicts = [verdict_word(one) for one in scores]
    value = sum(one.value for one in scores) / len(scores)
    decisive = "failed" if "failed" in verdicts else verdicts[0]
    return f"{name} {MARKS[decisive]} {score(value)}"


def _pages(
    rest: Sequence[tuple[str, int]],
    states: Mapping[tuple[str, int], str],
    cases: Sequence[EvalCase],
    before: int,
    count: int,
) -> list[Markup | str]:
    visible_rows = rest[: PAGE_ROWS * MOST_PAGES]
    pages: list[Markup | str] = []
    for start in range(0, len(visible_rows), PAGE_ROWS):
        rows = [
            (line(id, 60), states[id, repeat], str(repeat + 1), line(case.prompt), ", ".join(case.tags))
            for (id, repeat), case in zip(
                visible_rows[start : start + PAGE_ROWS], cases[start : start + PAGE_ROWS], strict=True
            )
        ]
        label = f"{_range(before + start, before + start + len(rows))} of {number(count, 0)}"
        pages.append(folded(label, table(LINE_COLUMNS, rows)))
    if more := len(rest) - len(visible_rows):
        pages.append(quiet(f"… {number(more, 0)} more; all of them are in .rows() and .scores()"))
    return pages


def _range(before: int, last: int) -> str:
    if last <= before:
        return ""
    return f"Cases {number(before + 1, 0)} to {number(last, 0)}" if last - before > 1 else f"Case {number(last, 0)}"
