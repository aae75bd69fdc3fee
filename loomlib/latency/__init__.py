"""Latency studies: planned repetition, honest statistics, figures and tables."""

from .estimates import Estimate
from .scenarios import Scenario

__all__ = ["Estimate", "Scenario"]
