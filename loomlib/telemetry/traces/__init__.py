"""Traces: spans out of any form, put in their places, and what they say about time, calls and messages."""

from .breakdown import PARTS, PRIORITY, Breakdown, ClientTiming, Part, breakdown
from .calls import ModelCall, Parallelism, Retry, ToolCall, model_calls, parallelism, retries, tool_calls
from .cycles import Cycle, cycles
from .messages import Step
from .operations import OPERATIONS
from .read import Problem, SpanBatch, read_spans
from .span import LogRecord, Span, SpanEvent
from .steps import TRAJECTORY_PROBLEMS, ToolExchange, Trajectory
from .trace import MARKS, Trace
from .trajectory import trajectory
from .waterfall import Bar, waterfall

__all__ = [
    "MARKS",
    "OPERATIONS",
    "PARTS",
    "PRIORITY",
    "TRAJECTORY_PROBLEMS",
    "Bar",
    "Breakdown",
    "ClientTiming",
    "Cycle",
    "LogRecord",
    "ModelCall",
    "Parallelism",
    "Part",
    "Problem",
    "Retry",
    "Span",
    "SpanBatch",
    "SpanEvent",
    "Step",
    "ToolCall",
    "ToolExchange",
    "Trace",
    "Trajectory",
    "breakdown",
    "cycles",
    "model_calls",
    "parallelism",
    "read_spans",
    "retries",
    "tool_calls",
    "trajectory",
    "waterfall",
]
