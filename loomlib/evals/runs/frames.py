"""A run as DataFrames, with units in the names of columns and unknown values missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values.answers import CaseFailure
from ..values.evaluator import NotApplicable, Score
from .eval_run import EvalRun

if TYPE_CHECKING:
    import pandas as pd

_SCORES = (
    "case", "repeat", "evaluator", "part", "value", "passed", "state", "rationale", "failure", "labels",
)  # fmt: skip
_ROWS = (
    "case", "repeat", "state", "failure", "duration_ms", "ttft_ms", "input_tokens", "output_tokens", "model_calls",
    "tool_calls", "cost", "attempts", "reused", "prompt", "answer", "tags", "session_id", "invocation_id", "trace_id",
)  # fmt: skip
_FAILURES = ("case", "repeat", "stage", "evaluator", "kind", "message", "attempts")


def score_frame(run: EvalRun) -> pd.DataFrame:
    """Return one row per case, repeat, evaluator and part."""
    rows: list[tuple[Any, ...]] = []
    for judgement in run.judgements():
        at = (judgement.case_id, judgement.repeat)
        if judgement.answer.failure is not None:
            why = f"{judgement.answer.failure.kind}: {judgement.answer.failure.message}"
            rows.extend(
                (*at, name, "", None, None, "answer_failed", "", why, ())
                for name in run.evaluators_at(judgement.position)
            )
            continue
        for name, verdict in judgement.verdicts.items():
            if isinstance(verdict, CaseFailure):
                rows.append((*at, name, "", None, None, "judge_failed", "", f"{verdict.kind}: {verdict.message}", ()))
            elif isinstance(verdict, NotApplicable):
                rows.append((*at, name, "", None, None, "not_applicable", verdict.reason, "", ()))
            else:
                rows.extend(
                    (*at, name, score.part, score.value, score.passed, "scored", score.rationale, "", score.labels)
                    for score in verdict
                )
    return _frame(_SCORES, rows, floats=("value",), booleans=("passed",))


def case_frame(run: EvalRun) -> pd.DataFrame:
    """Return one row per case and repeat: scores beside latency, tokens and cost."""
    names, cases = run.evaluators, run.evalset.cases
    rows: list[tuple[Any, ...]] = []
    for judgement in run.judgements():
        answer, case = judgement.answer, cases[judgement.position]
        failure, last, first = answer.failure, answer.turns[-1:], answer.turns[:1]
        calls = [turn.model_calls for turn in answer.turns]
        rows.append(
            (
                judgement.case_id,
                judgement.repeat,
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
                judgement.is_reused,
                case.prompt,
                answer.text,
                case.tags,
                last[0].session_id if last else "",
                last[0].invocation_id if last else None,
                last[0].trace_id if last else "",
                *(_value(judgement.verdicts.get(name)) for name in names),
            )
        )
    # An evaluator can have the name of another column.
    columns = (*_ROWS, *(f"score: {name}" if name in _ROWS else name for name in names))
    floats = ("duration_ms", "ttft_ms", "cost", *columns[len(_ROWS) :])
    whole = ("input_tokens", "output_tokens", "model_calls", "tool_calls", "invocation_id")
    return _frame(columns, rows, floats=floats, whole=whole)


def failure_frame(run: EvalRun) -> pd.DataFrame:
    """Return one row per failure to run or to score."""
    rows: list[tuple[Any, ...]] = []
    for judgement in run.judgements():
        failures = [judgement.answer.failure, *judgement.verdicts.values()]
        rows.extend(
            (
                judgement.case_id,
                judgement.repeat,
                failure.stage,
                failure.evaluator or "",
                failure.kind,
                failure.message,
                failure.attempts,
            )
            for failure in failures
            if isinstance(failure, CaseFailure)
        )
    return _frame(_FAILURES, rows)


def _value(verdict: tuple[Score, ...] | NotApplicable | CaseFailure | None) -> float | None:
    return verdict[0].value if isinstance(verdict, tuple) and verdict else None


def _sum(values: list[int | None]) -> int | None:
    return None if not values or None in values else sum(value for value in values if value is not None)


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
