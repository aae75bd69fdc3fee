"""Tests that reads of a memory do not return data of another actor or tenant."""

from .check import check_isolation
from .report import Crossing, IsolationReport
from .subjects import DESIGN_PATTERNS, IsolationSubject

__all__ = ["DESIGN_PATTERNS", "Crossing", "IsolationReport", "IsolationSubject", "check_isolation"]
