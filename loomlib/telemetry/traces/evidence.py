"""What speaks for each part of a breakdown: its intervals, the spans they came from, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from .extent import Extent, own_servers, timed
from .intervals import Interval
from .span import Span
from .trace import Trace

if TYPE_CHECKING:
    from .breakdown import ClientTiming

_OPERATIONS = {"model": ("chat",), "tools": ("execute_tool",), "memory": ("memory",)}
_NAMES = {"model": "chat", "tools": "execute_tool", "memory": "memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Intervals (they may overlap and stick out; the breakdown cuts them) and where they come from."""

    intervals: Sequence[Interval] = field(default=(), repr=False)
    derived_from: str
    certainty: str = "measured"
    doubt: str = ""
    span_ids: tuple[str, ...] = ()


def weigh(trace: Trace, extent: Extent, client: ClientTiming | None) -> dict[str, Evidence]:
    """The evidence for every part."""
    doubts = [extent.skew] if extent.skew else []
    if "partial" in trace.marks and trace.spans:
        doubts.append("some spans of this trace are missing")
    found = {name: _of_spans(name, trace, extent, doubts) for name in _OPERATIONS}
    servers = own_servers(trace)
    around = callers(trace, servers)
    inside, found["agent"] = _agent(trace, extent, client, doubts, servers, around)
    found["cold_start"] = _cold_start(inside, extent, client)
    found["service_network"] = _outside(inside, trace, extent, client, doubts, servers, around)
    found["unknown"] = _unknown(trace, client)
    return found


def _of_spans(name: str, trace: Trace, extent: Extent, doubts: Sequence[str]) -> Evidence:
    spans = trace.of_operation(*_OPERATIONS[name])
    if not spans:
        certainty = "measured" if trace.spans and not doubts else "inferred" if trace.spans else "missing"
        return _nothing(f"no {_NAMES[name]} span", certainty, "; ".join(doubts))
    return Evidence(
        intervals=_moved(spans, extent),
        derived_from=f"union of {len(spans)} {_NAMES[name]} span{'s' if len(spans) > 1 else ''}",
        certainty="inferred" if doubts else "measured",
        doubt="; ".join(doubts),
        span_ids=tuple(span.span_id for span in spans),
    )


def _agent(
    trace: Trace,
    extent: Extent,
    client: ClientTiming | None,
    doubts: Sequence[str],
    servers: Sequence[Span],
    around: set[str],
) -> tuple[list[Interval], Evidence]:
    """All moments inside the agent, and the evidence for the agent's own time among them."""
    agents = trace.of_operation("invoke_agent")
    if not any(timed(span) for span in trace.spans):
        doubt = "the agent exported no span"
        return [], Evidence(derived_from="no span of the agent", certainty="missing", doubt=doubt)
    away = around | _of_others(trace, servers)
    rest = [span for span in trace.of_operation("cycle", "other") if span.span_id not in away]
    own = [*servers, *agents, *rest]
    inside = _moved(own, extent)
    doubts = list(doubts)
    if servers:
        origin = f"{_count(servers, 'server span')} less model, tools and memory"
    elif agents:
        origin = f"{_count(agents, 'invoke_agent span')} less model, tools and memory"
        if client is not None:
            doubts.append("no server span: what the agent's web server does around the agent is in service_network")
            if client.agent_start_ns is not None and inside:
                start = client.agent_start_ns + extent.shift_ns
                inside.append((start, max(start, min(first for first, _ in inside))))
    else:
        times = _moved(trace.spans, extent)
        inside = [(min(start for start, _ in times), max(end for _, end in times))]
        origin = "from the first to the last span less model, tools and memory"
        doubts.append("neither a server nor an invoke_agent span")
    return inside, Evidence(
        intervals=inside,
        derived_from=origin,
        certainty="inferred" if doubts else "measured",
        doubt="; ".join(doubts),
        span_ids=tuple(span.span_id for span in own),
    )


def callers(trace: Trace, servers: Sequence[Span]) -> set[str]:
    """The ids of spans above the agent's own that are not the agent: a caller that is traced too."""
    main = servers or trace.of_operation("invoke_agent")
    around: set[str] = set()
    seen: set[tuple[str, bool]] = set()
    for span in main:
        above = trace.parent(span)
        outside = trace.operation(span) == "server"
        while above is not None:
            outside = outside or above.kind in ("client", "producer")
            if (above.span_id, outside) in seen:
                break
            seen.add((above.span_id, outside))
            if outside and trace.operation(above) in ("other", "server"):
                around.add(above.span_id)
            above = trace.parent(above)
    return around


def _of_others(trace: Trace, servers: Sequence[Span]) -> set[str]:
    """Spans of services that the agent called: a server that is not the agent's, and what it did."""
    if len(trace.of_operation("server")) == len(servers):
        return set()
    own = {span.span_id for span in servers}
    away: set[str] = set()
    for _, span in trace.walk():
        above = trace.parent(span)
        is_other_server = trace.operation(span) == "server" and span.span_id not in own
        if is_other_server or (above is not None and above.span_id in away and span.span_id not in own):
            away.add(span.span_id)
    return away


def _cold_start(inside: Sequence[Interval], extent: Extent, client: ClientTiming | None) -> Evidence:
    if client is None:
        return _nothing("no client's timing", "missing", "it lies before the first span")
    if client.is_cold is None:
        doubt = "a start of the session's process, if there was one, is in service_network"
        return Evidence(
            derived_from="not known whether the process began for this call", certainty="missing", doubt=doubt
        )
    if not client.is_cold:
        return Evidence(derived_from="the session's process was there before this call")
    first = min((start for start, _ in inside), default=None)
    stated = None if client.agent_start_ns is None else client.agent_start_ns + extent.shift_ns
    starts = [each for each in (first, stated) if each is not None]
    if not starts:
        doubt = "neither a start line in the log nor a span says when the agent began"
        return Evidence(derived_from="no start of the agent", certainty="missing", doubt=doubt)
    by = "its first span" if stated is None or (first is not None and first <= stated) else "its start line in the log"
    return Evidence(
        intervals=[(client.sent_ns, max(client.sent_ns, min(starts)))],
        derived_from=f"from sending to the agent's start by {by}; the session's process began for this call",
        certainty="inferred" if extent.skew else "measured",
        doubt=extent.skew,
    )


def _outside(
    inside: Sequence[Interval],
    trace: Trace,
    extent: Extent,
    client: ClientTiming | None,
    doubts: Sequence[str],
    servers: Sequence[Span],
    around: set[str],
) -> Evidence:
    whole = (extent.start_ns, extent.end_ns)
    if client is None:
        calling = [span for span in trace.spans if span.span_id in around]
        if not calling:
            return Evidence(
                derived_from="no client's timing", certainty="missing", doubt="only the agent's inside is known"
            )
        return Evidence(
            intervals=_moved(calling, extent),
            derived_from="the caller's spans less the agent's",
            certainty="inferred" if doubts else "measured",
            doubt="; ".join(doubts),
            span_ids=tuple(span.span_id for span in calling),
        )
    if not inside:
        if client.agent_start_ns is None:
            return Evidence(derived_from="no span and no start line of the agent", certainty="missing")
        start = client.agent_start_ns + extent.shift_ns
        return Evidence(
            intervals=[(client.sent_ns, max(client.sent_ns, start))],
            derived_from="from sending to the agent's start line in the log",
            certainty="inferred",
            doubt="no span says when the agent ended: the way back is in unknown",
        )
    doubts = list(doubts)
    if not servers:
        doubts.append("no server span: parts of the agent may be in it")
    return Evidence(
        intervals=[whole],
        derived_from="the client's interval outside the agent's spans",
        certainty="inferred" if doubts else "measured",
        doubt="; ".join(doubts),
    )


def _unknown(trace: Trace, client: ClientTiming | None) -> Evidence:
    if client is None:
        return _nothing("moments between root spans", "measured", "")
    if not trace.spans:
        return Evidence(derived_from="moments after the agent's start", doubt="the agent exported no span")
    return Evidence(derived_from="nothing is left over")


@lru_cache(64)
def _nothing(derived_from: str, certainty: str, doubt: str) -> Evidence:
    return Evidence(derived_from=derived_from, certainty=certainty, doubt=doubt)


def _moved(spans: Iterable[Span], extent: Extent) -> list[Interval]:
    shift = extent.shift_ns
    return [(span.start_ns + shift, span.end_ns + shift) for span in spans if not span.marks or timed(span)]


def _count(spans: Sequence[Span], name: str) -> str:
    return f"the {name}" if len(spans) == 1 else f"{len(spans)} {name}s"
