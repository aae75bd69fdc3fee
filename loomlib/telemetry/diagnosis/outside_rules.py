"""Rules about what is outside the agent: its start, the way to it, and the client that reads its answer."""

from __future__ import annotations

from collections.abc import Mapping

from .case import Case
from .finding import Draft, Evidence
from .wording import milliseconds, number, percent, plural

Thresholds = Mapping[str, float]


def cold_start(case: Case, limits: Thresholds) -> Draft | None:
    """The session's process began for this call, and that took long."""
    part = case.part("cold_start")
    ms = part.duration_ns / 1e6
    is_long = ms >= limits["ms"] and part.share >= limits["share"]
    dominates = ms >= limits["dominant_ms"] and part.share >= limits["dominant_share"]
    if not (is_long or dominates or ms >= limits["always_ms"]):
        return None
    sure = part.certainty == "measured"
    return Draft(
        ms_at_stake=ms,
        evidence=(
            Evidence(
                text=f"{milliseconds(ms)} until the agent began, {percent(part.share)} of the whole "
                f"({part.derived_from})",
                value=ms,
                unit="ms",
            ),
        ),
        confidence="high" if sure else "medium",
        because="both ends of the start are measured" if sure else part.doubt or "one end of the start is inferred",
        values=(("ms", milliseconds(ms)),),
    )


def slow_client(case: Case, limits: Thresholds) -> Draft | None:
    """The client was still reading long after the agent had ended."""
    reading = reading_ms(case)
    client = case.client
    if reading is None or client is None:
        return None
    ms = max(0.0, reading - limits["usual_ms"])
    is_long = reading >= limits["ms"] and case.share(reading) >= limits["share"]
    if not is_long:
        return None
    end = _agent_end_ms(case)
    late = [offset for offset in client.chunk_offsets_ms if end is not None and offset > end]
    evidence = [
        Evidence(
            text=f"the first byte had come and the agent had ended {milliseconds(reading)} before the client was done",
            value=reading,
            unit="ms",
        )
    ]
    if late:
        evidence.append(
            Evidence(
                text=f"{plural(len(late), 'chunk')} of {number(len(client.chunk_offsets_ms))} read "
                "after the agent's end",
                value=float(len(late)),
                unit="chunks",
            )
        )
    if client.bytes_received:
        evidence.append(
            Evidence(
                text=f"the answer has {number(client.bytes_received)} bytes",
                value=float(client.bytes_received),
                unit="bytes",
            )
        )
    quiet = case.total_ms - late[-1] if late else 0.0
    if quiet > limits["ms"]:
        evidence.append(Evidence(text=f"{milliseconds(quiet)} passed after the last chunk", value=quiet, unit="ms"))
    return Draft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="medium" if len(late) > 1 else "low",
        because="chunks were taken one by one after the agent had ended; a slow line would look the same"
        if len(late) > 1
        else "only the end of the answer came late; a slow line or a stalled service would look the same",
        values=(("ms", milliseconds(reading)),),
    )


def network(case: Case, limits: Thresholds) -> Draft | None:
    """The way between client and agent: network, service, sidecar; without what a slow client explains."""
    part = case.part("service_network")
    reading = reading_ms(case) or 0.0
    by_client = reading if reading >= limits["client_ms"] else 0.0
    ms = max(0.0, part.duration_ns / 1e6 - by_client)
    is_long = ms >= limits["ms"] and case.share(ms) >= limits["share"]
    dominates = ms >= limits["dominant_ms"] and case.share(ms) >= limits["dominant_share"]
    if not (is_long or dominates):
        return None
    client = case.client
    evidence = [
        Evidence(
            text=f"{milliseconds(ms)} outside the agent, {percent(case.share(ms))} of the whole ({part.derived_from})",
            value=ms,
            unit="ms",
        )
    ]
    end, start = _agent_end_ms(case), _agent_start_ms(case)
    if client is not None and start is not None and end is not None:
        back = max(0.0, case.total_ms - end)
        evidence.append(
            Evidence(
                text=f"{milliseconds(start)} on the way there, {milliseconds(back)} on the way back",
                value=start,
                unit="ms",
            )
        )
    if client is not None and client.connect_ms and client.connection_reused is False:
        evidence.append(
            Evidence(
                text=f"a new connection took {milliseconds(client.connect_ms)}", value=client.connect_ms, unit="ms"
            )
        )
    cold_unknown = client is not None and client.timing.is_cold is None
    sure = part.certainty == "measured" and not cold_unknown
    because = "measured: the client's interval less the agent's spans; network, service and sidecar are not told apart"
    if cold_unknown:
        because = "whether the process began for this call is not known: a cold start would look the same"
    elif not sure:
        because = part.doubt or "parts of it are inferred"
    return Draft(
        ms_at_stake=max(0.0, ms - limits["usual_ms"]),
        evidence=tuple(evidence),
        confidence="medium" if sure else "low",
        because=because,
        values=(("ms", milliseconds(ms)),),
    )


def reading_ms(case: Case) -> float | None:
    """How long the client read after the agent had ended and the first byte had come; None when that is not known.

    The way back is taken off as the way there measures it. Clocks that had to be moved say nothing about it.
    """
    client, end, start = case.client, _agent_end_ms(case), _agent_start_ms(case)
    if client is None or end is None or start is None:
        return None
    timing = client.timing
    first = (timing.first_byte_ns - timing.sent_ns) / 1e6 if timing.first_byte_ns is not None else None
    if first is None and client.chunk_offsets_ms:
        first = client.chunk_offsets_ms[0]
    if first is None:
        return None
    there = start if not timing.is_cold else 0.0
    return max(0.0, case.total_ms - max(first, end) - (there if first < end else 0.0))


def _agent_end_ms(case: Case) -> float | None:
    """When the agent ended, in milliseconds after sending, by the client's clock."""
    return None if (hull := _hull(case)) is None else (hull[1] - case.breakdown.start_ns) / 1e6


def _agent_start_ms(case: Case) -> float | None:
    return None if (hull := _hull(case)) is None else max(0.0, (hull[0] - case.breakdown.start_ns) / 1e6)


def _hull(case: Case) -> tuple[int, int] | None:
    """First and last moment of the agent; None without a client or where its clock had to be moved."""
    if case.client is None or case.breakdown.shift_ns:
        return None
    spans = [
        span
        for span in case.trace.of_operation("server") or case.trace.of_operation("invoke_agent")
        if not span.marks & {"untimed", "unfinished", "negative_duration"}
    ]
    if not spans:
        return None
    return min(span.start_ns for span in spans), max(span.end_ns for span in spans)
