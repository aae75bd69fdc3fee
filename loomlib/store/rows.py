"""Values of stored rows. Times are timezone-aware and in UTC unless a field says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, TypeVar

from sqlalchemy import RowMapping

from .eval_rows import EvalRunRow, StoredSet

INVOCATION_STATES: Final = ("pending", "streaming", "complete", "error")
STUDY_STATES: Final = ("planned", "running", "complete", "interrupted")
MEASUREMENT_STATES: Final = ("planned", "running", "done", "failed", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """An agent of the catalog.

    `scope` is the environment that it belongs to ("local", "aws"); an ARN is unique within it.
    """

    id: int
    scope: str
    arn: str
    runtime_id: str
    name: str | None
    status: str | None
    region: str
    account_id: str
    log_group: str | None
    available_qualifiers: tuple[str, ...]
    raw_metadata: Mapping[str, Any] = field(repr=False)
    registered_at: datetime
    last_refreshed_at: datetime | None
    tags: Mapping[str, str]
    message_format: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRow:
    """One request with its response, timings and outcome.

    `client_invoke_time`, `client_done_time` and `agent_start_time` are Unix seconds; `chunk_offsets_ms` count from the
    moment the request was sent. `start_state` is the result of the search for the agent's start (None: not searched),
    and `skew_low_ms` and `skew_high_ms` bound the error of `cold_start_latency_ms`.
    """

    id: int
    agent_id: int
    agent_arn: str
    agent_name: str | None
    session_id: str
    qualifier: str
    prompt: str | None = field(repr=False)
    response: str | None = field(repr=False)
    client_invoke_time: float | None
    client_done_time: float | None
    agent_start_time: float | None
    cold_start_latency_ms: float | None
    client_duration_ms: float | None
    status: str
    error_message: str | None
    created_at: datetime
    ttft_ms: float | None
    connect_ms: float | None
    connection_reused: bool | None
    chunk_offsets_ms: tuple[float, ...] = field(repr=False)
    bytes_received: int
    failure: str | None
    request_id: str | None
    trace_id: str | None
    content_type: str | None
    labels: tuple[str, ...]
    payload_digest: str | None
    start_state: str | None
    skew_low_ms: float | None
    skew_high_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """The load on the client's machine when an invocation began. None is unknown.

    Attributes:
        processors: Processors that the client may use.
        tasks: Tasks that ran or waited for a processor, without the client's own.
        load_1_min: The load average of one minute.
    """

    processors: int
    tasks: int | None = None
    load_1_min: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A runtime session, summarized from its invocations: how many, how many failed, first and last time.

    Times are Unix seconds.
    """

    session_id: str
    qualifier: str
    invocations: int
    failed: int
    first_invoke_time: float | None
    last_done_time: float | None
    cold_start_latency_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """A study: what it measures (`design`), and where it ran (`environment`)."""

    id: str
    scope: str
    agent_arn: str
    agent_name: str | None = None
    design: Mapping[str, Any]
    state: str = "planned"
    created_at: datetime
    finished_at: datetime | None = None
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.state not in STUDY_STATES:
            raise ValueError(f"a study is {', '.join(STUDY_STATES)}, not {self.state!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMeasurement:
    """A planned measurement: its position in the order, its block, and the session that it uses (`session_plan`)."""

    position: int
    block: int
    scenario: str
    session_plan: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRow:
    """A measurement of a study: planned, then running, then done, failed or lost."""

    id: int
    study_id: str
    position: int
    block: int
    scenario: str
    session_plan: str
    state: str
    session_id: str | None
    invocation_id: int | None
    started_at: datetime | None
    finished_at: datetime | None
    schedule_lag_ms: float | None
    duration_ms: float | None
    ttft_ms: float | None
    connect_ms: float | None
    cold_start_latency_ms: float | None
    start_state: str | None
    skew_low_ms: float | None
    skew_high_ms: float | None
    failure: str | None
    error_message: str | None
    details: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """The collected trace of an invocation.

    `records` are the spans and messages as the service stores them, one JSON text per record. A trace that is not
    `is_complete` may have grown since `fetched_at`. `details` were found beside the spans.
    """

    invocation_id: int
    session_id: str
    trace_id: str | None
    state: str
    is_complete: bool
    fetched_at: datetime
    span_count: int
    details: Mapping[str, Any] = field(repr=False)
    records: tuple[str, ...] = field(repr=False)


_Row = TypeVar(
    "_Row", AgentRow, InvocationRow, LoadRow, SessionRow, StudyRow, MeasurementRow, TraceRow, EvalRunRow, StoredSet
)

_ABSENT: Final[Mapping[str, Any]] = {
    "available_qualifiers": (),
    "raw_metadata": {},
    "tags": {},
    "message_format": {},
    "chunk_offsets_ms": (),
    "labels": (),
    "environment": {},
    "details": {},
    "records": (),
    "design": {},
    "summary": {},
}


def row(kind: type[_Row], record: RowMapping) -> _Row:
    """Build a `kind` from a database row, with an empty collection where the database has NULL."""
    values: dict[str, Any] = {
        column.name: _ABSENT.get(column.name) if record[column.name] is None else record[column.name]
        for column in fields(kind)
    }
    return kind(**values)
