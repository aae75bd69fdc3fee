"""A memory's contents as DataFrames, built in chunks.

Columns that repeat a few values over many rows are categories. A memory's sessions are `memory_session_id`, because
runtime sessions are something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ..aws.memory_shapes import FailedExtraction, MemoryDescription, MemoryEvent, MemoryRecord, MemorySession
from ..memory.displays import cell_text as cell_text
from ..memory.displays import html_table as html_table
from ..presentation.formats import plural

if TYPE_CHECKING:
    import pandas as pd

    from .memory_frame import MemoryFrame

CHUNK_ROWS: Final = 10_000

MEMORIES: Final = ("name", "status", "memory_id", "region", "created_at", "updated_at", "arn")
ACTORS: Final = ("actor_id",)
SESSIONS: Final = ("memory_session_id", "actor_id", "created_at")
EVENTS: Final = (
    "timestamp", "actor_id", "memory_session_id", "role", "text", "messages", "branch", "root_event_id", "metadata",
    "event_id",
)  # fmt: skip
RECORDS: Final = (
    "text", "namespace", "strategy", "created_at", "updated_at", "extractor", "source_events", "metadata", "record_id",
)  # fmt: skip
FOUND: Final = ("score", *RECORDS)
SOURCES: Final = (
    "certainty", "score", "timestamp", "actor_id", "memory_session_id", "excerpt", "branch", "event_id",
)  # fmt: skip
USED: Final = (
    "invocation_id", "runtime_session_id", "memory_id", "record_id", "text", "where", "confidence", "because",
    "namespace", "extractor", "span_ids", "call_span_ids",
)  # fmt: skip
FAILED: Final = ("strategy", "actor_id", "memory_session_id", "status", "reason", "events", "job_id")
_CATEGORIES: Final = frozenset(
    {"actor_id", "memory_session_id", "role", "branch", "namespace", "strategy", "extractor", "root_event_id"}
)


def memory_row(memory: MemoryDescription) -> tuple[Any, ...]:
    """Return the row of a memory."""
    return (
        memory.name, memory.status, memory.memory_id, memory.region, memory.created_at, memory.updated_at, memory.arn,
    )  # fmt: skip


def session_row(session: MemorySession) -> tuple[Any, ...]:
    """Return the row of a session."""
    return (session.session_id, session.actor_id, session.created_at)


def event_row(event: MemoryEvent) -> tuple[Any, ...]:
    """Return the row of an event; `role` joins the roles of its messages."""
    roles = "+".join(dict.fromkeys(message.role for message in event.messages))
    return (
        event.timestamp, event.actor_id, event.session_id, roles, event.text, len(event.messages), event.branch,
        event.root_event_id, dict(event.metadata) or None, event.event_id,
    )  # fmt: skip


def record_row(record: MemoryRecord, strategies: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the row of a record; `source_events` counts those that the service states, or is None."""
    return (
        record.text, ", ".join(record.namespaces), strategies.get(record.strategy_id, record.strategy_id),
        record.created_at, record.updated_at, record.extractor, len(record.stated_sources) or None,
        {key: value for key, value in record.metadata.items() if not key.startswith("x-loom-")} or None,
        record.record_id,
    )  # fmt: skip


def failed_row(failed: FailedExtraction) -> tuple[Any, ...]:
    """Return the row of a failed extraction."""
    return (
        failed.strategy_id,
        failed.actor_id,
        failed.session_id,
        failed.status,
        failed.reason,
        len(failed.event_ids),
        failed.job_id,
    )


def frame(
    rows: Iterable[tuple[Any, ...]],
    columns: Sequence[str],
    *,
    title: str,
    note: str = "",
    empty: str = "",
    limit: int | None = None,
) -> MemoryFrame:
    """Build a DataFrame from rows, with at most one chunk of them as Python values at a time.

    Args:
        rows: The rows, each with one value for each column.
        columns: The columns' names.
        title: The title above the table.
        note: A sentence below the table.
        empty: The sentence shown instead when there are no rows.
        limit: The limit that the rows were read with; the note mentions it when it was reached.
    """
    import pandas as pd

    from .memory_frame import MemoryFrame

    source = iter(rows)
    parts: list[pd.DataFrame] = []
    categories: dict[str, dict[Any, None]] = {name: {} for name in columns if name in _CATEGORIES}
    while chunk := list(islice(source, CHUNK_ROWS)):
        part = pd.DataFrame(chunk, columns=list(columns))
        for name, values in categories.items():
            values.update(dict.fromkeys(part[name].unique()))
            part[name] = pd.Categorical(part[name], categories=list(values))
        parts.append(part)
    for part in parts[:-1]:
        for name, values in categories.items():
            part[name] = part[name].cat.set_categories(list(values))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))
    is_cut = limit is not None and len(whole) == limit
    cut = f"The first {plural(len(whole), 'row')}; limit=None reads all." if is_cut else ""
    return MemoryFrame(whole).titled(title, " ".join(filter(None, (note, cut))) if parts else empty)
