"""AgentCore Memory: memories and their strategies, and short-term memory's events, sessions and actors."""

from .control_plane import MemoryControlPlane
from .events import EventPlane
from .store import MemoryStore

__all__ = ["EventPlane", "MemoryControlPlane", "MemoryStore"]
