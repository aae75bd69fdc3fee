"""Estimates of each way: sizes, times, and the paired difference to HTTP JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loomlib.agents.protocols.ways import HTTP_JSON
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference, estimate_percentile

from .result import ProtocolResult, WayCall

MeasuredValue = Callable[[WayCall], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WayEstimates:
    """Medians of one way, times in milliseconds, and median paired differences from HTTP JSON (None for HTTP JSON).

    Attributes:
        way: The way.
        calls: Its calls.
        duration: The whole answer.
        first_byte: The first byte.
        first_event: The first event.
        first_text: The first text.
        sent: Bytes sent.
        received: Bytes received.
        events: Events of the answer.
        text_bytes: Bytes of the answer's text.
        framing: Share of the received bytes that is not text.
        extra_ms: Difference of the whole answer.
        extra_text_ms: Difference of the first text.
        extra_bytes: Difference of the bytes in both directions.
    """

    way: str
    calls: tuple[WayCall, ...]
    duration: Estimate
    first_byte: Estimate
    first_event: Estimate
    first_text: Estimate
    sent: Estimate
    received: Estimate
    events: Estimate
    text_bytes: Estimate
    framing: Estimate
    extra_ms: Estimate | None
    extra_text_ms: Estimate | None
    extra_bytes: Estimate | None


def way_estimates(result: ProtocolResult) -> list[WayEstimates]:
    """Return the estimates of every way that was measured, in the design's order."""
    reference = {call.block: call for call in result.calls if call.way == HTTP_JSON and call.is_done}
    estimates: list[WayEstimates] = []
    for way in result.design.ways:
        calls = tuple(call for call in result.calls if call.way == way)
        done_calls = [call for call in calls if call.is_done]

        def median(value: MeasuredValue, done_calls: list[WayCall] = done_calls) -> Estimate:
            values = [reading for call in done_calls if (reading := value(call)) is not None]
            return estimate_percentile(values, 0.5)

        def extra(value: MeasuredValue, done_calls: list[WayCall] = done_calls, way: str = way) -> Estimate | None:
            if way == HTTP_JSON:
                return None
            both = [(value(call), value(reference[call.block])) for call in done_calls if call.block in reference]
            pairs = [(first, second) for first, second in both if first is not None and second is not None]
            firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
            return estimate_paired_difference(firsts, seconds)

        estimates.append(
            WayEstimates(
                way=way,
                calls=calls,
                duration=median(lambda call: call.duration_ms),
                first_byte=median(lambda call: call.first_byte_ms),
                first_event=median(lambda call: call.first_event_ms),
                first_text=median(lambda call: call.first_text_ms),
                sent=median(lambda call: call.sent),
                received=median(lambda call: call.received),
                events=median(lambda call: call.events),
                text_bytes=median(lambda call: call.text_bytes),
                framing=median(lambda call: call.framing),
                extra_ms=extra(lambda call: call.duration_ms),
                extra_text_ms=extra(lambda call: call.first_text_ms),
                extra_bytes=extra(both_directions),
            )
        )
    return estimates


def both_directions(call: WayCall) -> float | None:
    """Return the bytes of a call in both directions."""
    return None if call.sent is None or call.received is None else call.sent + call.received
