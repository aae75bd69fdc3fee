"""Rules about time outside the agent: cold start, network, and a slow client.

Each rule takes a case and its thresholds, and returns a draft, or None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping

from loomlib.presentation.formats import milliseconds, number, percent, plural

from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence

Thresholds = Mapping[str, float]


def cold_start(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a long cold start."""
    part = case.part("cold_start")
    ms = part.duration_ns / 1e6
    is_long = ms >= limits["ms"] and part.share >= limits["share"]
    dominates = ms >= limits["dominant_ms"] and part.share >= limits["dominant_share"]
    if not (is_long or dominates or ms >= limits["always_ms"]):
        return None
    sure = part.certainty == "measured"
    return FindingDraft(
        ms_at_stake=ms,
        evidence=(
            FindingEvidence(
                text=f"{milliseconds(ms)} until the agent started, {percent(part.share)} of the total "
                f"({part.derived_from})",
                value=ms,
                unit="ms",
            ),
        ),
        confidence="high" if sure else "medium",
        because="start and end are measured" if sure else part.caveat or "its start or its end is inferred",
        values=(("ms", milliseconds(ms)),),
    )


def slow_client(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a client that was still reading long after the agent finished."""
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
        FindingEvidence(
            text=f"the client finished reading {milliseconds(reading)} after the agent had finished",
            value=reading,
            unit="ms",
        )
    ]
    if late:
        evidence.append(
            FindingEvidence(
                text=f"{number(len(late), 0)} of {plural(len(client.chunk_offsets_ms), 'chunk')} read "
                "after the agent had finished",
                value=float(len(late)),
                unit="chunks",
            )
        )
    if client.bytes_received:
        evidence.append(
            FindingEvidence(
                text=f"the answer has {number(client.bytes_received, 0)} bytes",
                value=float(client.bytes_received),
                unit="bytes",
            )
        )
    quiet = case.total_ms - late[-1] if late else 0.0
    if quiet > limits["ms"]:
        evidence.append(
            FindingEvidence(text=f"{milliseconds(quiet)} passed after the last chunk", value=quiet, unit="ms")
        )
    return FindingDraft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="medium" if len(late) > 1 else "low",
        because="chunks were read one by one after the agent had finished; a slow connection would look the same"
        if len(late) > 1
        else "only the end of the answer was late; a slow connection or a stalled service would look the same",
        values=(("ms", milliseconds(reading)),),
    )


def network(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find time between client and agent (network, service, sidecar) that a slow client does not explain."""
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
        FindingEvidence(
            text=f"{milliseconds(ms)} outside the agent, {percent(case.share(ms))} of the total ({part.derived_from})",
            value=ms,
            unit="ms",
        )
    ]
    end, start = _agent_end_ms(case), _agent_start_ms(case)
    if client is not None and start is not None and end is not None:
        back = max(0.0, case.total_ms - end)
        evidence.append(
            FindingEvidence(
                text=f"{milliseconds(start)} before the agent started, {milliseconds(back)} after it finished",
                value=start,
                unit="ms",
            )
        )
    if client is not None and client.connect_ms and client.connection_reused is False:
        evidence.append(
            FindingEvidence(
                text=f"a new connection took {milliseconds(client.connect_ms)}", value=client.connect_ms, unit="ms"
            )
        )
    cold_unknown = client is not None and client.timing.is_cold is None
    sure = part.certainty == "measured" and not cold_unknown
    because = "measured: client interval minus the agent's spans; network, service and sidecar are not separated"
    if cold_unknown:
        because = "unknown whether a new process was started: a cold start would look the same"
    elif not sure:
        because = part.caveat or "parts of it are inferred"
    return FindingDraft(
        ms_at_stake=max(0.0, ms - limits["usual_ms"]),
        evidence=tuple(evidence),
        confidence="medium" if sure else "low",
        because=because,
        values=(("ms", milliseconds(ms)),),
    )


def reading_ms(case: InvocationCase) -> float | None:
    """Return how long the client read after the agent finished and the first byte arrived; None when unknown.

    The return path, assumed to take as long as the request path, is subtracted. Clocks that had to be shifted say
    nothing about it.
    """
    client, end, start = case.client, _agent_end_ms(case), _agent_start_ms(case)
    if client is None or end is None or start is None:
        return None
    timing = client.timing
    first_byte_ms = (timing.first_byte_ns - timing.sent_ns) / 1e6 if timing.first_byte_ns is not None else None
    if first_byte_ms is None and client.chunk_offsets_ms:
        first_byte_ms = client.chunk_offsets_ms[0]
    if first_byte_ms is None:
        return None
    request_path_ms = start if not timing.is_cold else 0.0
    return max(0.0, case.total_ms - max(first_byte_ms, end) - (request_path_ms if first_byte_ms < end else 0.0))


def _agent_end_ms(case: InvocationCase) -> float | None:
    """Return when the agent finished, in milliseconds after sending, on the client's clock."""
    return None if (hull := _hull(case)) is None else (hull[1] - case.breakdown.start_ns) / 1e6


def _agent_start_ms(case: InvocationCase) -> float | None:
    return None if (hull := _hull(case)) is None else max(0.0, (hull[0] - case.breakdown.start_ns) / 1e6)


def _hull(case: InvocationCase) -> tuple[int, int] | None:
    """Return the agent's first and last moment; None without client timing or with a shifted clock."""
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
