"""The tool calls of an agent, read from a trace, an answer's body or a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from loomlib.telemetry import Trace, Trajectory, tool_calls, trajectory

from ..values.tool_use import ToolUse
from .message_bodies import mapping_in, tools_of_body


def tools_of(source: object, *, read: Callable[[Any], object] | None = None) -> tuple[ToolUse, ...] | None:
    """Return the tool calls in `source`, in order.

    Args:
        source: A `Trajectory` or `Trace` (of either span convention), a body with messages of strands, ADK, OpenAI or
            Anthropic (a mapping, a list or JSON text), `ToolUse` values, or names.
        read: Converts the source to one of these first.

    Returns:
        An empty tuple when there are messages without a call; None when the source contains no information about calls.

    Examples:
        >>> tools_of({"messages": [{"role": "model", "content": [{"toolUse": {"name": "add", "input": {"a": 1}}}]}]})
        (ToolUse(name='add', arguments={'a': 1}, ...),)
    """
    if read is not None:
        return tools_of(read(source))
    if source is None:
        return None
    if isinstance(source, Trajectory):
        return _of_trajectory(source)
    if isinstance(source, Trace):
        return _of_trace(source)
    if isinstance(source, (str, bytes)):
        try:
            return tools_of_body(json.loads(source))
        except (ValueError, RecursionError):
            return None
    if isinstance(source, Sequence):
        items = cast("Sequence[Any]", source)
        if all(isinstance(item, (ToolUse, str)) for item in items):
            return tuple(item if isinstance(item, ToolUse) else ToolUse(name=item) for item in items)
    return tools_of_body(cast("object", source))


def _of_trajectory(path: Trajectory, durations: Mapping[str, float] | None = None) -> tuple[ToolUse, ...] | None:
    if "no_spans" in path.problems and not path.tool_names:
        return None
    durations_by_id = durations or {}
    return tuple(
        ToolUse(
            name=use.name,
            arguments=mapping_in(use.arguments),
            result=use.result,
            status=use.status,
            duration_ms=durations_by_id.get(use.call_id),
            span_id=use.span_id,
        )
        for use in path.tool_calls
    )


def _of_trace(trace: Trace) -> tuple[ToolUse, ...] | None:
    """Read the trajectory of a trace, with the duration of each tool's own span."""
    return _of_trajectory(trajectory(trace), {call.call_id: call.duration_ms for call in tool_calls(trace)})
