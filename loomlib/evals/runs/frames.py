"""A run as DataFrames: units in the columns' names, what is not known is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values.answers import CaseFailure
from ..values.evaluator import NotApplicable, Score

if TYPE_CHECKING:
    import pandas as pd

    from .eval_run import EvalRun

_SCORES = (
    "case", "repeat", "evaluator", "part", "value", "passed", "state", "rationale", "failure", "labels",
)  # fmt: skip
_ROWS = (
    "case", "repeat", "state", "failure", "duration_ms", "ttft_ms", "input_tokens", "output_tokens", "model_calls",
    "tool_calls", "cost", "attempts", "reused", "prompt", "answer", "tags", "session_id", "invocation_id", "trace_id",
)  # fmt: skip
_FAILURES = ("case", "repeat", "stage", "evaluator", "kind", "message", "attempts")


def score_frame(run: EvalRun) -> pd.DataFrame:
    """One row a case, repeat, evaluator and part."""
    rows: list[tuple[Any, ...]] = []
    for each in run.judgements():
        at = (each.case_id, each.repeat)
        if each.answer.failure is not None:
            why = f"{each.answer.failure.kind}: {each.answer.failure.message}"
            rows.extend(
                (*at, name, "", None, None, "answer_failed", "", why, ()) for name in run.evaluators_at(each.place)
            )
            continue
        for name, said in each.verdicts.items():
            if isinstance(said, CaseFailure):
                rows.append((*at, name, "", None, None, "judge_failed", "", f"{said.kind}: {said.message}", ()))
            elif isinstance(said, NotApplicable):
                rows.append((*at, name, "", None, None, "not_applicable", said.reason, "", ()))
            else:
                rows.extend(
                    (*at, name, one.part, one.value, one.passed, "scored", one.rationale, "", one.labels)
                    for one in said
                )
    return _frame(_SCORES, rows, floats=("value",), booleans=("passed",))


def case_frame(run: EvalRun) -> pd.DataFrame:
    """One row a case and repeat: quality beside what it took."""
    names, cases = run.evaluators, run.evalset.cases
    rows: list[tuple[Any, ...]] = []
    for each in run.judgements():
        answer, case = each.answer, cases[each.place]
        failure, last, first = answer.failure, answer.turns[-1:], answer.turns[:1]
        calls = [turn.model_calls for turn in answer.turns]
        rows.append(
            (
                each.case_id,
                each.repeat,
                "answered" if failure is None else "answer_failed",
                None if failure is None else failure.kind,
                answer.duration_ms,
                first[0].ttft_ms if first else None,
                _sum([turn.input_tokens for turn in answer.turns]),
                _sum([turn.output_tokens for turn in answer.turns]),
                _sum(calls),
                None if answer.tools is None else len(answer.tools),
                answer.cost,
                answer.attempts,
                each.is_reused,
                case.prompt,
                answer.text,
                case.tags,
                last[0].session_id if last else "",
                last[0].invocation_id if last else None,
                last[0].trace_id if last else "",
                *(_value(each.verdicts.get(name)) for name in names),
            )
        )
    # An evaluator may be called like a column of the answer's.
    columns = (*_ROWS, *(f"score: {name}" if name in _ROWS else name for name in names))
    floats = ("duration_ms", "ttft_ms", "cost", *columns[len(_ROWS) :])
    whole = ("input_tokens", "output_tokens", "model_calls", "tool_calls", "invocation_id")
    return _frame(columns, rows, floats=floats, whole=whole)


def failure_frame(run: EvalRun) -> pd.DataFrame:
    """One row a failure to answer or to judge."""
    rows: list[tuple[Any, ...]] = []
    for each in run.judgements():
        said = [each.answer.failure, *each.verdicts.values()]
        rows.extend(
            (each.case_id, each.repeat, one.stage, one.evaluator or "", one.kind, one.message, one.attempts)
            for one in said
            if isinstance(one, CaseFailure)
        )
    return _frame(_FAILURES, rows)


def _value(said: tuple[Score, ...] | NotApplicable | CaseFailure | None) -> float | None:
    return said[0].value if isinstance(said, tuple) and said else None


def _sum(known: list[int | None]) -> int | None:
    return None if not known or None in known else sum(each for each in known if each is not None)


def _frame(
    columns: tuple[str, ...],
    rows: list[tuple[Any, ...]],
    *,
    floats: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    booleans: tuple[str, ...] = (),
) -> pd.DataFrame:
    from loomlib.presentation.text_frame import TextFrame

    types = dict.fromkeys(floats, "float64") | dict.fromkeys(whole, "Int64") | dict.fromkeys(booleans, "boolean")
    return TextFrame(rows, columns=list(columns)).astype(types)
