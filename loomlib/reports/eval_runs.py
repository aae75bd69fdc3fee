"""Parameters and verdicts of the evaluation reports: cases, baseline, the two runs to compare."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from loomlib.errors import EvalError
from loomlib.evals import EvalSet
from loomlib.evals.compare import Comparison, GateVerdict
from loomlib.evals.compare.gate_requests import GateRequest, judge_gates
from loomlib.evals.compare.page import page
from loomlib.evals.exports import run_document
from loomlib.evals.runs import EvalRun
from loomlib.evals.values.choices import default_evaluators, split_evaluators
from loomlib.evals.views.run_page import cases_html, title_of, verdict_sentences
from loomlib.experiments import isolation_notes
from loomlib.presentation.formats import number, plural

from .displays import Listing, Verdict

if TYPE_CHECKING:
    from loomlib.workbench import Workbench

_FIRST_CASES = 12
_SHOWN_SENTENCES = 6
_SHOWN_GATES = 2


def chosen_set(name: str, tags: str = "") -> EvalSet:
    """Load the eval set of a file or of a shipped set's name.

    Args:
        name: The file or the name.
        tags: Tags, separated by commas; only the cases with all of them are kept.
    """
    evalset = EvalSet.read(name)
    requested_tags = [tag.strip() for tag in tags.split(",") if tag.strip()]
    chosen = evalset.where(tags=requested_tags) if requested_tags else evalset
    if not chosen.cases:
        known_tags = ", ".join(sorted({tag for case in evalset.cases for tag in case.tags})[:20])
        raise EvalError("No case has these tags", on=tags, try_=f"some of {known_tags}" if known_tags else "no tags")
    return chosen


def chosen_evaluators(names: str, evalset: EvalSet) -> list[str]:
    """Return the named evaluators; without names, those that the set's expectations call for.

    Args:
        names: Names, separated by commas.
        evalset: The set.
    """
    return split_evaluators(names) or default_evaluators(evalset)


def find_baseline(bench: Workbench, baseline: str, evalset: EvalSet, *, other_than: str = "") -> EvalRun | None:
    """Find the baseline of an evaluation.

    Args:
        bench: The workbench.
        baseline: The id of a stored run; "last" for the newest complete run of this set; "" for none.
        evalset: The set.
        other_than: The id of the run that is compared, which is never its own "last".
    """
    if not baseline:
        return None
    if baseline != "last":
        return bench.evals.run(baseline)
    rows = bench.context.store.eval_runs.list(set_digest=evalset.digest, limit=None)
    row = next((row for row in rows if row.state == "complete" and row.id != other_than), None)
    if row is None:
        raise EvalError("No complete run of this set is stored", on=evalset.name, try_="loom runs lists them")
    return bench.evals.run(row.id)


def two_runs(bench: Workbench, run_a: str, run_b: str) -> tuple[EvalRun, EvalRun]:
    """Return two runs to compare: the new one and its baseline.

    In a store without runs, two are created: the calculator and its guessing variant on the first cases of their set.

    Args:
        bench: The workbench.
        run_a: The id of the new run; "" for the newest complete run.
        run_b: The id of the baseline; "" for the newest complete run of the same set before it.

    Raises:
        EvalError: No earlier complete run of the set is stored, or none to compare with `run_b`.
    """
    stored = bench.context.store.eval_runs
    newest = run_a or next((row.id for row in stored.list(limit=None) if row.state == "complete"), "")
    if newest:
        new = bench.evals.run(newest)
    elif run_b:
        raise EvalError("No complete run is stored to compare with it", on=run_b, try_="loom evaluate creates one")
    else:
        return _example_runs(bench)
    if run_b:
        return new, bench.evals.run(run_b)
    rows = dropwhile(lambda row: row.id != new.id, stored.list(set_digest=new.evalset.digest, limit=None))
    before = next((row.id for row in rows if row.state == "complete" and row.id != new.id), "")
    if not before:
        raise EvalError(
            "No earlier complete run of the same set is stored", on=new.id, try_="run_b, the id of a baseline"
        )
    return new, bench.evals.run(before)


def compare_runs(run: EvalRun, baseline: EvalRun | None, margin_points: float) -> Comparison | None:
    """Compare `run` with `baseline`, paired by case; None without a baseline.

    Args:
        run: The newer run.
        baseline: The run it is compared with, over the cases that both contain.
        margin_points: Largest loss, in percentage points, with which the new run passes the gate.

    Raises:
        EvalError: The runs have no evaluator in common.
    """
    if baseline is None:
        return None
    comparison = run.compare(baseline, margin=margin_points / 100)
    if not comparison.evaluators:
        raise EvalError("No evaluator in common with the baseline", on=baseline.id, try_=", ".join(baseline.evaluators))
    return comparison


def eval_gates(
    run: EvalRun,
    *,
    min_pass_percent: float = 0.0,
    evaluators: str = "",
    comparison: Comparison | None = None,
) -> tuple[GateVerdict, ...]:
    """Evaluate a report's gates: a minimum pass rate, and no regression against the baseline.

    Args:
        run: The run.
        min_pass_percent: The minimum pass rate in percent; 0 for none.
        evaluators: The evaluators of the gates, separated by commas; empty for all.
        comparison: The comparison with the baseline, if there is one.
    """
    names = split_evaluators(evaluators)
    limit = min_pass_percent / 100
    requests = [GateRequest(limit=limit, evaluator=name) for name in names or [""]] if min_pass_percent else []
    return judge_gates(run.summary(), requests, comparison, only=names)


def eval_verdict(run: EvalRun, gates: tuple[GateVerdict, ...] = (), *, comparison: Comparison | None = None) -> Verdict:
    """Return the verdict of an evaluation, judged by its gates.

    Args:
        run: The run.
        gates: The gates' verdicts.
        comparison: The comparison with the baseline, if there is one.

    Raises:
        EvalError: No case could be judged, so that the report would pass without saying anything.
    """
    summary = run.summary()
    if not any(evaluator.scored for evaluator in summary.evaluators):
        failures = run.failures()
        why = f": {failures.iloc[0]['kind']}: {failures.iloc[0]['message']}" if len(failures) else ""
        raise EvalError(f"No case could be judged{why}", on=run.id, try_="run.failures() lists every reason")
    sentences = [*verdict_sentences(run), *([comparison.headline()] if comparison else []), *summary.sentences()]
    more = len(sentences) - _SHOWN_SENTENCES
    listed = [*sentences[:_SHOWN_SENTENCES], *([f"{more} more evaluators are in the table."] if more > 0 else [])]
    return Verdict(
        title=title_of(run),
        sentences=listed,
        gates=_outcomes(gates),
        summary=run_document(run, gates, comparison, cases=False),
    )


def comparison_verdict(new: EvalRun, baseline: EvalRun, comparison: Comparison) -> Verdict:
    """Return the verdict of a comparison of two stored runs.

    Args:
        new: The newer run.
        baseline: The run it was compared with.
        comparison: Their comparison (`compare_runs`).
    """
    gates = comparison.gates()
    return Verdict(
        title=f"{title_of(new)}, against {title_of(baseline)}",
        sentences=[
            comparison.headline(),
            *(evaluator.sentence() for evaluator in comparison.evaluators[:_SHOWN_SENTENCES]),
        ],
        gates=_outcomes(gates),
        summary={**comparison.summary(), "run_a": new.id, "run_b": baseline.id, "labels": list(new.labels)},
    )


class EvalCases:
    """Only the cases of a run, worst first, for a page that shows the summary elsewhere."""

    def __init__(self, run: EvalRun) -> None:
        self._run = run

    def __repr__(self) -> str:
        return f"<cases of {self._run!r}>"

    def _repr_html_(self) -> str:
        return page("", [], cases_html(self._run))


def eval_notes(run: EvalRun, comparison: Comparison | None = None) -> Listing:
    """Return how the run was evaluated, and its limitations."""
    with run.store.open() as store:
        reused = sum(result.is_reused for result in store.eval_answers.results(run.id))
    cases = plural(len(run.evalset.cases), "case")
    answers = number(len(run.evalset.cases) * run.repeats, 0)
    items = [
        ("Asked:", f"{cases}, {plural(run.repeats, 'time')} each, every time in a new session; "
         f"{number(reused, 0)} of {answers} answers were reused from the same version.", ""),
        ("Failures:", "cases without an answer, and cases that a judge could not judge, are excluded from rates "
         "and means.", ""),
        ("Intervals:", "95 %, over cases; repeats of a case are one cluster. Rates by Wilson.", ""),
    ]  # fmt: skip
    if any("simulated" in label for label in run.labels):
        items.append(
            ("Not covered:", "how a real model answers: this run used the scripted model.", "the same set on AWS")
        )
    items += [("Asked:", note, "") for note in isolation_notes(run.labels)]
    items += [("Durations:", note, "") for note in run.summary().conditions.notes()]
    if comparison is not None:
        items += [
            (f"{evaluator.evaluator}:", evaluator.power_advice(), "")
            for evaluator in comparison.evaluators[:_SHOWN_SENTENCES]
        ]
    items.append(("Not covered:", "questions unlike these cases.", "Capture cases from production."))
    return Listing(items=items)


def gate_list(gates: tuple[GateVerdict, ...]) -> Listing:
    """Return each gate's sentence, missed ones first."""
    return Listing(items=[("", gate.sentence(), "") for gate in _worst_first(gates)], nothing="No gate was requested.")


def _worst_first(gates: tuple[GateVerdict, ...]) -> list[GateVerdict]:
    order = {"missed": 0, "unclear": 1, "passed": 2}
    return sorted(gates, key=lambda gate: order[gate.outcome])


def _outcomes(gates: tuple[GateVerdict, ...]) -> list[tuple[str, str]]:
    """Return each missed gate's sentence, and one sentence for all other gates."""
    outcomes = [(gate.outcome, gate.sentence()) for gate in gates if gate.outcome == "missed"]
    for outcome in ("unclear", "passed"):
        some = [gate for gate in gates if gate.outcome == outcome]
        if len(some) <= _SHOWN_GATES:
            outcomes += [(outcome, gate.sentence()) for gate in some]
        else:
            names = ", ".join(dict.fromkeys(gate.evaluator for gate in some))
            why = "; too few cases to decide" if outcome == "unclear" else ""
            outcomes.append((outcome, f"{len(some)} gates {outcome}: {names}{why}."))
    return outcomes


def _example_runs(bench: Workbench) -> tuple[EvalRun, EvalRun]:
    whole = EvalSet.read("calculator")
    ids = {case.id for case in whole.cases[:_FIRST_CASES]}
    some = whole.where(lambda case: case.id in ids)
    runs: list[Any] = [bench.agent(name, deploy=True).evaluate(some) for name in ("calculator", "calculator_guessing")]
    return runs[1], runs[0]
