"""Agents: their ARNs, the catalog, and invocations with their events and records."""

from .arn import RuntimeArn
from .catalog import GROUP_PREFIX, Catalog
from .entry import DELETED, AgentEntry, entry_from_row
from .events import FAILURES, Chunk, InvocationError, InvocationEvent, SessionEnd, SessionStart
from .invoker import Invoker
from .notes import Note, note_of
from .payloads import new_session_id
from .record import InvocationRecord, record_from_row
from .streams import AsyncEventStream, EventStream

__all__ = [
    "DELETED",
    "FAILURES",
    "GROUP_PREFIX",
    "AgentEntry",
    "AsyncEventStream",
    "Catalog",
    "Chunk",
    "EventStream",
    "InvocationError",
    "InvocationEvent",
    "InvocationRecord",
    "Invoker",
    "Note",
    "RuntimeArn",
    "SessionEnd",
    "SessionStart",
    "entry_from_row",
    "new_session_id",
    "note_of",
    "record_from_row",
]
