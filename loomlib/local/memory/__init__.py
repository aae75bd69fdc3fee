"""AgentCore Memory: memories and their strategies, events by session and actor, long-term records."""

from .application_logs import MemoryLogs
from .control_plane import MEMORY, MemoryBehaviour, MemoryDirectory
from .events import EventPlane
from .journal import JournalEntry, open_journal, read_journal
from .long_term import LongTermMemory, extraction_settings
from .store import MemoryStore
from .sweeping import MemorySweeper

__all__ = [
    "MEMORY",
    "EventPlane",
    "JournalEntry",
    "LongTermMemory",
    "MemoryBehaviour",
    "MemoryDirectory",
    "MemoryLogs",
    "MemoryStore",
    "MemorySweeper",
    "extraction_settings",
    "open_journal",
    "read_journal",
]
