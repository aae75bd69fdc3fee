"""Conclusions of a study of protocol overhead: times and bytes of each way, compared with HTTP JSON."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.agents.protocols.ways import HTTP_JSON, SERVERS, server_of
from loomlib.experiments import StudyFinding, StudyMethod, StudyTable, failure_counts, pending_count
from loomlib.presentation.formats import join, milliseconds, percent, plural, signed
from loomlib.presentation.formats import size as bytes_text
from loomlib.presentation.html import fragment
from loomlib.presentation.theme import PALETTE, SYMBOLS, styled
from loomlib.statistics.percentiles import CONFIDENCE, PERCENTILE_METHOD

from ..method import timeout_argument
from .estimates import WayEstimates, way_estimates
from .result import ProtocolResult
from .sizes import size_chart, size_table

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

FORMAT = "loom.protocol-overhead/1"


def sentences(result: ProtocolResult) -> list[str]:
    """Return which ways are slower or faster than HTTP JSON, which move most bytes, and what was not measured."""
    estimates = way_estimates(result)
    texts = [*_time_sentences(estimates), *_size_sentences(estimates)]
    if missing := result.design.missing:
        texts.append(f"Not measured, because no agent was given: {join(missing)}.")
    failed = failure_counts(result.calls)
    attempts = len(result.calls) - pending_count(result.calls)
    listed = join([f"{count} {name}" for name, count in failed.most_common()])
    count = plural(sum(failed.values()), "failure") if failed else "No failures"
    return [*texts, f"{count} in {plural(attempts, 'call')}{f': {listed}' if failed else ''}."]


def table(result: ProtocolResult) -> StudyTable:
    """Return the times: one row for each way."""
    columns = (
        "way",
        "n",
        "answer p50 [95 %] ms",
        f"− {HTTP_JSON} [95 %] ms",
        "first byte [95 %] ms",
        "first event [95 %] ms",
        "first text [95 %] ms",
        f"first text − {HTTP_JSON} [95 %] ms",
        "failed",
    )
    rows = [
        (
            one.way,
            str(sum(call.is_done for call in one.calls)),
            str(one.duration),
            "–" if one.extra_ms is None else str(one.extra_ms),
            str(one.first_byte),
            str(one.first_event),
            str(one.first_text),
            "–" if one.extra_text_ms is None else str(one.extra_text_ms),
            str(sum(call.is_failed for call in one.calls)),
        )
        for one in way_estimates(result)
    ]
    return StudyTable(columns=columns, rows=rows, marks=[_mark(row[0]) for row in rows])


def findings(result: ProtocolResult) -> list[StudyFinding]:
    """Return what limits the comparison."""
    study_findings: list[StudyFinding] = []
    for way in result.design.ways:
        calls = [call for call in result.calls if call.way == way and not call.is_pending]
        if calls and all(call.is_failed for call in calls):
            study_findings.append(
                StudyFinding(
                    kind="no answer",
                    title=f"{way} was never answered",
                    evidence=f"{len(calls)} of {plural(len(calls), 'call')} failed: {calls[0].error_message}",
                    advice="Its row has no figures. Compare the server with the blueprint calculator_protocols.",
                )
            )
    sizes = {one.way: one.text_bytes.value for one in way_estimates(result) if one.text_bytes.value is not None}
    if sizes and max(sizes.values()) > min(sizes.values()):
        study_findings.append(
            StudyFinding(
                kind="different answers",
                title="The ways did not get the same answer",
                evidence=", ".join(f"{way} {bytes_text(size)}" for way, size in sizes.items()),
                advice="Part of the differences in bytes and times comes from the answers, not from the protocols.",
            )
        )
    if opened := sum(call.is_reused is False for call in result.calls):
        study_findings.append(
            StudyFinding(
                kind="new connections",
                title="Some calls opened a connection",
                evidence=f"{plural(opened, 'call')} of {len(result.calls)}",
                advice="Their times and bytes include opening the connection and, with TLS, its handshake.",
            )
        )
    return study_findings


def figures(result: ProtocolResult) -> dict[str, go.Figure]:
    """Return the charts `times`, every call by way, and `bytes`, the median bytes of each way."""
    from loomlib.presentation.charts import Chart

    traces: list[dict[str, Any]] = []
    for server, (_, ways) in SERVERS.items():
        calls = [call for call in result.calls if call.way in ways and call.is_done]
        colour, symbol = _mark_of(server)
        if calls:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": server,
                    "x": [call.duration_ms for call in calls],
                    "y": [call.way for call in calls],
                    "marker": {"color": colour, "symbol": symbol, "size": 8, "opacity": 0.7},
                }
            )
    times = styled(
        traces,
        title="Every answered call",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "whole answer, ms"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
    )
    return {"times": Chart(times), "bytes": Chart(size_chart(result))}


def method(result: ProtocolResult) -> StudyMethod:
    """Return how the study was made."""
    design = result.design
    notes = [
        f"Each way has a warm session and an open connection after {plural(design.warm_ups, 'untimed call')}; then one "
        f"call at a time, the ways in randomized blocks (seed {design.seed}).",
        f"Differences: median of the differences to {HTTP_JSON} in the same block; {PERCENTILE_METHOD} "
        f"({percent(CONFIDENCE)} intervals). Intervals are not adjusted for multiple "
        "comparisons: of twenty comparisons without any difference, about one excludes 0.",
        "Bytes are those of the TCP connection in both directions: heads with signature and trace context, chunk and "
        "frame headers and TLS records included, TCP and IP headers not. Opening the connection is not part of a call.",
        "Framing is the share of the received bytes that is not the answer's text.",
        "Times begin when the request is handed to the network and end when the socket delivers. A body or stream ends "
        "with its last byte; MCP, A2A and WebSocket with the message that completes the answer.",
        f"MCP calls the tool {design.tool!r}. Stateful: after the handshake, which is not timed; stateless: without "
        "one. A tool's result comes in one piece.",
        "Failed calls have no times and no bytes; they are counted.",
    ]
    limits = [
        "The servers are those of the SDKs: part of a difference comes from an SDK and its threads, not from a "
        "protocol.",
        "A long answer makes framing smaller, a finer stream makes it larger.",
    ]
    if result.scope == "local":
        limits.append("Client, service and agent share this machine: there is no network, and no TLS.")
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated: its pieces of text may be longer or shorter than a real model's.")
    arguments = (
        f"repeats={design.repeats}, prompt={design.prompt!r}, tool={design.tool!r}, warm_ups={design.warm_ups}, "
        f"seed={design.seed}{timeout_argument(design.timeout_s)}"
    )
    return StudyMethod(
        notes=notes,
        limits=limits,
        run_again=f"loom.ProtocolStudy(agents, {arguments}).run()",
        facts={"seed": design.seed},
    )


def details(result: ProtocolResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    return {
        "format": FORMAT,
        "agents": dict(result.design.agents),
        "not_measured": list(result.design.missing),
        "ways": [
            {
                "way": one.way,
                "failed": sum(call.is_failed for call in one.calls),
                "duration_ms": one.duration.summary(),
                "first_byte_ms": one.first_byte.summary(),
                "first_event_ms": one.first_event.summary(),
                "first_text_ms": one.first_text.summary(),
                "sent_bytes": one.sent.summary(),
                "received_bytes": one.received.summary(),
                "text_bytes": one.text_bytes.summary(),
                "events": one.events.summary(),
                "framing_share": one.framing.summary(),
                "extra_ms": one.extra_ms.summary() if one.extra_ms else None,
                "extra_first_text_ms": one.extra_text_ms.summary() if one.extra_text_ms else None,
                "extra_bytes": one.extra_bytes.summary() if one.extra_bytes else None,
            }
            for one in way_estimates(result)
        ],
    }


def sections(result: ProtocolResult) -> list[Markup]:
    """Return the table of bytes and events."""
    sizes = size_table(result)
    rows = [(row, _mark(row[0])) for row in sizes.rows]
    return [fragment("loomlib.experiments:table.html.j2", columns=sizes.columns, rows=rows)]


def _time_sentences(estimates: list[WayEstimates]) -> list[str]:
    reference = next(one for one in estimates if one.way == HTTP_JSON)
    if reference.duration.value is None:
        return [f"{HTTP_JSON} has too few answered calls to compare with ({plural(len(reference.calls), 'call')})."]
    slower: list[str] = []
    faster: list[str] = []
    alike: list[str] = []
    unknown: list[str] = []
    for one in estimates:
        extra = one.extra_ms
        if extra is None:
            continue
        if extra.value is None or extra.low is None or extra.high is None:
            unknown.append(one.way)
        elif extra.low <= 0 <= extra.high:
            alike.append(one.way)
        else:
            (slower if extra.value > 0 else faster).append(
                f"{one.way} ({signed(extra.value, milliseconds)}, 95 % interval {extra.interval_text('ms')})"
            )
    texts = [f"{HTTP_JSON} takes {reference.duration.text('ms')} for the whole answer."]
    texts += [f"Slower than that: {join(slower)}."] if slower else []
    texts += [f"Faster than that: {join(faster)}."] if faster else []
    texts += [f"No difference in time shown: {join(alike)}."] if alike else []
    texts += [f"Too few answered calls for an interval: {join(unknown)}."] if unknown else []
    return texts


def _size_sentences(estimates: list[WayEstimates]) -> list[str]:
    totals = [
        (one.sent.value + one.received.value, one)
        for one in estimates
        if one.sent.value is not None and one.received.value is not None
    ]
    if not totals:
        return []
    totals.sort(key=lambda pair: pair[0])

    def described(total: float, one: WayEstimates) -> str:
        events = plural(round(one.events.value or 0), "event")
        return (
            f"{one.way} with {bytes_text(total)} for {bytes_text(one.text_bytes.value)} of text in {events} "
            f"(framing {percent(one.framing.value)} of what is received)"
        )

    if len(totals) == 1:
        return [f"On the wire: {described(*totals[0])}."]
    return [f"Fewest bytes on the wire: {described(*totals[0])}.", f"Most: {described(*totals[-1])}."]


def _mark(way: str) -> tuple[str, str]:
    colour, symbol = _mark_of(server_of(way))
    return colour, {"circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "triangle-up": "▲"}[symbol]


def _mark_of(server: str) -> tuple[str, str]:
    place = list(SERVERS).index(server)
    return PALETTE[place], SYMBOLS[place]
