"""What Loom remembers: agents, invocations and their traces, studies, measurements; in any SQL database."""

from .invocations import INTERRUPTED
from .rows import (
    INVOCATION_STATES,
    MEASUREMENT_STATES,
    STUDY_STATES,
    AgentRow,
    InvocationRow,
    MeasurementRow,
    PlannedMeasurement,
    SessionRow,
    StudyRow,
    TraceRow,
)
from .store import Store
from .studies import LEASE_S, StudyLease

__all__ = [
    "INTERRUPTED",
    "INVOCATION_STATES",
    "LEASE_S",
    "MEASUREMENT_STATES",
    "STUDY_STATES",
    "AgentRow",
    "InvocationRow",
    "MeasurementRow",
    "PlannedMeasurement",
    "SessionRow",
    "Store",
    "StudyLease",
    "StudyRow",
    "TraceRow",
]
