"""Details of an invocation other than its trace: logs, layers of telemetry, memory records, protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..agents import AgentEntry, InvocationRecord
from ..agents.mcp_apps import AppView, read_view
from ..agents.protocols import read_transcript
from ..telemetry.layer_reader import read_layers
from .agui_view import AguiView
from .bench_memories import Memories
from .capturing import stored_row
from .context import Context
from .frames import log_frame
from .telemetry_views import LayersView
from .tracing import find_traces
from .transcripts import transcript_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from .memory import Memory
    from .memory_frame import MemoryFrame

_SCAN: Final = 10_000


class InvocationTelemetry:
    """Telemetry of one invocation other than its trace; `inv.telemetry`."""

    def __init__(self, context: Context, entry: AgentEntry, record: InvocationRecord) -> None:
        self._context, self._entry, self._record = context, entry, record

    def logs(self, *, limit: int = 100) -> pd.DataFrame:
        """Return the newest log events of the invocation's session, oldest first (see `AgentTelemetry.logs`).

        Args:
            limit: Maximum number of log events.
        """
        record, reader = self._record, self._context.log_reader
        return log_frame(reader.session_logs(self._entry.arn, record.qualifier, record.session_id, limit=limit))

    def layers(self) -> LayersView:
        """Return what six sources show about this invocation, side by side, each with its limits.

        The sources are the client's timing, log lines, spans and messages, embedded metrics, AgentCore's metrics and
        Logs Insights. The call waits only for the trace.
        """
        row = stored_row(self._context, self._record.id)
        view = find_traces(self._context, self._entry, [row])[0]
        return LayersView(read_layers(self._context.clients, self._entry.arn, row, view.trace), title=view.title())

    def memories_used(
        self, *memories: Memory, scan: int = _SCAN, progress: Callable[[str], None] | None = None
    ) -> MemoryFrame:
        """Return the memory records in this answer's prompt, with the evidence in its trace.

        Args:
            *memories: The memories to search; all memories of the agent's region by default.
            scan: Maximum number of records to compare per memory.
            progress: Called with a line while spans and records are read.
        """
        from .memory_uses import used_frame

        show, region = progress or WaitLine(), self._entry.region
        bench_memories = Memories(self._context)
        selected = memories or [
            bench_memories.get(arn, region=region) for arn in bench_memories.table(region=region)["arn"]
        ]
        row = stored_row(self._context, self._record.id)
        view = find_traces(self._context, self._entry, [row], progress=show)[0]
        readers = [memory.reader for memory in selected]
        return used_frame(view, self._record, readers, scan=scan, progress=show)


class InvocationProtocols:
    """One invocation's answer in the protocols beyond plain text; `inv.protocols`."""

    def __init__(self, context: Context, record: InvocationRecord) -> None:
        self._context, self._record = context, record

    def agui(self) -> AguiView:
        """Return the answer as AG-UI events, with the resulting text, tools, state and questions.

        Examples:
            >>> inv.protocols.agui().state, inv.protocols.agui().confirmations
        """
        record = self._record
        has_ended = record.status in ("complete", "error")
        return AguiView(self.events(), agent_name=record.agent_name, labels=record.labels, has_ended=has_ended)

    def views(self) -> tuple[AppView, ...]:
        """Return the views that the answer's tools returned (MCP Apps)."""
        return tuple(view for event in self.events() if (view := read_view(event)) is not None)

    def transcript(self) -> pd.DataFrame:
        """Return the messages of an MCP, A2A or WebSocket request in both directions, one row each."""
        return transcript_frame(read_transcript(self.events()))

    def events(self) -> tuple[str, ...]:
        """Return the stored server-sent events of the answer, as text."""
        return tuple(self._context.store.invocations.events(self._record.id))
