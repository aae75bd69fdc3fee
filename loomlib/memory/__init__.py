"""Memory: what an agent remembers, read lazily from AgentCore Memory, where it came from, and where it was used."""

from .approvals import APPROVAL_STATES, Approval, read_approvals
from .differences import MemoryDiff, diff_snapshots
from .namespaces import Owner, Place, filled, owner_of, place_of
from .provenance import PROVENANCE_STATES, Provenance, Source, find_provenance
from .reading import MemoryReader
from .snapshots import MemorySnapshot, read_snapshot, take_snapshot
from .timeline import Moment, draw_timeline, moments_of
from .used import CONFIDENCES, READING_CALLS, Given, UsedRecord, find_used, words_of

__all__ = [
    "APPROVAL_STATES",
    "CONFIDENCES",
    "PROVENANCE_STATES",
    "READING_CALLS",
    "Approval",
    "Given",
    "MemoryDiff",
    "MemoryReader",
    "MemorySnapshot",
    "Moment",
    "Owner",
    "Place",
    "Provenance",
    "Source",
    "UsedRecord",
    "diff_snapshots",
    "draw_timeline",
    "filled",
    "find_provenance",
    "find_used",
    "moments_of",
    "owner_of",
    "place_of",
    "read_approvals",
    "read_snapshot",
    "take_snapshot",
    "words_of",
]
