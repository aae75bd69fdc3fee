"""One invocation as it was measured and stored."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from loomlib.errors import InvocationFailedError

from .events import FAILURES

if TYPE_CHECKING:
    from loomlib.aws.wire import WireBytes
    from loomlib.store import InvocationRow

STATES = ("pending", "streaming", "complete", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRecord:
    """A request with its response, timings and outcome.

    Times are Unix seconds on the client's clock; durations come from a monotonic clock.

    Attributes:
        id: Its id in the database.
        agent_arn: The runtime's ARN.
        agent_name: The agent's name.
        session_id: The runtime session.
        qualifier: The endpoint.
        prompt: The prompt.
        status: `pending`, `streaming`, `complete` or `error`.
        response: The text of the response.
        client_invoke_time: When the request was sent.
        client_done_time: When the response was complete.
        client_duration_ms: The duration.
        ttft_ms: From sending the request to the first byte of the body, connecting included.
        connect_ms: How long connecting took.
        connection_reused: Whether an open connection was reused.
        chunk_offsets_ms: When each chunk arrived, in milliseconds after sending.
        bytes_received: The size of the body.
        agent_start_time: When the agent started, on its own clock.
        cold_start_latency_ms: `agent_start_time` minus `client_invoke_time`, in milliseconds.
        failure: One of `FAILURES`; None without a failure.
        error_message: The error.
        request_id: AWS's request id.
        trace_id: The trace id.
        content_type: The content type of the response.
        labels: The labels stored with it.
        payload_digest: The SHA-256 of the request body.
        stored: False when the database refused the outcome; the measurement is valid anyway.
        retry_after_s: How long the service asked to wait before a retry, in seconds; not stored.
        wire: Bytes on the wire in both directions, with heads, framing and TLS; None when they were not counted; not
            stored.
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
    wire: WireBytes | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.status not in STATES:
            raise ValueError(f"status must be one of {', '.join(STATES)}, not {self.status!r}")
        if self.failure is not None and self.failure not in FAILURES:
            raise ValueError(f"failure must be one of {', '.join(FAILURES)}, not {self.failure!r}")
        if (self.status == "error") != (self.failure is not None):
            raise ValueError("failure must be given exactly when the status is error")

    @property
    def ok(self) -> bool:
        """Whether the response is complete."""
        return self.status == "complete"

    def raise_for_status(self) -> InvocationRecord:
        """Return this record when it is complete.

        Raises:
            InvocationFailedError: It is not.
        """
        if self.status == "complete":
            return self
        raise InvocationFailedError(
            self.error_message or f"The invocation is {self.status}",
            on=f"{self.agent_name}, session {self.session_id}",
            failure=self.failure or "",
        )


_OF_ROW = [
    item.name for item in fields(InvocationRecord)
    if item.name not in ("agent_name", "response", "stored", "retry_after_s", "wire")
]  # fmt: skip


def record_from_row(row: InvocationRow) -> InvocationRecord:
    """Return the record of a stored row."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _OF_ROW}
    return InvocationRecord(**values, agent_name=row.agent_name or "", response=row.response or "")
