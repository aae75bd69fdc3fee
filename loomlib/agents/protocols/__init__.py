"""Protocols beyond plain requests: MCP, A2A and WebSocket sessions whose requests are stored as invocations."""

from .mcp_values import CallbackOptions, Callbacks, Elicitation, LogMessage, Progress, Sampling
from .transcript import TranscriptEntry, read_transcript

__all__ = [
    "CallbackOptions",
    "Callbacks",
    "Elicitation",
    "LogMessage",
    "Progress",
    "Sampling",
    "TranscriptEntry",
    "read_transcript",
]
