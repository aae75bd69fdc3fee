"""Tool calls read from traces and from the messages of agent frameworks."""

from .reading import tools_of

__all__ = ["tools_of"]
