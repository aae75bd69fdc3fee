"""What Loom remembers: agents, invocations, studies and their measurements, in SQLite or another SQL database."""

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
]
