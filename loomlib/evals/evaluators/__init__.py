"""Evaluators that need no model: of the answer (level 1), the trajectory (level 2) and each tool call (level 3)."""

from loomlib.deprecation import renamed_names

from .components import CHECKS, ToolCalls
from .efficiency import Efficiency
from .final_state import FinalState
from .functions import FunctionEvaluator
from .meaning import Embedding
from .numbers import Numeric
from .paths import MATCHES, EditDistance, TrajectoryMatch
from .rouge import Rouge
from .structured import Structured
from .texts import Contains, Exact, Normalized, Regex
from .tool_rules import ForbiddenTools, RedundantCalls, ToolUsed
from .turn_by_turn import AnswerEvaluator, BaseEvaluator

__all__ = [
    "CHECKS",
    "MATCHES",
    "AnswerEvaluator",
    "BaseEvaluator",
    "Contains",
    "EditDistance",
    "Efficiency",
    "Embedding",
    "Exact",
    "FinalState",
    "ForbiddenTools",
    "FunctionEvaluator",
    "Normalized",
    "Numeric",
    "RedundantCalls",
    "Regex",
    "Rouge",
    "Structured",
    "ToolCalls",
    "ToolUsed",
    "TrajectoryMatch",
]

__getattr__ = renamed_names(__name__, {"AnswerJudgement": "AnswerEvaluator", "Judgement": "BaseEvaluator"})
