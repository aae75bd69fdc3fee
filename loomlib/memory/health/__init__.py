"""Health checks of a memory: leaks, secrets, contradictions, stale records, duplicates, unused strategies and cost."""

from .check import check_health
from .finding import KINDS, SEVERITIES, Finding, MemoryEvidence
from .growth import Growth, MemoryPrices, memory_prices
from .leaks import tenant_of
from .presidio import presidio_finder
from .report import HealthReport

__all__ = [
    "KINDS",
    "SEVERITIES",
    "Finding",
    "Growth",
    "HealthReport",
    "MemoryEvidence",
    "MemoryPrices",
    "check_health",
    "memory_prices",
    "presidio_finder",
    "tenant_of",
]
