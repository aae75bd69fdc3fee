"""The database: agents, invocations with their traces, studies, evaluations and alerts."""

from .alerts import AlertEventRow, AlertRow
from .call_figures import CallFigures
from .call_search import FoundCall
from .call_times import CallTimes
from .eval_rows import EVAL_RUN_STATES, EvalRunRow, StoredAnswer, StoredResult, StoredScore, StoredSet
from .figures import CostSum, OutcomeCount, TimedCall
from .invocations import INTERRUPTED, NEVER_BEGAN
from .leases import LEASE_S, Lease
from .releases import AbCall, AbTestRow, EndpointChangeRow
from .rows import (
    INVOCATION_STATES,
    MEASUREMENT_STATES,
    STUDY_STATES,
    AgentRow,
    InvocationRow,
    LoadRow,
    MeasurementRow,
    PlannedMeasurement,
    SessionRow,
    StudyRow,
    TraceRow,
)
from .store import Store
from .tenancy import DEFAULT_TENANT, StoreIdentity
from .tenants import AddedTenant, TenantAccount, TenantRow, Tenants, TenantUse, total_use

__all__ = [
    "DEFAULT_TENANT",
    "EVAL_RUN_STATES",
    "INTERRUPTED",
    "INVOCATION_STATES",
    "LEASE_S",
    "MEASUREMENT_STATES",
    "NEVER_BEGAN",
    "STUDY_STATES",
    "AbCall",
    "AbTestRow",
    "AddedTenant",
    "AgentRow",
    "AlertEventRow",
    "AlertRow",
    "CallFigures",
    "CallTimes",
    "CostSum",
    "EndpointChangeRow",
    "EvalRunRow",
    "FoundCall",
    "InvocationRow",
    "Lease",
    "LoadRow",
    "MeasurementRow",
    "OutcomeCount",
    "PlannedMeasurement",
    "SessionRow",
    "Store",
    "StoreIdentity",
    "StoredAnswer",
    "StoredResult",
    "StoredScore",
    "StoredSet",
    "StudyRow",
    "TenantAccount",
    "TenantRow",
    "TenantUse",
    "Tenants",
    "TimedCall",
    "TraceRow",
    "total_use",
]
