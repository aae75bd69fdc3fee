"""AgentCore Evaluations as a capability of the service."""

from __future__ import annotations

from ..capabilities import Capabilities
from ..models import ConverseModel
from ..resources import Behaviour
from .evaluate import EvaluationPlane
from .evaluators import EVALUATOR


def add_evaluations(capabilities: Capabilities, models: ConverseModel) -> None:
    """Add evaluators and Evaluate, whose judges send requests to the given models."""
    capabilities.resources.append((EVALUATOR, Behaviour()))
    capabilities.data_components.append(EvaluationPlane(models))
