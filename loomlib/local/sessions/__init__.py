"""The session processes of the local AgentCore."""

from .otel import OtlpTarget
from .pool import SessionPool

__all__ = ["OtlpTarget", "SessionPool"]
