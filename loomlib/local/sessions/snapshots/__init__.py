"""Freezes an agent's process once it serves, and forks sessions from it. It runs in the agent's process."""

from .freezing import Freezer, Request

__all__ = ["Freezer", "Request"]
