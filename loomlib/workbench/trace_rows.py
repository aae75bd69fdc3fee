"""Model calls, tool calls and cycles of a trace as rows, with units in the column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..telemetry.traces import Cycle, ModelCall, ToolCall

SPAN_COLUMNS: Final = (
    "trace_id", "span_id", "parent_id", "depth", "name", "operation", "part", "kind", "start_ms", "duration_ms",
    "status", "status_message", "tool", "model", "input_tokens", "output_tokens", "ttft_ms", "session_id", "scope",
    "marks", "start_ns", "end_ns",
)  # fmt: skip
STEP_COLUMNS: Final = ("step", "kind", "text", "tool", "call_id", "arguments", "result", "status", "span_id")
CAUSE_COLUMNS: Final = (
    "rank", "rule", "title", "ms_at_stake", "share", "confidence", "because", "evidence", "try", "affected", "of",
    "spans", "source",
)  # fmt: skip
MODEL_CALL_COLUMNS: Final = (
    "model", "cycle", "attempt", "duration_ms", "ttft_ms", "streaming_share", "input_tokens", "output_tokens",
    "cache_read_tokens", "cache_write_tokens", "finish_reason", "failed", "error", "http_retries", "span_id",
)  # fmt: skip
TOOL_CALL_COLUMNS: Final = ("tool", "cycle", "duration_ms", "status", "error", "call_id", "span_id")
CYCLE_COLUMNS: Final = (
    "cycle", "duration_ms", "model_ms", "input_tokens", "output_tokens", "growth_tokens", "growth_share", "tools",
    "tools_ms", "parallelism", "most_at_once", "inferred", "span_id",
)  # fmt: skip
"""Columns of the tables, even if they have no rows."""


def model_call_row(call: ModelCall) -> dict[str, Any]:
    """Return the row of a model call."""
    return _row(call, MODEL_CALL_COLUMNS, failed=call.is_failed)


def tool_call_row(call: ToolCall) -> dict[str, Any]:
    """Return the row of a tool call."""
    return _row(call, TOOL_CALL_COLUMNS, tool=call.name)


def cycle_row(cycle: Cycle) -> dict[str, Any]:
    """Return the row of one cycle of the agent's loop."""
    return _row(
        cycle,
        CYCLE_COLUMNS,
        cycle=cycle.number,
        duration_ms=cycle.duration_ns / 1e6,
        model_ms=cycle.model_ns / 1e6,
        tools=cycle.tools.calls,
        tools_ms=cycle.tools.elapsed_ns / 1e6,
        parallelism=cycle.tools.factor,
        most_at_once=cycle.tools.most_at_once,
        inferred=cycle.is_inferred,
    )


def _row(of: object, columns: Sequence[str], **values: Any) -> dict[str, Any]:
    """Return a row: `values`, and the attributes of the other columns' names."""
    return {name: values[name] if name in values else getattr(of, name) for name in columns}
