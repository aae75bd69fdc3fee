"""Attribute an invocation's time to the parts of its breakdown (see `parts.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from loomlib.json_values import number_or_none
from loomlib.presentation.formats import plural

from .alignment import AlignedInterval, agent_servers, align, has_valid_times
from .intervals import Interval, carve, total, union
from .parts import PARTS, PRIORITY, Breakdown, ClientTiming, Part
from .span import Span
from .trace import Trace

_OPERATIONS = {"model": "chat", "tools": "execute_tool", "memory": "memory"}
_PAUSE_EVENT = "garbage collection"
_PAUSE_SCOPE = "loom.local.invocations"  # the scope of the server spans with such events


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """The intervals of one part before overlaps are resolved, and their origin."""

    intervals: Sequence[Interval] = field(default=(), repr=False)
    derived_from: str
    certainty: str = "measured"
    caveat: str = ""
    span_ids: tuple[str, ...] = ()


def breakdown(trace: Trace, client: ClientTiming | None = None) -> Breakdown:
    """Divide one invocation's time into parts.

    Never fails on an odd trace: what cannot be attributed is `unknown`, with the reason.

    Args:
        trace: The invocation's trace.
        client: The client's measurements; without it the root spans are the whole.

    Returns:
        The parts, whose durations add up to the whole exactly.

    Examples:
        >>> invocation.trace().breakdown()["model"].share
    """
    interval = align(trace, client)
    bases = _bases(trace, interval, client)
    whole = interval.end_ns - interval.start_ns
    free: list[Interval] = [(interval.start_ns, interval.end_ns)] if whole else []
    claimed: dict[str, list[Interval]] = {}
    for name in PRIORITY[:-1]:
        intervals = bases[name].intervals
        claimed[name], free = carve(free, union(intervals)) if intervals else ([], free)
    claimed["unknown"] = free
    return Breakdown(
        start_ns=interval.start_ns,
        end_ns=interval.end_ns,
        parts=tuple(_part(name, claimed[name], bases[name], whole) for name in PARTS),
        whole=interval.description,
        shift_ns=interval.shift_ns,
        marks=trace.marks | interval.marks,
        trace_id=trace.trace_id,
    )


def callers(trace: Trace, servers: Sequence[Span]) -> set[str]:
    """Return the ids of the caller's spans: those above the agent's own that do not belong to the agent.

    Args:
        trace: The invocation's trace.
        servers: The agent's own server spans (`agent_servers`).
    """
    caller_ids: set[str] = set()
    visited: set[tuple[str, bool]] = set()
    for span in servers or trace.of_operation("invoke_agent"):
        ancestor = trace.parent(span)
        outside = trace.operation(span) == "server"
        while ancestor is not None:
            outside = outside or ancestor.kind in ("client", "producer")
            if (ancestor.span_id, outside) in visited:
                break
            visited.add((ancestor.span_id, outside))
            if outside and trace.operation(ancestor) in ("other", "server"):
                caller_ids.add(ancestor.span_id)
            ancestor = trace.parent(ancestor)
    return caller_ids


def _part(name: str, intervals: list[Interval], basis: _Basis, whole: int) -> Part:
    if not intervals and not basis.span_ids:
        return _empty_part(name, basis.derived_from, basis.certainty, basis.caveat)
    duration = total(intervals)
    return Part(
        name=name,
        duration_ns=duration,
        share=duration / whole if whole else 0.0,
        derived_from=basis.derived_from,
        certainty=basis.certainty,
        caveat=basis.caveat,
        span_ids=basis.span_ids,
        intervals=tuple(intervals),
    )


@lru_cache(256)
def _empty_part(name: str, derived_from: str, certainty: str, caveat: str) -> Part:
    return Part(name=name, duration_ns=0, share=0.0, derived_from=derived_from, certainty=certainty, caveat=caveat)


def _bases(trace: Trace, interval: AlignedInterval, client: ClientTiming | None) -> dict[str, _Basis]:
    caveats = [interval.skew] if interval.skew else []
    if "partial" in trace.marks and trace.spans:
        caveats.append("some spans of this trace are missing")
    bases = {name: _of_spans(name, trace, interval, caveats) for name in _OPERATIONS}
    servers = agent_servers(trace)
    caller_ids = callers(trace, servers)
    inside, bases["agent"] = _agent(trace, interval, client, caveats, servers, caller_ids)
    bases["garbage_collection"] = _pauses(servers, interval)
    bases["cold_start"] = _cold_start(inside, interval, client)
    bases["service_network"] = _outside(inside, trace, interval, client, caveats, servers, caller_ids)
    bases["unknown"] = _unknown(trace, client)
    return bases


def _of_spans(name: str, trace: Trace, interval: AlignedInterval, caveats: Sequence[str]) -> _Basis:
    operation = _OPERATIONS[name]
    spans = trace.of_operation(operation)
    if not spans:
        certainty = "measured" if trace.spans and not caveats else "inferred" if trace.spans else "missing"
        return _empty_basis(f"no {operation} span", certainty, "; ".join(caveats))
    return _Basis(
        intervals=_shifted(spans, interval),
        derived_from=f"union of {len(spans)} {operation} span{'s' if len(spans) > 1 else ''}",
        certainty="inferred" if caveats else "measured",
        caveat="; ".join(caveats),
        span_ids=tuple(span.span_id for span in spans),
    )


def _pauses(servers: Sequence[Span], interval: AlignedInterval) -> _Basis:
    """Return the pauses for full garbage collections, which stop all threads of the agent's process."""
    if not any(span.scope == _PAUSE_SCOPE for span in servers):
        return _empty_basis("garbage collections are not reported", "missing", "")
    pauses: list[Interval] = []
    for span in servers:
        for event in span.events:
            duration_ns = number_or_none(event.attributes.get("duration_ns"))
            if event.name == _PAUSE_EVENT and event.time_ns and duration_ns is not None and duration_ns > 0:
                start_ns = event.time_ns + interval.shift_ns
                pauses.append((start_ns, start_ns + int(duration_ns)))
    if not pauses:
        return _empty_basis("no full garbage collection of 1 ms or more", "measured", "")
    return _Basis(
        intervals=pauses,
        derived_from=f"{plural(len(pauses), 'full garbage collection')} in the agent's process",
        certainty="inferred" if interval.skew else "measured",
        caveat=interval.skew,
        span_ids=tuple(span.span_id for span in servers),
    )


def _agent(
    trace: Trace,
    interval: AlignedInterval,
    client: ClientTiming | None,
    caveats: Sequence[str],
    servers: Sequence[Span],
    caller_ids: set[str],
) -> tuple[list[Interval], _Basis]:
    """Return all intervals inside the agent, and the basis of the agent's own time among them."""
    agents = trace.of_operation("invoke_agent")
    if not any(has_valid_times(span) for span in trace.spans):
        return [], _Basis(derived_from="no agent span", certainty="missing", caveat="the agent exported no spans")
    foreign = caller_ids | _of_other_services(trace, servers)
    rest = [span for span in trace.of_operation("cycle", "other") if span.span_id not in foreign]
    own = [*servers, *agents, *rest]
    inside = _shifted(own, interval)
    caveats = list(caveats)
    if servers:
        derived_from = f"{_count(servers, 'server span')} minus model, tools and memory"
    elif agents:
        derived_from = f"{_count(agents, 'invoke_agent span')} minus model, tools and memory"
        if client is not None:
            caveats.append("no server span: the time of the agent's web server is counted in service_network")
            if client.agent_start_ns is not None and inside:
                start = client.agent_start_ns + interval.shift_ns
                inside.append((start, max(start, min(first for first, _ in inside))))
    else:
        times = _shifted(trace.spans, interval)
        inside = [(min(start for start, _ in times), max(end for _, end in times))]
        derived_from = "first to last span minus model, tools and memory"
        caveats.append("neither a server nor an invoke_agent span")
    return inside, _Basis(
        intervals=inside,
        derived_from=derived_from,
        certainty="inferred" if caveats else "measured",
        caveat="; ".join(caveats),
        span_ids=tuple(span.span_id for span in own),
    )


def _of_other_services(trace: Trace, servers: Sequence[Span]) -> set[str]:
    """Return the server spans of services that the agent called, and the spans below them."""
    if len(trace.of_operation("server")) == len(servers):
        return set()
    own = {span.span_id for span in servers}
    foreign: set[str] = set()
    for _, span in trace.walk():
        parent = trace.parent(span)
        is_other_server = trace.operation(span) == "server" and span.span_id not in own
        if is_other_server or (parent is not None and parent.span_id in foreign and span.span_id not in own):
            foreign.add(span.span_id)
    return foreign


def _cold_start(inside: Sequence[Interval], interval: AlignedInterval, client: ClientTiming | None) -> _Basis:
    if client is None:
        return _empty_basis("no client timing", "missing", "a cold start would lie before the first span")
    if client.is_cold is None:
        return _Basis(
            derived_from="unknown whether a new process was started for this invocation",
            certainty="missing",
            caveat="a cold start, if there was one, is counted in service_network",
        )
    if not client.is_cold:
        return _Basis(derived_from="warm: the session's process was already running")
    first = min((start for start, _ in inside), default=None)
    logged = None if client.agent_start_ns is None else client.agent_start_ns + interval.shift_ns
    starts = [start for start in (first, logged) if start is not None]
    if not starts:
        caveat = "neither a start line in the log nor a span shows when the agent started"
        return _Basis(derived_from="no agent start", certainty="missing", caveat=caveat)
    source = "first span" if logged is None or (first is not None and first <= logged) else "start line in the log"
    return _Basis(
        intervals=[(client.sent_ns, max(client.sent_ns, min(starts)))],
        derived_from=f"request sent to the agent's {source}; a new process was started for this invocation",
        certainty="inferred" if interval.skew else "measured",
        caveat=interval.skew,
    )


def _outside(
    inside: Sequence[Interval],
    trace: Trace,
    interval: AlignedInterval,
    client: ClientTiming | None,
    caveats: Sequence[str],
    servers: Sequence[Span],
    caller_ids: set[str],
) -> _Basis:
    if client is None:
        calling = [span for span in trace.spans if span.span_id in caller_ids]
        if not calling:
            return _Basis(
                derived_from="no client timing", certainty="missing", caveat="only time inside the agent is known"
            )
        return _Basis(
            intervals=_shifted(calling, interval),
            derived_from="the caller's spans minus the agent's",
            certainty="inferred" if caveats else "measured",
            caveat="; ".join(caveats),
            span_ids=tuple(span.span_id for span in calling),
        )
    if not inside:
        if client.agent_start_ns is None:
            return _Basis(derived_from="no span and no start line of the agent", certainty="missing")
        start = client.agent_start_ns + interval.shift_ns
        return _Basis(
            intervals=[(client.sent_ns, max(client.sent_ns, start))],
            derived_from="request sent to the agent's start line in the log",
            certainty="inferred",
            caveat="no span shows when the agent finished: the time after it is counted in unknown",
        )
    caveats = list(caveats)
    if not servers:
        caveats.append("no server span: it may include time of the agent")
    return _Basis(
        intervals=[(interval.start_ns, interval.end_ns)],
        derived_from="client interval outside the agent's spans",
        certainty="inferred" if caveats else "measured",
        caveat="; ".join(caveats),
    )


def _unknown(trace: Trace, client: ClientTiming | None) -> _Basis:
    if client is None:
        return _empty_basis("gaps between root spans", "measured", "")
    if not trace.spans:
        return _Basis(derived_from="time after the agent's start", caveat="the agent exported no spans")
    return _Basis(derived_from="nothing is left over")


@lru_cache(64)
def _empty_basis(derived_from: str, certainty: str, caveat: str) -> _Basis:
    return _Basis(derived_from=derived_from, certainty=certainty, caveat=caveat)


def _shifted(spans: Iterable[Span], interval: AlignedInterval) -> list[Interval]:
    shift = interval.shift_ns
    return [(span.start_ns + shift, span.end_ns + shift) for span in spans if not span.marks or has_valid_times(span)]


def _count(spans: Sequence[Span], name: str) -> str:
    return f"the {name}" if len(spans) == 1 else f"{len(spans)} {name}s"
