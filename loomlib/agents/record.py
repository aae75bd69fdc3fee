"""One invocation as it was measured and stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loomlib.errors import InvocationFailedError

from .events import FAILURES

if TYPE_CHECKING:
    from loomlib.store import InvocationRow

STATES = ("pending", "streaming", "complete", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRecord:
    """A request with its answer, timings and outcome.

    Times are Unix seconds by the client's clock; durations come from a monotonic clock. `ttft_ms` runs from the moment
    the request was sent to the first byte of the body, a new connection (`connect_ms`) included. `chunk_offsets_ms` has
    one entry for each chunk. `stored` is False when the database refused the outcome; the measurement holds anyway.
    `retry_after_s` is how long the service asked to wait before another try; it is not stored.
    """

    id: int
    agent_arn: str
    agent_name: str
    session_id: str
    qualifier: str
    prompt: str | None = field(repr=False)
    status: str
    response: str = field(default="", repr=False)
    client_invoke_time: float | None = None
    client_done_time: float | None = None
    client_duration_ms: float | None = None
    ttft_ms: float | None = None
    connect_ms: float | None = None
    connection_reused: bool | None = None
    chunk_offsets_ms: tuple[float, ...] = field(default=(), repr=False)
    bytes_received: int = 0
    agent_start_time: float | None = None
    cold_start_latency_ms: float | None = None
    failure: str | None = None
    error_message: str | None = None
    request_id: str | None = None
    trace_id: str | None = None
    content_type: str | None = None
    labels: tuple[str, ...] = ()
    payload_digest: str | None = None
    stored: bool = True
    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        if self.status not in STATES:
            raise ValueError(f"an invocation is {', '.join(STATES)}, not {self.status!r}")
        if self.failure is not None and self.failure not in FAILURES:
            raise ValueError(f"a failure is one of {', '.join(FAILURES)}, not {self.failure!r}")
        if (self.status == "error") != (self.failure is not None):
            raise ValueError("an invocation has a failure exactly when its status is error")

    @property
    def ok(self) -> bool:
        """Whether the answer is complete."""
        return self.status == "complete"

    def raise_for_status(self) -> InvocationRecord:
        """This record when it is complete; otherwise raises `InvocationFailedError`."""
        if self.status == "complete":
            return self
        raise InvocationFailedError(
            self.error_message or f"The invocation is {self.status}",
            on=f"{self.agent_name}, session {self.session_id}",
            failure=self.failure or "",
        )


def record_from_row(row: InvocationRow) -> InvocationRecord:
    """The record that a stored row means."""
    return InvocationRecord(
        id=row.id,
        agent_arn=row.agent_arn,
        agent_name=row.agent_name or "",
        session_id=row.session_id,
        qualifier=row.qualifier,
        prompt=row.prompt,
        status=row.status,
        response=row.response or "",
        client_invoke_time=row.client_invoke_time,
        client_done_time=row.client_done_time,
        client_duration_ms=row.client_duration_ms,
        ttft_ms=row.ttft_ms,
        connect_ms=row.connect_ms,
        connection_reused=row.connection_reused,
        chunk_offsets_ms=row.chunk_offsets_ms,
        bytes_received=row.bytes_received,
        agent_start_time=row.agent_start_time,
        cold_start_latency_ms=row.cold_start_latency_ms,
        failure=row.failure,
        error_message=row.error_message,
        request_id=row.request_id,
        trace_id=row.trace_id,
        content_type=row.content_type,
        labels=row.labels,
        payload_digest=row.payload_digest,
    )
