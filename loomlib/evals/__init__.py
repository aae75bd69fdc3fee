"""Evaluation: eval sets, answers, evaluators and judges, runs, and comparisons one may act on."""

from .answers import FAILURE_STAGES, CaseAnswer, CaseFailure, TurnAnswer
from .cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario
from .eval_set import EvalSet
from .evaluator import LEVELS, Evaluator, NotApplicable, Score, Verdict
from .outcomes import OUTCOME_STATES, Outcome
from .shipped import shipped_sets
from .tool_use import ExpectedTool, ToolUse

__all__ = [
    "FAILURE_STAGES",
    "LEVELS",
    "OUTCOME_STATES",
    "CaseAnswer",
    "CaseFailure",
    "EvalCase",
    "EvalSet",
    "Evaluator",
    "EvaluatorChoice",
    "ExpectedTool",
    "NotApplicable",
    "Outcome",
    "Rubric",
    "Score",
    "ToolUse",
    "Turn",
    "TurnAnswer",
    "UserScenario",
    "Verdict",
    "shipped_sets",
]
