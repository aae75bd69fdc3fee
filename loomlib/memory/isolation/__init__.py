"""Tenant isolation as a property test that anyone can run against a memory of one's own."""

from .check import check_isolation
from .report import Crossing, IsolationReport
from .subjects import DESIGN_PATTERNS, IsolationSubject

__all__ = ["DESIGN_PATTERNS", "Crossing", "IsolationReport", "IsolationSubject", "check_isolation"]
