"""Find the memory records in an answer's prompt, by the invocation's trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..agents import InvocationRecord
from ..memory import READING_CALLS, MemoryReader, PromptText, find_used, texts_in
from ..presentation.formats import plural
from ..telemetry.traces import Span, Trajectory
from . import memory_tables as tables

if TYPE_CHECKING:
    from .memory_frame import MemoryFrame
    from .trace_view import TraceView

_PLACES = {"system": "system prompt", "user": "prompt", "tool_result": "tool result"}


def used_frame(
    view: TraceView,
    record: InvocationRecord,
    memories: Iterable[MemoryReader],
    *,
    scan: int,
    progress: Callable[[str], None],
) -> MemoryFrame:
    """Return the memory records in an answer's prompt, one row each.

    Args:
        view: The invocation's trace.
        record: The invocation.
        memories: The memories whose records are searched for.
        scan: Maximum number of records to compare per memory.
        progress: Called with a line while records are read.
    """
    given_texts, calls = list(given_in(view)), reading_calls(view)
    done_s = record.client_done_time
    answered_at = None if done_s is None else datetime.fromtimestamp(done_s, UTC)
    rows: list[tuple[Any, ...]] = []
    truncated: list[str] = []
    if given_texts:
        for reader in memories:
            memory = reader.memory
            records = list(reader.records(limit=scan, progress=progress))
            if len(records) == scan:
                compared_text = f"{plural(scan, 'record')} compared; there may be more (increase scan=)"
                truncated.append(f"{memory.name}: {compared_text}")
            uses = find_used(
                memory.memory_id,
                records,
                given_texts,
                caller_text=record.prompt or "",
                calls=calls,
                answered_at=answered_at,
            )
            rows += [(record.id, record.session_id, *use.row().values()) for use in uses]
    reading_note = f"{len(calls)} calls in the trace read records" if calls else "no call in the trace reads records"
    note = "; ".join([f"Inferred from the texts in the trace; {reading_note}", *truncated])
    reason = "No record's text is in the prompt" if given_texts else "The trace does not contain the model's input"
    empty = "; ".join([f"{reason} (trace: {view.state}); {reading_note}", *truncated])
    return tables.frame(rows, tables.USED, title="Memory records in the prompt", note=note, empty=empty)


def given_in(view: TraceView) -> Iterator[PromptText]:
    """Yield the texts in the model's input: system prompt, user messages, tool results."""
    yield from _prompt_texts(view.trajectory())


def reading_calls(view: TraceView) -> list[str]:
    """Return the ids of the spans of calls that read memory records."""
    return [span.span_id for span in view.trace.spans if _method(span) in READING_CALLS]


def _prompt_texts(trajectory: Trajectory) -> Iterator[PromptText]:
    for step in (*trajectory.history, *trajectory.steps):
        if step.kind in _PLACES:
            text = texts_in(step.result) if step.kind == "tool_result" else step.text
            if text:
                tool = step.name if step.kind == "tool_result" else ""
                yield PromptText(where=_PLACES[step.kind], text=text, span_id=step.span_id, tool=tool)
    inner: Sequence[Trajectory] = trajectory.agents
    for agent in inner:
        yield from _prompt_texts(agent)


def _method(span: Span) -> str:
    return str(span.attributes.get("rpc.method") or span.name.rpartition(".")[2])
