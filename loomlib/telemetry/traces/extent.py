"""The whole that a breakdown divides, and how the agent's clock lies to the client's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .span import Span
from .trace import Trace

if TYPE_CHECKING:
    from .breakdown import ClientTiming

TOLERANCE_NS = 2_000_000
"""Spans may stick out of the client's interval by this much: a server span ends a moment after its last byte left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """From `start_ns` to `end_ns` by the client's clock; `shift_ns` brings the agent's clock to it."""

    start_ns: int
    end_ns: int
    whole: str
    shift_ns: int = 0
    marks: frozenset[str] = frozenset()
    skew: str = ""


def timed(span: Span) -> bool:
    """Whether a span has a start and an end that can be believed."""
    return span.end_ns >= span.start_ns and "untimed" not in span.marks


def own_servers(trace: Trace) -> tuple[Span, ...]:
    """The server spans of the agent itself: the nearest above its outermost agents.

    A server further up is the caller's, one below is a service that the agent called. Where no `invoke_agent` span has
    a server above it, the outermost servers are taken for the agent's.
    """
    servers = trace.of_operation("server")
    if len(servers) < 2:
        return servers
    nearest: dict[str, str] = {}
    below_agent: set[str] = set()
    found: set[str] = set()
    outermost: set[str] = set()
    for _, span in trace.walk():
        above = trace.parent(span)
        operation = trace.operation(span)
        if above is not None:
            nearest[span.span_id] = nearest[above.span_id]
            if above.span_id in below_agent:
                below_agent.add(span.span_id)
        else:
            nearest[span.span_id] = ""
        if span.span_id in below_agent:
            continue
        if operation == "server":
            if not nearest[span.span_id]:
                outermost.add(span.span_id)
            nearest[span.span_id] = span.span_id
        elif operation == "invoke_agent":
            below_agent.add(span.span_id)
            found.add(nearest[span.span_id])
    wanted = found - {""} or outermost
    return tuple(span for span in servers if span.span_id in wanted)


def extent_of(trace: Trace, client: ClientTiming | None) -> Extent:
    """The client's interval, else the interval of the trace's root spans."""
    if client is None:
        return _of_roots(trace)
    anchor = _hull(own_servers(trace) or trace.of_operation("invoke_agent") or trace.spans)
    whole = "the client's interval, from the request's sending to the end of the answer"
    if anchor is None:
        return Extent(start_ns=client.sent_ns, end_ns=client.done_ns, whole=whole)
    before, after = client.sent_ns - anchor[0], anchor[1] - client.done_ns
    if before <= TOLERANCE_NS and after <= TOLERANCE_NS:
        return Extent(start_ns=client.sent_ns, end_ns=client.done_ns, whole=whole)
    fits = before <= -after  # the agent's interval is no longer than the client's
    if client.same_clock or not fits:
        return Extent(
            start_ns=client.sent_ns,
            end_ns=client.done_ns,
            whole=whole,
            marks=frozenset({"clipped"}),
            skew="" if client.same_clock else "spans lie outside the client's interval and were cut to it",
        )
    shift = before if before > 0 else -after
    return Extent(
        start_ns=client.sent_ns,
        end_ns=client.done_ns,
        whole=whole,
        shift_ns=shift,
        marks=frozenset({"clock_shifted", "clock_skewed"}),
        skew=f"clocks differ: the agent's spans were moved by {shift / 1e6:+.1f} ms, the least that fits",
    )


def _of_roots(trace: Trace) -> Extent:
    """Trees with a server or an agent in them say what the invocation was; a detached span beside them does not."""
    main = own_servers(trace) or trace.of_operation("invoke_agent")
    roots = list(trace.roots)
    if main:
        above = _tops(trace, main)
        roots = [root for root in roots if root.span_id in above] or roots
    hull = _hull(tuple(roots)) or _hull(trace.spans)
    if hull is None:
        return Extent(start_ns=0, end_ns=0, whole="nothing: no span has a time")
    only = f"the root span `{roots[0].name[:60]}`" if len(roots) == 1 else f"{len(roots)} root spans, first to last"
    return Extent(start_ns=hull[0], end_ns=hull[1], whole=f"{only}; no client's timing")


def _tops(trace: Trace, spans: tuple[Span, ...]) -> set[str]:
    """The roots above `spans`."""
    seen: set[str] = set()
    tops: set[str] = set()
    for span in spans:
        at: Span | None = span
        while at is not None and at.span_id not in seen:
            seen.add(at.span_id)
            above = trace.parent(at)
            if above is None:
                tops.add(at.span_id)
            at = above
    return tops


def _hull(spans: tuple[Span, ...]) -> tuple[int, int] | None:
    known = [span for span in spans if timed(span)]
    if not known:
        return None
    return min(span.start_ns for span in known), max(span.end_ns for span in known)
