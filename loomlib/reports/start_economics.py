"""The report on the economics of starts: measured or given calls, the answer with its gate, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .displays import Listing, Verdict

if TYPE_CHECKING:
    from loomlib.latency.economics import MeasuredStarts, StartEconomics


def number_list(text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated parameter; none for an empty text.

    Args:
        text: The parameter, such as "60, 300, 900".

    Raises:
        ValueError: Something in it is not a number.
    """
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError(f"{text!r} must be numbers separated by commas, such as “60, 300”") from None


def given_starts(
    cold_ms: str,
    warm_ms: str,
    *,
    v1_cold_ms: str = "",
    v1_warm_ms: str = "",
    vcpu_s: float = 0.0,
    start_vcpu_s: float = 0.0,
    memory_gb: float = 0.0,
) -> list[MeasuredStarts]:
    """Return calls that were measured elsewhere, from the parameters of a report; none without cold calls.

    Args:
        cold_ms: Durations of cold calls on V2 in milliseconds, comma-separated.
        warm_ms: Durations of warm calls on V2.
        v1_cold_ms: Durations of cold calls on V1.
        v1_warm_ms: Durations of warm calls on V1; those of V2 by default.
        vcpu_s: vCPU-seconds of a warm call; 0 for unknown.
        start_vcpu_s: vCPU-seconds of a session's start.
        memory_gb: Memory of a session during a call, in GB; 0 for unknown.
    """
    from loomlib.latency.economics import MeasuredStarts

    texts = (("V1", v1_cold_ms, v1_warm_ms or warm_ms), ("V2", cold_ms, warm_ms))
    return [
        MeasuredStarts.given(
            platform,
            cold_ms=number_list(cold),
            warm_ms=number_list(warm),
            vcpu_s=vcpu_s or None,
            start_vcpu_s=start_vcpu_s,
            memory_gb=memory_gb or None,
        )
        for platform, cold, warm in texts
        if cold
    ]


def economics_verdict(
    economics: StartEconomics, *, max_usd_per_month: float = 0.0, allow_overload: bool = False
) -> Verdict:
    """Return the answer as a box.

    Args:
        economics: The comparison of policies.
        max_usd_per_month: Gate: the largest accepted cost of the cheapest policy within the latency limit; 0 for none.
        allow_overload: Whether to decide the gate also when the machine was overloaded.
    """
    gates = [economics.gate(max_usd_per_month, allow_overload=allow_overload)] if max_usd_per_month else []
    return Verdict(
        title=economics.title(),
        sentences=economics.sentences(),
        gates=[(gate.outcome, gate.sentence()) for gate in gates],
        summary={**economics.summary(), "gates": [gate.summary() for gate in gates]},
    )


def economics_notes(economics: StartEconomics) -> Listing:
    """Return how the figures were computed, and what they leave out."""
    return Listing(items=[("", note, "") for note in economics.notes()])
