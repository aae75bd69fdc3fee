"""The records that were retrieved into an answer's prompt, by the invocation's trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..memory import READING_CALLS, Given, find_used, words_of
from . import memory_tables as tables

if TYPE_CHECKING:
    from ..telemetry.traces import Span, Trajectory
    from .invocation import Invocation
    from .memory import Memory
    from .memory_frame import MemoryFrame
    from .trace_view import TraceView

_PLACES = {"system": "system prompt", "user": "prompt", "tool_result": "tool result"}


def used_frame(
    inv: Invocation, memories: Iterable[Memory], *, scan: int, progress: Callable[[str], None]
) -> MemoryFrame:
    """One row a record found in the prompt; at most `scan` records of each memory are compared."""
    view = inv.trace(progress=progress)
    given, calls = list(given_in(view)), reading_calls(view)
    done = inv.record.client_done_time
    answered_at = None if done is None else datetime.fromtimestamp(done, UTC)
    rows: list[tuple[Any, ...]] = []
    cut: list[str] = []
    if given:
        for memory in memories:
            records = list(memory.reader.records(limit=scan, progress=progress))
            if len(records) == scan:
                cut.append(f"{memory.name}: {scan:,} records compared, there may be more (scan=)")
            for each in find_used(
                memory.id, records, given, asked=inv.record.prompt or "", calls=calls, answered_at=answered_at
            ):
                rows.append((inv.record.id, inv.session_id, *each.row().values()))
    seen = f"{len(calls)} call(s) in the trace read records" if calls else "no span of a call that reads records"
    note = "; ".join([f"By the texts in the trace, inferred; {seen}", *cut])
    nothing = (
        "nothing that the model was given is in the trace" if not given else "no record's text stands in the prompt"
    )
    empty = "; ".join([f"{nothing[0].upper()}{nothing[1:]} (trace: {view.state}); {seen}", *cut])
    return tables.frame(rows, tables.USED, title="Memory in the answer", note=note, empty=empty)


def given_in(view: TraceView) -> Iterator[Given]:
    """What the model was given in this trace: system prompt, what was asked, tool results."""
    yield from _given(view.trajectory())


def reading_calls(view: TraceView) -> list[str]:
    """The spans of calls that bring records in."""
    return [span.span_id for span in view.trace.spans if _method(span) in READING_CALLS]


def _given(found: Trajectory) -> Iterator[Given]:
    for step in (*found.history, *found.steps):
        if step.kind in _PLACES:
            text = words_of(step.result) if step.kind == "tool_result" else step.text
            if text:
                tool = step.name if step.kind == "tool_result" else ""
                yield Given(where=_PLACES[step.kind], text=text, span_id=step.span_id, tool=tool)
    inner: Sequence[Trajectory] = found.agents
    for each in inner:
        yield from _given(each)


def _method(span: Span) -> str:
    return str(span.attributes.get("rpc.method") or span.name.rpartition(".")[2])
