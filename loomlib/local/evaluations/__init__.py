"""AgentCore Evaluations: Evaluate, and the list of its evaluators."""

from .evaluate import EvaluationPlane
from .evaluators import EVALUATOR

__all__ = ["EVALUATOR", "EvaluationPlane"]
