"""The caller's trace context, parsed from the headers of an invocation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .processor import SESSION_ID

_W3C_TRACE, _W3C_BAGGAGE = TraceContextTextMapPropagator(), W3CBaggagePropagator()
_XRAY_ROOT = re.compile(r"1-([0-9a-f]{8})-([0-9a-f]{24})")
_XRAY_PARENT = re.compile(r"[0-9a-f]{16}")


def incoming_context(headers: Mapping[str, str], session_id: str) -> Context:
    """Return the context in which a root span starts.

    It comes from traceparent, or else X-Amzn-Trace-Id, and carries the session's id as baggage.

    Args:
        headers: The request's headers, with lower-case names.
        session_id: The session's id.
    """
    context = _W3C_TRACE.extract(headers, Context())
    if "baggage" in headers:
        context = _W3C_BAGGAGE.extract(headers, context)
    if not get_current_span(context).get_span_context().is_valid and "x-amzn-trace-id" in headers:
        context = _from_xray(headers["x-amzn-trace-id"], context)
    return baggage.set_baggage(SESSION_ID, session_id, context)


def _from_xray(header: str, context: Context) -> Context:
    """`Root=1-{8 hex}-{24 hex};Parent={16 hex};Sampled=1`, as X-Ray writes it (its tracing header)."""
    fields = dict(part.strip().split("=", 1) for part in header.split(";") if "=" in part)
    root, parent = _XRAY_ROOT.fullmatch(fields.get("Root", "")), _XRAY_PARENT.fullmatch(fields.get("Parent", ""))
    if root is None or parent is None:
        return context
    flags = TraceFlags(TraceFlags.DEFAULT if fields.get("Sampled") == "0" else TraceFlags.SAMPLED)
    remote = SpanContext(int(root[1] + root[2], 16), int(parent[0], 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(remote), context)
