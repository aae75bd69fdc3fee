"""How long tools' results are, wherever a trace tells it: the tool's own span, or a later message to the model."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.json_values import to_text

from ..traces import LogRecord, Step, Trace
from ..traces.messages import messages_of


def result_lengths(trace: Trace, steps: Sequence[Step]) -> dict[str, int]:
    """Characters by call id (`span …` where a call has none); a result that nothing tells is not in it."""
    found: dict[str, int] = {}
    for step in steps:
        if step.kind == "tool_result" and step.result is not None:
            found[step.call_id] = max(found.get(step.call_id, 0), len(to_text(step.result)))
    missing = {step.call_id for step in steps if step.kind in ("tool_call", "tool_result")} - set(found)
    if not missing:
        return found
    records: dict[str, list[LogRecord]] = {}
    for record in trace.log_records:
        records.setdefault(record.span_id, []).append(record)
    for span in reversed(trace.of_operation("chat")):  # the last messages hold all that was said before
        for message in messages_of(span, records.get(span.span_id, ())).inputs:
            for step in message:
                if step.kind == "tool_result" and step.call_id in missing and step.result is not None:
                    missing.discard(step.call_id)
                    found[step.call_id] = len(to_text(step.result))
        if not missing:
            break
    return found
