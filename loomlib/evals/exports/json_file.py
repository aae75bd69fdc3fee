"""A run as JSON: the summary, the gates, the comparison, and every case with its verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from loomlib.jobs import whole_file

from ..compare import Comparison, GateVerdict, exit_code
from ..runs.case_results import case_results
from ..runs.eval_run import EvalRun
from ..values.answers import CaseFailure
from ..values.case_states import CaseResult, state_of
from ..values.evaluator import NotApplicable
from ..values.judgement import Judgement
from ..views.case_body import CaseVerdict

EVALUATION_SCHEMA: Final = "loom.evaluation/1"


def run_document(
    run: EvalRun, gates: Sequence[GateVerdict] = (), comparison: Comparison | None = None, *, cases: bool = True
) -> dict[str, Any]:
    """Return a run as JSON-ready values.

    Args:
        run: The run.
        gates: Gates to include.
        comparison: A comparison to include.
        cases: Whether to include the cases.
    """
    summary = run.summary()
    document: dict[str, Any] = {
        "schema": EVALUATION_SCHEMA,
        "run_id": run.id,
        "name": run.name,
        "state": run.state,
        "reason": run.reason,
        "set": {
            "name": run.evalset.name, "version": run.evalset.version, "digest": run.evalset.digest,
            "cases": len(run.evalset.cases),
        },
        "target": {"name": run.target.name, "key": run.target.key, "agent_arn": run.target.agent_arn},
        "labels": list(run.labels),
        "repeats": run.repeats,
        "sentences": summary.sentences(),
        "summary": summary.summary(),
        "gates": [gate.summary() for gate in gates],
        "exit_code": exit_code(gates),
    }  # fmt: skip
    if comparison is not None:
        document["comparison"] = comparison.summary()
    if cases:
        document["cases"] = [_case(case_result) for case_result in case_results(run)]
    return document


def write_json(
    run: EvalRun,
    path: str | PathLike[str],
    gates: Sequence[GateVerdict] = (),
    comparison: Comparison | None = None,
) -> Path:
    """Write the document to a file, in ASCII, so that no answer can break its encoding.

    Args:
        run: The run.
        path: The file; missing folders are created.
        gates: Gates to include.
        comparison: A comparison to include.

    Returns:
        The file.
    """
    text = json.dumps(run_document(run, gates, comparison), indent=1, ensure_ascii=True, allow_nan=False, default=str)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file("The JSON file", file, private=False) as opened:
        opened.write(text + "\n")
    return file


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "id": result.case.id,
        "state": result.state,
        "tags": list(result.case.tags),
        "asked": result.case.prompt,
        "repeats": [_repeat(judgement) for judgement in result.judgements],
    }


def _repeat(judgement: Judgement) -> dict[str, Any]:
    answer = judgement.answer
    document: dict[str, Any] = {
        "repeat": judgement.repeat,
        "state": state_of(judgement),
        "answer": answer.text,
        "tools": None if answer.tools is None else [tool.name for tool in answer.tools],
        "duration_ms": answer.duration_ms,
        "ttft_ms": answer.turns[0].ttft_ms if answer.turns else None,
        "tokens": answer.tokens,
        "cost_usd": answer.cost,
        "attempts": answer.attempts,
        "trace_id": next((turn.trace_id for turn in reversed(answer.turns) if turn.trace_id), None),
        "verdicts": {name: _verdict(verdict) for name, verdict in judgement.verdicts.items()},
    }
    if answer.failure is not None:
        document["failure"] = {"kind": answer.failure.kind, "message": answer.failure.message}
    return document


def _verdict(verdict: CaseVerdict) -> dict[str, Any]:
    if isinstance(verdict, CaseFailure):
        return {"state": "judge_failed", "kind": verdict.kind, "message": verdict.message}
    if isinstance(verdict, NotApplicable):
        return {"state": "not_applicable", "reason": verdict.reason}
    return {
        "state": "scored",
        "scores": [
            {
                "value": score.value,
                "passed": score.passed,
                "part": score.part,
                "rationale": score.rationale,
                "labels": list(score.labels),
                "details": dict(score.details),
            }
            for score in verdict
        ],
    }
