"""The length of tool results, wherever a trace has them: in the tool's own span, or in a later message to the model."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.json_values import to_text

from ..traces import LogRecord, Step, Trace
from ..traces.messages import messages_of


def result_lengths(trace: Trace, steps: Sequence[Step]) -> dict[str, int]:
    """Return the length of each tool result in characters, by call id (`span <id>` where a call has none).

    Args:
        trace: The trace.
        steps: Its steps, of inner agents too.
    """
    lengths: dict[str, int] = {}
    for step in steps:
        if step.kind == "tool_result" and step.result is not None:
            lengths[step.call_id] = max(lengths.get(step.call_id, 0), len(to_text(step.result)))
    missing = {step.call_id for step in steps if step.kind in ("tool_call", "tool_result")} - set(lengths)
    if not missing:
        return lengths
    records: dict[str, list[LogRecord]] = {}
    for record in trace.log_records:
        records.setdefault(record.span_id, []).append(record)
    for span in reversed(trace.of_operation("chat")):  # the last messages contain the whole conversation
        for message in messages_of(span, records.get(span.span_id, ())).inputs:
            for step in message:
                if step.kind == "tool_result" and step.call_id in missing and step.result is not None:
                    missing.discard(step.call_id)
                    lengths[step.call_id] = len(to_text(step.result))
        if not missing:
            break
    return lengths
