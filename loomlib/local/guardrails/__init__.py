"""Amazon Bedrock's guardrails: words, sensitive information, denied topics, content filters, contextual grounding."""

from .conversing import GuardedModel
from .plane import GuardrailPlane

__all__ = ["GuardedModel", "GuardrailPlane"]
