"""Lesson 3, is it any good: cases, a run, a lucky answer, a regression, and a gate that catches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..evals import EvalSet, Score
from ..evals.compare import Comparison, GateVerdict
from ..evals.runs import EvalRun, Judgement
from ..presentation.formats import exact, percent
from .exercise import Exercise, NotSolvedError, an, expect, quoted, several

if TYPE_CHECKING:
    from ..workbench import Workbench

_FEWEST_CASES: Final = 3
_ENOUGH_CASES: Final = 6


def _passed(judgement: Judgement, evaluator: str) -> bool | None:
    scores = judgement.verdicts.get(evaluator)
    first = scores[0] if isinstance(scores, tuple) and scores else None
    return first.passed if isinstance(first, Score) else None


def _cases(answer: object, bench: Workbench) -> str:
    evalset = an(answer, EvalSet, "an eval set, which is what loom.EvalSet.from_rows([…]) returns")
    expect(len(evalset) >= _FEWEST_CASES, f"it has {len(evalset)} cases; write at least {_FEWEST_CASES}.")
    without = [case.id for case in evalset if not case.expected_answer]
    expect(not without, f"case {', '.join(without[:3])}: no expected answer, so no answer can be scored.")
    toolless = [case.id for case in evalset if not case.expected_tools]
    expect(not toolless, f"case {', '.join(toolless[:3])}: no expected tool, so a lucky guess would pass.")
    expect(len({case.prompt for case in evalset}) == len(evalset), "two of the cases have the same prompt.")
    return f"{len(evalset)} cases, each with a prompt, an expected answer and expected tools."


def _ran(answer: object, bench: Workbench) -> str:
    run = an(answer, EvalRun, "a run, which is what agent.evaluate(…) returns")
    expect(run.target.name == "calculator", f"this run evaluated {run.target.name}, not the calculator.")
    missing = {"numeric", "trajectory"} - set(run.evaluators)
    expect(not missing, f"it was not scored by {' and '.join(sorted(missing))}.")
    expect(run.state == "complete", f"the run is {run.state}.")
    wrong = [judgement.case_id for judgement in run.judgements() if _passed(judgement, "numeric") is False]
    expect(
        not wrong,
        f"case {wrong[0] if wrong else ''} has a wrong answer or a wrong expectation. Look at run[that id][0].",
    )
    astray = [judgement.case_id for judgement in run.judgements() if _passed(judgement, "trajectory") is False]
    expect(
        not astray, f"case {astray[0] if astray else ''} did not call the expected tools. Is the tool named calculator?"
    )
    return f"{len(run.evalset)} of {len(run.evalset)} are right and called the tools that you expected."


def _lucky(answer: object, bench: Workbench) -> str:
    judgement = an(answer, Judgement, 'the result of one case: run["its id"][0]')
    expect(
        _passed(judgement, "numeric") is True, "the number in this answer is not right, so it is not right by chance."
    )
    expect(
        _passed(judgement, "trajectory") is False, "this one called the expected tools: it is right, and not by chance."
    )
    return (
        f"{quoted(judgement.answer.text)} is right, and the calculator was not called. It may be wrong the next time."
    )


def _worse(answer: object, bench: Workbench) -> str:
    comparison = an(answer, Comparison, "a comparison, which is what new_run.compare(old_run) returns")
    try:
        numeric, trajectory = comparison["numeric"], comparison["trajectory"]
    except KeyError as missing:
        raise NotSolvedError("these two runs were not both scored by numeric and trajectory.") from missing
    expect(trajectory.verdict != "better", "the order is wrong: compare the new run with the old one.")
    expect(
        trajectory.verdict == "worse" or trajectory.n < _ENOUGH_CASES,
        f"with {trajectory.n} cases, it says “{trajectory.verdict}”. Did you compare the new run with the old one?",
    )
    expect(
        trajectory.verdict == "worse",
        f"with {trajectory.n} cases, it says “{trajectory.verdict}”. Compare runs with at least {_ENOUGH_CASES} cases.",
    )
    return (
        f"trajectory: {trajectory.lost} of {trajectory.n} cases lost. numeric: {numeric.verdict}. "
        "Reading only the answers, you would release this."
    )


def _gated(answer: object, bench: Workbench) -> str:
    good, bad = several(answer, GateVerdict, 2, "a list of two verdicts: the good run's, then the bad run's")
    expect(
        good.limit == bad.limit,
        f"the limits are {exact(good.limit)} and {exact(bad.limit)}: use the same limit for both.",
    )
    expect(good.evaluator == bad.evaluator == "trajectory", "the gate should use trajectory.")
    expect(good.limit <= 1, f"a limit is a share: {exact(good.limit)} % is {exact(good.limit / 100)}.")
    expect(good.outcome != "missed", "the good agent misses this gate. Is the order [good, bad]?")
    expect(
        good.outcome == "passed",
        f"for the good agent, it says “{good.outcome}”: its interval begins at {percent(good.estimate.low or 0)}, "
        f"below your limit of {percent(good.limit)}. There are too few cases to show that much.",
    )
    expect(bad.outcome == "missed", f"the regression is not stopped ({bad.outcome}). Use a higher limit.")
    limit = percent(good.limit)
    return f"at {limit} the good agent passes, and the regression is stopped with exit code {bad.exit_code}."


def _captured(answer: object, bench: Workbench) -> str:
    evalset = an(answer, EvalSet, "an eval set, which is what agent.evals.capture(evalset, …) returns")
    expect(len(evalset) > 0, "it is empty.")
    newest = evalset.cases[-1]
    prompts = [
        row.prompt
        for name in ("calculator",)
        for row in bench.context.store.invocations.list(bench.agent(name).entry.id)
    ]
    expect(bool(newest.source), f"its last case, {newest.id}, was not captured from an invocation.")
    expect(newest.prompt in prompts, f"{quoted(newest.prompt)} was never sent to the calculator here.")
    expect(
        bool(newest.expected_answer),
        "the captured case has no expectations: without expected=False, it expects the answer and the tool calls.",
    )
    return f"{quoted(newest.prompt)} is now a case: every later version will be evaluated with it."


EXERCISES: Final = (
    Exercise(
        id="3.1",
        title="Write cases",
        hints=(
            "A case needs a prompt, an expected answer, and the tools that should be used.",
            'One row: {"id": "half", "prompt": "What is 90 / 2?", "expected": "45", "tools": "calculator"}.',
            "loom.EvalSet.from_rows([…]) with three such rows, each with a different calculation.",
        ),
        judge=_cases,
    ),
    Exercise(
        id="3.2",
        title="Run an evaluation",
        hints=(
            "An agent has .evaluate(evalset, evaluators).",
            'The evaluators are "numeric", for the number in the answer, and "trajectory", for the tool calls.',
            'answer = good.evaluate(mine, ["numeric", "trajectory"])',
        ),
        judge=_ran,
    ),
    Exercise(
        id="3.3",
        title="Right by chance",
        hints=(
            "after.scores() has a row for each case and evaluator, with a column passed.",
            "Look for a case that numeric passes and trajectory does not. after[its id][0] has its details.",
            "answer = after[cases.cases[0].id][0]",
        ),
        judge=_lucky,
    ),
    Exercise(
        id="3.4",
        title="Catch the regression",
        hints=(
            "A run has .compare(baseline).",
            "after is the new run, before is the baseline.",
            "answer = after.compare(before)",
        ),
        judge=_worse,
    ),
    Exercise(
        id="3.5",
        title="A gate",
        hints=(
            'gate_at_least(run.summary(), 0.9, evaluator="trajectory") returns passed, missed or unclear.',
            "Print the verdict of the good run: it states its interval. The limit has to be below it, and above "
            "the other's.",
            'answer = [gate_at_least(run.summary(), 0.5, evaluator="trajectory") for run in (before, after)]',
        ),
        judge=_gated,
    ),
    Exercise(
        id="3.6",
        title="A case from a real conversation",
        hints=(
            "good.evals.capture(cases, …) returns the set with one more case.",
            "It takes an invocation. The case expects the same answer and the same tool calls.",
            'answer = good.evals.capture(cases, good.invoke("What is 19 * 23?"))',
        ),
        judge=_captured,
    ),
)
