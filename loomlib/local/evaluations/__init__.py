"""AgentCore Evaluations: Evaluate, and the list of its evaluators."""

from .evaluate import EvaluationPlane
from .evaluators import EvaluatorList

__all__ = ["EvaluationPlane", "EvaluatorList"]
