"""Spans of agents that do nothing for them. This package runs in the agent's process, loaded by `bootstrap.py`."""

from .tracing import Tracing

__all__ = ["Tracing"]
