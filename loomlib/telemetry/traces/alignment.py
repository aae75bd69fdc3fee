"""The interval of an invocation's breakdown, and the shift from the agent's clock to the client's."""

from __future__ import annotations

from dataclasses import dataclass

from loomlib.presentation.formats import milliseconds, signed
from loomlib.wall_clock import SET_BY_S

from .parts import ClientTiming
from .span import Span
from .trace import Trace

TOLERANCE_NS = 2_000_000
"""How far spans may reach beyond the client interval: a server span ends a moment after its last byte was sent."""

_SET_BY_NS = round(SET_BY_S * 1e9)
_CLIENT_INTERVAL = "client interval: request sent to end of response"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedInterval:
    """The interval of one invocation on the client's clock.

    Attributes:
        start_ns: Start in Unix nanoseconds.
        end_ns: End in Unix nanoseconds.
        description: What the interval is, in words.
        shift_ns: What to add to span times to bring the agent's clock to the client's.
        marks: `clipped`, `clock_shifted`, `clock_skewed`.
        skew: What was done about differing clocks, in words; "" when nothing was.
    """

    start_ns: int
    end_ns: int
    description: str
    shift_ns: int = 0
    marks: frozenset[str] = frozenset()
    skew: str = ""


def has_valid_times(span: Span) -> bool:
    """Return whether a span has a start and a later end."""
    return span.end_ns >= span.start_ns and "untimed" not in span.marks


def agent_servers(trace: Trace) -> tuple[Span, ...]:
    """Return the server spans of the agent itself: the nearest above its outermost `invoke_agent` spans.

    A server further up is the caller's, one below is a service that the agent called. Where no `invoke_agent` span has
    a server above it, the outermost servers count as the agent's.
    """
    servers = trace.of_operation("server")
    if len(servers) < 2:
        return servers
    nearest: dict[str, str] = {}
    below_agent: set[str] = set()
    above_agents: set[str] = set()
    outermost: set[str] = set()
    for _, span in trace.walk():
        parent = trace.parent(span)
        operation = trace.operation(span)
        if parent is not None:
            nearest[span.span_id] = nearest[parent.span_id]
            if parent.span_id in below_agent:
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
            above_agents.add(nearest[span.span_id])
    server_ids = above_agents - {""} or outermost
    return tuple(span for span in servers if span.span_id in server_ids)


def align(trace: Trace, client: ClientTiming | None) -> AlignedInterval:
    """Return the client interval with the clock shift; without client timing, the interval of the root spans."""
    if client is None:
        return _of_roots(trace)
    hull = _hull(agent_servers(trace) or trace.of_operation("invoke_agent") or trace.spans)
    if hull is None:
        return AlignedInterval(start_ns=client.sent_ns, end_ns=client.done_ns, description=_CLIENT_INTERVAL)
    before, after = client.sent_ns - hull[0], hull[1] - client.done_ns
    if before <= TOLERANCE_NS and after <= TOLERANCE_NS:
        return AlignedInterval(start_ns=client.sent_ns, end_ns=client.done_ns, description=_CLIENT_INTERVAL)
    fits = before <= -after  # the agent's interval is no longer than the client's
    # Without any overlap the clocks differ, whatever the lengths: a server span may end long after its last byte was
    # sent, if the agent's process has to wait for a processor in between.
    is_apart = hull[0] > client.done_ns or hull[1] < client.sent_ns
    # A minute off on one machine: its time was set between the request and its arrival, or back again.
    was_set = max(before, after) > _SET_BY_NS
    if (client.same_clock and not was_set) or not (fits or is_apart):
        return AlignedInterval(
            start_ns=client.sent_ns,
            end_ns=client.done_ns,
            description=_CLIENT_INTERVAL,
            marks=frozenset({"clipped"}),
            skew="" if client.same_clock else "some spans lie outside the client interval and were clipped to it",
        )
    # An agent starts after its request was sent, so one that does not fit is clipped at its end.
    shift = before if before > 0 or not fits else -after
    choice = "the smallest that fits" if fits else "so that they begin when the request was sent"
    return AlignedInterval(
        start_ns=client.sent_ns,
        end_ns=client.done_ns,
        description=_CLIENT_INTERVAL,
        shift_ns=shift,
        marks=frozenset({"clock_shifted", "clock_skewed"}),
        skew=f"clock skew: agent spans were shifted by {signed(shift / 1e6, milliseconds)}, {choice}",
    )


def _of_roots(trace: Trace) -> AlignedInterval:
    """Return the interval of the trees with a server or agent; detached spans are not part of the invocation."""
    main = agent_servers(trace) or trace.of_operation("invoke_agent")
    roots = list(trace.roots)
    if main:
        tops = _tops(trace, main)
        roots = [root for root in roots if root.span_id in tops] or roots
    hull = _hull(tuple(roots)) or _hull(trace.spans)
    if hull is None:
        return AlignedInterval(start_ns=0, end_ns=0, description="empty: no span has valid times")
    source = f"root span `{roots[0].name[:60]}`" if len(roots) == 1 else f"{len(roots)} root spans, first to last"
    return AlignedInterval(start_ns=hull[0], end_ns=hull[1], description=f"{source}; no client timing")


def _tops(trace: Trace, spans: tuple[Span, ...]) -> set[str]:
    """Return the ids of the root spans above `spans`."""
    visited: set[str] = set()
    tops: set[str] = set()
    for span in spans:
        at: Span | None = span
        while at is not None and at.span_id not in visited:
            visited.add(at.span_id)
            parent = trace.parent(at)
            if parent is None:
                tops.add(at.span_id)
            at = parent
    return tops


def _hull(spans: tuple[Span, ...]) -> tuple[int, int] | None:
    valid = [span for span in spans if has_valid_times(span)]
    if not valid:
        return None
    return min(span.start_ns for span in valid), max(span.end_ns for span in valid)
