"""An invocation: the stored record, and operations that look up more about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, InvocationRecord, record_from_row
from ..deprecation import renamed_members, warn_renamed
from ..dispatch import call
from ..presentation.formats import milliseconds
from ..telemetry import AgentStart
from .context import Context
from .renamed import INVOCATION_MEMBERS
from .stored_call import StoredCall
from .tracing import find_start, find_traces

if TYPE_CHECKING:
    from ..memory.approvals import Approval
    from .authorization import AuthorizationView
    from .invocation_details import InvocationProtocols, InvocationTelemetry
    from .invocation_evals import InvocationEvals
    from .trace_view import TraceView


class Invocation(StoredCall):
    """One request to an agent with its answer: `text`, `status` and timings; `latency()` and `trace()` look up more.

    Args:
        record: The stored record.
        context: The workbench's resources.
        entry: The agent that was invoked.
    """

    def __init__(self, record: InvocationRecord, context: Context, entry: AgentEntry) -> None:
        super().__init__(record)
        self.context, self.entry = context, entry

    @property
    def pending(self) -> tuple[Approval, ...]:
        """The approvals that this session is waiting for, from the agent's memory (`agent.approvals`).

        Examples:
            >>> for approval in inv.pending:
            ...     agent.approvals.approve(approval)
        """
        from .approvals import read_agent_approvals

        return read_agent_approvals(self.context, self.entry, session_id=self.session_id).pending

    @property
    def evals(self) -> InvocationEvals:
        """This invocation as an eval case."""
        from .invocation_evals import InvocationEvals

        return InvocationEvals(self.context, self.entry, self.record)

    @property
    def telemetry(self) -> InvocationTelemetry:
        """Log lines, six sources of telemetry side by side, and memory records in the prompt."""
        from .invocation_details import InvocationTelemetry

        return InvocationTelemetry(self.context, self.entry, self.record)

    @property
    def protocols(self) -> InvocationProtocols:
        """The answer as AG-UI events, and the views of MCP Apps in it."""
        from .invocation_details import InvocationProtocols

        return InvocationProtocols(self.context, self.record)

    def latency(self, *, progress: Callable[[str], None] | None = None) -> AgentStart:
        """Find the agent's start in its logs, and the cold-start latency; stored once found.

        Logs arrive late, so this polls with a deadline (`Settings.log_poll_attempts` × `log_poll_interval_s`). When
        nothing is found, the `state` of the result says why; it is never a zero.

        Args:
            progress: Called with a line at each lookup; displayed in the notebook by default.
        """
        start = find_start(
            self.context, self.context.catalog.get(self.record.agent_arn), self.record.id, progress=progress
        )
        row = self.context.store.invocations.get(self.record.id)
        self.record = self.record if row is None else record_from_row(row)
        return start

    def authorization(self) -> AuthorizationView:
        """Return how this call was authorized: the caller, the kind of credentials, and the deciding rules.

        Examples:
            >>> inv.authorization().table()
        """
        from .authorization import read_authorization

        return read_authorization(self.context, self.entry, self.record)

    def trace(self, *, source: str | None = None, progress: Callable[[str], None] | None = None) -> TraceView:
        """Return the breakdown of the duration: the agent's spans, and their shares of the client's time.

        Spans arrive late (within a second locally, after two to three minutes on AWS), so this polls with a deadline.
        When none are found, the `state` says why and what can be done. A complete trace is stored.

            inv.trace().breakdown()

        Args:
            source: A plugin's span source to read instead of CloudWatch.
            progress: Called with a progress line while waiting for spans; displayed in the notebook by default.
        """
        from .capturing import stored_row

        rows = [stored_row(self.context, self.record.id)]
        return find_traces(self.context, self.entry, rows, source=source, progress=progress)[0]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields of the record, ready for JSON."""
        fields: dict[str, Any] = asdict(self.record)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}  # pyright: ignore[reportUnknownArgumentType]

    def sentence(self) -> str:
        """Return the outcome in one line."""
        if not self.ok:
            return f"{self.failure or self.status}: {self.error or 'no answer yet'}"
        labels = f" · {' · '.join(self.labels)}" if self.labels else ""
        return (
            f"{milliseconds(self.duration_ms)} in total, first byte after {milliseconds(self.ttft_ms)}"
            f" · session {self.session_id}{labels}"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "agent":
                warn_renamed("Invocation.agent", "Invocation.entry and Invocation.context")
                return call("Invocation.agent", self)
            return renamed_members(self, INVOCATION_MEMBERS, name)

    def __repr__(self) -> str:
        return f"<Invocation of {self.record.agent_name}: {self.status}, {milliseconds(self.duration_ms)}>"

    def _repr_html_(self) -> str:
        record = self.record
        start_ms = record.cold_start_latency_ms
        start_facts = [] if start_ms is None else [("agent started after", milliseconds(start_ms))]
        return self._card(record.agent_name, [*start_facts, ("connection", _connection(record))])


def _connection(record: InvocationRecord) -> str:
    if record.connection_reused:
        return "reused"
    return f"new, {milliseconds(record.connect_ms)}" if record.connect_ms is not None else "–"
