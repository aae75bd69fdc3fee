"""Conventions by which other libraries name a span's attributes, and their translation to OpenTelemetry's GenAI names.

A convention is a table (`tables`); one mechanism reads all of them (`translation`). `agents` finds the spans of
a trace that represent an agent, where a span's own attributes do not say so.
"""

from .agents import agents_by_structure
from .tables import CONVENTIONS, MessageLayout, SpanConvention
from .translation import translate

__all__ = ["CONVENTIONS", "MessageLayout", "SpanConvention", "agents_by_structure", "translate"]
