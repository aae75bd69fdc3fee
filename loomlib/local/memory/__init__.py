"""AgentCore Memory: memories and their strategies, events by session and actor, long-term records."""

from .control_plane import MemoryControlPlane
from .events import EventPlane
from .journal import JournalEntry, open_journal, read_journal
from .long_term import LongTermMemory, extraction_settings
from .store import MemoryStore
from .sweeping import MemorySweeper
from .tags import MemoryTags

__all__ = [
    "EventPlane",
    "JournalEntry",
    "LongTermMemory",
    "MemoryControlPlane",
    "MemoryStore",
    "MemorySweeper",
    "MemoryTags",
    "extraction_settings",
    "open_journal",
    "read_journal",
]
