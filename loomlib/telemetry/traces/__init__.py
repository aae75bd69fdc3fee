"""Traces: read spans, arrange them as trees, and compute times, calls and messages."""

from loomlib.dispatch import register

from .artifacts import ToolArtifacts, TraceFile, TracePicture, tool_artifacts
from .attribution import breakdown
from .bars import Bar
from .calls import ModelCall, Parallelism, Retry, ToolCall, model_calls, parallelism, retries, tool_calls
from .cycles import Cycle, cycles
from .messages import Step
from .operations import OPERATIONS
from .parts import PARTS, PRIORITY, Breakdown, ClientTiming, Part
from .read import ReadProblem, SpanBatch, read_spans
from .span import LogRecord, Span, SpanEvent
from .span_rows import waterfall
from .trace import MARKS, Trace
from .trajectory import TRAJECTORY_PROBLEMS, ToolExchange, Trajectory
from .trajectory_builder import trajectory

register("Trace.breakdown", "loomlib.telemetry.traces.attribution:breakdown")
register("Trace.trajectory", "loomlib.telemetry.traces.trajectory_builder:trajectory")
register("Trace.waterfall", "loomlib.telemetry.traces.span_rows:waterfall")
register("Trace.table", "loomlib.telemetry.traces.span_rows:span_table")

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
    "ReadProblem",
    "Retry",
    "Span",
    "SpanBatch",
    "SpanEvent",
    "Step",
    "ToolArtifacts",
    "ToolCall",
    "ToolExchange",
    "Trace",
    "TraceFile",
    "TracePicture",
    "Trajectory",
    "breakdown",
    "cycles",
    "model_calls",
    "parallelism",
    "read_spans",
    "retries",
    "tool_artifacts",
    "tool_calls",
    "trajectory",
    "waterfall",
]
