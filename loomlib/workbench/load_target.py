"""An agent as the target of a load test (`loomlib.latency.load_test.LoadTestAgent`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from ..agents import AgentEntry
from ..agents.agui import run_input
from ..agents.protocols.mcp_session import tool_call
from ..agents.protocols.mcp_values import PROTOCOL_VERSIONS
from ..aws.bearer import Bearer
from ..errors import LoomError, NotSupportedError
from ..latency.load.bodies import Bodies, GrowingPrompts, LoadBody, PromptLengths, SameBody
from ..latency.load.engine import LoadTarget
from ..latency.load.rpc_bodies import A2aMessageBodies, McpToolCallBodies
from ..latency.load_test import LoadTrace, SampledCall
from ..presentation.text import one_line
from ..store import InvocationRow, Store
from .capturing import stored_row
from .context import Context
from .protocol_sessions import check_is_stateless
from .study_target import StudyTarget
from .tracing import find_traces

if TYPE_CHECKING:
    from .trace_view import TraceView

_LAST_CALLS: Final = 20
_MS: Final = 1e6


class LoadTestTarget:
    """One endpoint of an agent with the operations that a load test needs; returned by `agent.targets.load_target()`.

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint.
        bearer: The bearer token to send, or a function that returns it.
    """

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, *, bearer: Bearer | None = None) -> None:
        self._context, self._entry, self._bearer = context, entry, bearer
        self._study = StudyTarget(context, entry, qualifier, bearer=bearer)
        self.name, self.arn, self.qualifier = entry.name, str(entry.arn), qualifier
        self.labels, self.scope = context.labels, context.where
        self.platform_version = self._study.platform_version
        self._is_checked = entry.protocol != "MCP"

    @property
    def store(self) -> Store:
        """The store for studies and invocations."""
        return self._context.store

    @property
    def folder(self) -> Path:
        """The folder of the journals of load tests, in Loom's home folder."""
        return self._context.settings.home / "load-tests"

    def target(self) -> LoadTarget:
        """Return where the load engine sends its requests, and what authorizes them.

        Raises:
            NotSupportedError: The MCP server is stateful, so a call consists of several requests.
        """
        if not self._is_checked:
            check_is_stateless(self._context, self._entry, self.qualifier, bearer=self._bearer)
            self._is_checked = True
        protocol = self._entry.protocol
        return LoadTarget.runtime(
            self.arn,
            self._context.clients.connection,
            qualifier=self.qualifier,
            bearer=self._bearer,
            headers={"Mcp-Protocol-Version": PROTOCOL_VERSIONS[0]} if protocol == "MCP" else {},
            is_json_rpc=protocol in ("MCP", "A2A"),
        )

    def bodies(self, prompt: str) -> Bodies:
        """Return the bodies of calls with a prompt, in the agent's own protocol and format.

        Args:
            prompt: The prompt; for an MCP server a tool call as JSON, `{"tool": …, "arguments": {…}}`.

        Raises:
            InvalidArgumentsError: The prompt does not name a tool of the MCP server.
        """
        protocol = self._entry.protocol
        if protocol == "AGUI":
            return _RunInputs(prompt)
        if protocol == "A2A":
            return A2aMessageBodies(prompt=prompt)
        if protocol == "MCP":
            tool, arguments = tool_call(prompt)
            return McpToolCallBodies(tool=tool, arguments=arguments)
        return SameBody(prompt=prompt, form=self._entry.message_format)

    def requests(self, requests: Bodies) -> Bodies:
        """Return requests of several kinds in the agent's own format.

        Args:
            requests: Requests of `loomlib.latency.load.bodies`.

        Raises:
            NotSupportedError: The agent speaks a protocol in which they cannot be sent.
        """
        if self._entry.protocol not in ("", "HTTP"):
            raise NotSupportedError(
                f"Requests of different lengths or sizes cannot be sent over {self._entry.protocol}",
                on=self.name,
                try_="a load test with one prompt",
            )
        if isinstance(requests, (PromptLengths, GrowingPrompts)):
            return replace(requests, form=self._entry.message_format)
        return requests

    def recorded(self, until_id: int | None = None) -> list[InvocationRow]:
        """Return the agent's stored invocations that were not made by a study.

        Args:
            until_id: The newest of them; None for all.
        """
        before_id = None if until_id is None else until_id + 1
        rows = self.store.invocations.list(self._entry.id, limit=None, before_id=before_id)
        return [row for row in rows if not any(label.startswith("study:") for label in row.labels)]

    def end_session(self, session_id: str) -> bool:
        """End a runtime session; return False if it had already ended."""
        return self._study.end_session(session_id)

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections."""
        return await self._study.is_alive()

    def mean_cost(self) -> tuple[float, int] | None:
        """Return the mean cost of the agent's last stored calls in US dollars and their number; None when unknown."""
        rows = [
            row for row in self.store.invocations.list(self._entry.id, limit=_LAST_CALLS) if row.status == "complete"
        ]
        stored = self.store.traces.get_many([row.id for row in rows])
        traced_rows = [row for row in rows if row.id in stored and stored[row.id].is_complete]
        try:
            amounts = [view.cost().total for view in self._views(traced_rows)] if traced_rows else []
        except LoomError:  # the usage logs cannot be read, so the cost is unknown
            return None
        values = [amount.value for amount in amounts if amount.value is not None]
        return (fmean(values), len(values)) if values else None

    def keep(self, calls: Sequence[SampledCall], prompt: str, labels: Sequence[str]) -> list[int]:
        """Store calls as invocations, and return their ids.

        Args:
            calls: The calls.
            prompt: The prompt that they sent.
            labels: Labels of the stored invocations.
        """
        invocations = self.store.invocations
        ids: list[int] = []
        for timed in calls:
            call = timed.call
            id = invocations.begin(
                agent_id=self._entry.id,
                session_id=call.session_id,
                qualifier=self.qualifier,
                prompt=prompt,
                client_invoke_time=timed.sent_unix_s,
                labels=(*self.labels, *labels),
                is_sent=True,
            )
            sent_s = call.sent_s or 0.0
            invocations.finish(
                id,
                status="complete" if call.is_complete else "error",
                response="",
                client_done_time=timed.done_unix_s,
                client_duration_ms=(timed.done_unix_s - timed.sent_unix_s) * 1e3,
                ttft_ms=None if call.first_byte_s is None else (call.first_byte_s - sent_s) * 1e3,
                connect_ms=call.connect_ms,
                bytes_received=call.bytes_received,
                failure=call.failure,
                error_message=call.error_message,
                trace_id=timed.trace_id,
            )
            ids.append(id)
        return ids

    def traces(self, invocation_ids: Sequence[int]) -> list[LoadTrace]:
        """Return the telemetry of stored calls; wait as long as the settings allow.

        Args:
            invocation_ids: Ids that `keep` returned.
        """
        rows = [stored_row(self._context, id) for id in invocation_ids]
        return [
            LoadTrace(
                invocation_id=view.invocation_id,
                state=view.state,
                breakdown=view.breakdown(),
                span_ms=_own_times_ms(view),
                cost=view.cost(),
            )
            for view in self._views(rows)
        ]

    def _views(self, rows: Sequence[InvocationRow]) -> list[TraceView]:
        return find_traces(self._context, self._entry, rows, progress=lambda _line: None)


class _RunInputs:
    """Bodies for an agent that speaks AG-UI: each has the session as its thread."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        return SameBody(payload=run_input(self._prompt, thread_id=session_id)).body(call, turn, session_id)


def _own_times_ms(view: TraceView) -> dict[str, float]:
    """Return the time of each span below the request's, without that of its children, by name.

    Concurrent children count once.
    """
    own: defaultdict[str, float] = defaultdict(float)
    for _, span in view.trace.walk():
        if view.trace.operation(span) == "server":
            continue  # the request itself: its own time has no name
        own[one_line(span.name)] += (span.duration_ns - _covered_ns(view, span.span_id)) / _MS
    return dict(own)


def _covered_ns(view: TraceView, span_id: str) -> int:
    span = view.trace.span(span_id)
    if span is None:
        return 0
    covered, until = 0, span.start_ns
    for child in sorted(view.trace.children(span_id), key=lambda child: child.start_ns):
        begin, end = max(child.start_ns, until), min(child.end_ns, span.end_ns)
        if end > begin:
            covered, until = covered + end - begin, end
    return covered
