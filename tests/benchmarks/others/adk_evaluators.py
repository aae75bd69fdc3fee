"""ADK's own trajectory and ROUGE evaluators on the cases of a file: their scores as JSON. In its own environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.final_response_match_v1 import RougeEvaluator
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai import types


def _content(text: str, role: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def _invocation(side: dict[str, Any]) -> Invocation:
    calls = [types.FunctionCall(name=name, args=arguments) for name, arguments in side["tools"]]
    return Invocation(
        user_content=_content("p", "user"),
        final_response=_content(side["text"], "model"),
        intermediate_data=IntermediateData(tool_uses=calls),
    )


def _trajectory(match: str, ignore: bool) -> TrajectoryEvaluator:
    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match, ignore_args=ignore)
    return TrajectoryEvaluator(
        eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion)
    )


EVALUATORS = {
    **{
        f"{match} {'names' if ignore else 'arguments'}": _trajectory(match, ignore)
        for match in ("EXACT", "IN_ORDER", "ANY_ORDER")
        for ignore in (False, True)
    },
    "rouge1": RougeEvaluator(EvalMetric(metric_name="response_match_score", threshold=0.8)),
}
found: list[dict[str, float]] = []
for case in json.loads(Path(sys.argv[1]).read_text()):
    actual = [_invocation(turn["actual"]) for turn in case]
    expected = [_invocation(turn["expected"]) for turn in case]
    found.append(
        {name: evaluator.evaluate_invocations(actual, expected).overall_score for name, evaluator in EVALUATORS.items()}
    )
print(json.dumps(found))
