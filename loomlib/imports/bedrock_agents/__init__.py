"""Agents of Bedrock Agents ("Classic"): an intermediate model, and the outcome of each feature."""

from .features import Feature, FeatureName, FeatureState, assess_all_features, assess_features
from .model import (
    DEEPEST,
    ActionGroup,
    AgentGuardrail,
    AgentKnowledgeBase,
    Collaborator,
    ImportedAgent,
    ImportedTool,
    InferenceParameters,
    MemorySettings,
    ModelChoice,
    PromptStep,
    ToolParameter,
)

__all__ = [
    "DEEPEST",
    "ActionGroup",
    "AgentGuardrail",
    "AgentKnowledgeBase",
    "Collaborator",
    "Feature",
    "FeatureName",
    "FeatureState",
    "ImportedAgent",
    "ImportedTool",
    "InferenceParameters",
    "MemorySettings",
    "ModelChoice",
    "PromptStep",
    "ToolParameter",
    "assess_all_features",
    "assess_features",
]
