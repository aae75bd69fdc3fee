"""Protocols beyond plain requests: MCP, A2A and WebSocket sessions whose requests are stored as invocations."""

from loomlib.deprecation import renamed_names

from .mcp_values import CallbackOptions, Callbacks, Elicitation, LogMessage, ProgressNotification, Sampling
from .transcript import TranscriptEntry, read_transcript

__all__ = [
    "CallbackOptions",
    "Callbacks",
    "Elicitation",
    "LogMessage",
    "ProgressNotification",
    "Sampling",
    "TranscriptEntry",
    "read_transcript",
]

__getattr__ = renamed_names(__name__, {"Progress": "ProgressNotification"})
