"""The session processes of the local AgentCore."""

from .pool import SessionPool

__all__ = ["SessionPool"]
