"""Spans for agents that do not export spans themselves. Runs in the agent's process, loaded by `bootstrap.py`."""

from .tracing import Tracing

__all__ = ["Tracing"]
