"""AgentCore Memory: reads its events and records, where a record came from, and which answers used it."""

from .approvals import APPROVAL_STATES, Approval, read_approvals
from .differences import MemoryDiff, diff_snapshots
from .namespaces import NamespaceOwner, RecordLocation, fill_template, location_of, owner_of
from .provenance import PROVENANCE_STATES, Provenance, SourceEvent, find_provenance
from .reading import MemoryReader
from .snapshots import MemorySnapshot, read_snapshot, take_snapshot
from .timeline import TimelineEntry, draw_timeline, timeline_entries
from .used import CONFIDENCES, READING_CALLS, PromptText, UsedRecord, find_used, texts_in

__all__ = [
    "APPROVAL_STATES",
    "CONFIDENCES",
    "PROVENANCE_STATES",
    "READING_CALLS",
    "Approval",
    "MemoryDiff",
    "MemoryReader",
    "MemorySnapshot",
    "NamespaceOwner",
    "PromptText",
    "Provenance",
    "RecordLocation",
    "SourceEvent",
    "TimelineEntry",
    "UsedRecord",
    "diff_snapshots",
    "draw_timeline",
    "fill_template",
    "find_provenance",
    "find_used",
    "location_of",
    "owner_of",
    "read_approvals",
    "read_snapshot",
    "take_snapshot",
    "texts_in",
    "timeline_entries",
]
