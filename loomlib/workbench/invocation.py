"""An invocation as a notebook sees it: the stored record, and the questions that can be asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import LoomError
from .cards import card, milliseconds

if TYPE_CHECKING:
    import pandas as pd

    from ..agents import InvocationRecord
    from ..agents.mcp_apps import AppView
    from ..evals import EvalCase
    from ..evals.capture import Conversation
    from ..memory.approvals import Approval
    from ..store import InvocationRow
    from ..telemetry import AgentStart
    from .agent import Agent
    from .agui_view import AguiView
    from .memory import Memory
    from .memory_frame import MemoryFrame
    from .telemetry_views import LayersView
    from .trace_view import TraceView


class Invocation:
    """One request with its answer: `text`, `status`, timings, and from there `latency()` and `logs()`.

    Durations are milliseconds by a monotonic clock; `started_at` is the client's wall clock. A failed invocation is an
    `Invocation` too: `ok` is False, `failure` its class (`loomlib.agents.FAILURES`), `error` the message.
    """

    def __init__(self, record: InvocationRecord, agent: Agent) -> None:
        self.record, self.agent = record, agent

    @property
    def text(self) -> str:
        """What the agent answered (all that came, when it broke off)."""
        return self.record.response

    @property
    def ok(self) -> bool:
        """Whether the answer is complete."""
        return self.record.ok

    @property
    def status(self) -> str:
        """`pending`, `streaming`, `complete` or `error`."""
        return self.record.status

    @property
    def failure(self) -> str | None:
        """The class of the failure, None when there is none."""
        return self.record.failure

    @property
    def error(self) -> str | None:
        """What went wrong, in words."""
        return self.record.error_message

    @property
    def session_id(self) -> str:
        """The runtime session; pass it to `agent.invoke(…, session_id=…)` to go on with the conversation."""
        return self.record.session_id

    @property
    def ttft_ms(self) -> float | None:
        """Time to the first byte of the body, from the moment the request was sent."""
        return self.record.ttft_ms

    @property
    def duration_ms(self) -> float | None:
        """From the moment the request was sent to the last byte."""
        return self.record.client_duration_ms

    @property
    def started_at(self) -> datetime | None:
        """When the request was sent (the client's clock)."""
        sent = self.record.client_invoke_time
        return None if sent is None else datetime.fromtimestamp(sent, UTC)

    @property
    def labels(self) -> tuple[str, ...]:
        """What must be said beside every number of this invocation, such as "simulated"."""
        return self.record.labels

    @property
    def pending(self) -> tuple[Approval, ...]:
        """What waits in this session for a person's approval right now, by the agent's memory (`Agent.approvals`).

        for each in inv.pending:
            agent.approve(each)
        """
        return self.agent.approvals(session_id=self.session_id).pending

    def latency(self, *, progress: Callable[[str], None] | None = None) -> AgentStart:
        """The agent's start, found in its logs, and the cold-start latency; kept once found.

        Logs arrive late, so this polls with a deadline (`Settings.log_poll_attempts` × `log_poll_interval_s`). When
        nothing is found the `state` of the answer says why; it is never a zero.
        """
        found = self.agent.bench.find_start(self.record, progress=progress)
        self.record = self.agent.bench.stored_invocation(self.record)
        return found

    def trace(self, *, source: str | None = None, progress: Callable[[str], None] | None = None) -> TraceView:
        """Where the time went: the agent's spans, and how they divide the client's duration; kept once whole.

        Spans arrive late (within a second locally, after two to three minutes on AWS), so this polls with a deadline
        and tells `progress` how it stands (a line in the notebook, unless one is given). When nothing is found the
        `state` says why, and what can be done. `source` names a plugin's span source to ask instead of CloudWatch.

            inv.trace().breakdown()
        """
        return self.agent.bench.find_traces(self.agent.entry, [self._row()], source=source, progress=progress)[0]

    def layers(self) -> LayersView:
        """What six places say about this invocation, side by side, each with what it cannot see.

        The client's timing, log lines, spans and messages, embedded metrics, AgentCore's metrics, Logs Insights.
        Only the trace is waited for.
        """
        from ..telemetry.layer_reader import read_layers
        from .telemetry_views import LayersView

        view = self.trace()
        found = read_layers(self.agent.bench.clients, self.agent.entry.arn, self._row(), view.trace)
        return LayersView(found, title=view.title())

    def memories_used(self, *memories: Memory, progress: Callable[[str], None] | None = None) -> MemoryFrame:
        """The records of long-term memory that stood in this answer's prompt, with the evidence of its trace.

        Of these memories; of all of the agent's region when none is named.
        """
        from .memory_uses import used_frame
        from .wait_line import WaitLine

        bench, region = self.agent.bench, self.agent.entry.region
        looked = memories or [bench.memory(arn, region=region) for arn in bench.memories(region=region)["arn"]]
        return used_frame(self, looked, scan=10_000, progress=progress or WaitLine())

    def agui(self) -> AguiView:
        """What the answer said in AG-UI: typed events, and the text, tools, state and questions they add up to.

        inv.agui().state, inv.agui().confirmations
        """
        from .agui_view import AguiView

        events = self.agent.store.invocations.events(self.record.id)
        has_ended = self.record.status in ("complete", "error")
        return AguiView(events, agent_name=self.record.agent_name, labels=self.labels, has_ended=has_ended)

    def views(self) -> tuple[AppView, ...]:
        """The views that the answer's tools brought (MCP Apps)."""
        from ..agents.mcp_apps import read_view

        events = self.agent.store.invocations.events(self.record.id)
        return tuple(view for each in events if (view := read_view(each)) is not None)

    def logs(self) -> pd.DataFrame:
        """The log events of this invocation's session, oldest first (see `Agent.logs`)."""
        return self.agent.logs(session_id=self.session_id, qualifier=self.record.qualifier)

    def raise_for_status(self) -> Invocation:
        """This invocation when its answer is complete; otherwise raises `InvocationFailedError`."""
        self.record.raise_for_status()
        return self

    def captured(self) -> Conversation:
        """What was asked and answered, with the tools of its trace: `EvalSet.capture` takes it."""
        from .capturing import captured_invocation

        return captured_invocation(self)

    def as_case(self, **options: Any) -> EvalCase:
        """This as a case of its own, cleaned: `expected`, `tags`, `redact` and `id` as for `EvalSet.capture`.

        evalset.with_cases(inv.as_case(tags=["production"]))
        """
        from .capturing import case_of_invocation

        return case_of_invocation(self, **options)

    def to_dict(self) -> dict[str, Any]:
        """Everything of the record, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.record).items()}  # pyright: ignore[reportUnknownArgumentType]

    def sentence(self) -> str:
        """The outcome in one line."""
        if not self.ok:
            return f"{self.failure or self.status}: {self.error or 'no answer yet'}"
        labels = f" · {' · '.join(self.labels)}" if self.labels else ""
        return (
            f"{milliseconds(self.duration_ms)} in all, first byte after {milliseconds(self.ttft_ms)}"
            f" · session {self.session_id}{labels}"
        )

    def _row(self) -> InvocationRow:
        row = self.agent.store.invocations.get(self.record.id)
        if row is None:
            raise LoomError("The invocation is not stored, so nothing more is known of it", on=str(self.record.id))
        return row

    def __repr__(self) -> str:
        return f"<Invocation of {self.record.agent_name}: {self.status}, {milliseconds(self.duration_ms)}>"

    def _repr_html_(self) -> str:
        kind = {"complete": "good", "error": "bad"}.get(self.status, "wait")
        facts = [
            ("duration", milliseconds(self.duration_ms)),
            ("first byte", milliseconds(self.ttft_ms)),
            ("connection", _connection(self.record)),
            ("session", self.session_id),
        ]
        if self.record.cold_start_latency_ms is not None:
            facts.insert(2, ("agent started after", milliseconds(self.record.cold_start_latency_ms)))
        if not self.ok:
            facts.insert(0, ("failure", self.failure or "–"))
        return card(
            self.record.agent_name,
            state=(kind, self.status),
            labels=self.labels,
            text=self.text if self.ok else "\n".join(filter(None, (self.error, self.text))),
            facts=facts,
        )


def _connection(record: InvocationRecord) -> str:
    if record.connection_reused:
        return "reused"
    return f"new, {milliseconds(record.connect_ms)}" if record.connect_ms is not None else "–"
