"""Agents of Bedrock Agents ("Classic"): an intermediate model, and what becomes of each feature."""

from .features import Feature, FeatureName, FeatureState, assess_features
from .model import (
    DEEPEST,
    ActionGroup,
    Collaborator,
    Guardrail,
    ImportedAgent,
    ImportedTool,
    InferenceParameters,
    KnowledgeBase,
    MemorySettings,
    ModelChoice,
    PromptStep,
    ToolParameter,
)

__all__ = [
    "DEEPEST",
    "ActionGroup",
    "Collaborator",
    "Feature",
    "FeatureName",
    "FeatureState",
    "Guardrail",
    "ImportedAgent",
    "ImportedTool",
    "InferenceParameters",
    "KnowledgeBase",
    "MemorySettings",
    "ModelChoice",
    "PromptStep",
    "ToolParameter",
    "assess_features",
]
