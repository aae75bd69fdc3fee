"""Stored invocations of a session as a conversation for an eval case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..evals.capture import Conversation
from ..evals.capture.conversation import turn_of_row
from ..evals.trajectories import tools_of
from ..store import InvocationRow
from ..telemetry.traces import Trace


def conversation_of(
    rows: Sequence[InvocationRow], agent_name: str, traces: Mapping[int, Trace] | None = None
) -> Conversation:
    """Return invocations of one session as a conversation.

    Args:
        rows: The invocations, oldest first.
        agent_name: The agent's name in the catalog.
        traces: Traces by invocation id; they name the tools that were called.
    """
    traces_by_id = traces or {}
    return Conversation(
        turns=tuple(
            turn_of_row(
                prompt=row.prompt,
                answer=row.response,
                payload_digest=row.payload_digest,
                failure=None if row.status == "complete" else row.failure or "exception",
                error=row.error_message or "",
                invocation_id=row.id,
                trace_id=row.trace_id,
                tools=tools_in(traces_by_id.get(row.id)),
            )
            for row in rows
        ),
        session_id=rows[0].session_id,
        agent_name=agent_name,
        labels=tuple(dict.fromkeys(label for row in rows for label in row.labels)),
    )


def tools_in(trace: Trace | None) -> Any:
    """Return the tool calls of a trace, or None when it has no spans."""
    return None if trace is None or not trace.spans else tools_of(trace)
