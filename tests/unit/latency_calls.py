"""Measurements made up for tests: what a study would have stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loomlib.latency import Measurement, Scenario


def calls(
    *,
    cold: Sequence[float] = (),
    warm: Sequence[float] = (),
    sticky: Sequence[float] = (),
    cold_starts: Sequence[float] = (),
    warm_starts: Sequence[float] = (),
    **overrides: Any,
) -> list[Measurement]:
    """Answered calls with these durations, block by block; the first byte comes at 95 % of the duration."""
    durations_by_scenario = {Scenario.COLD: cold, Scenario.WARM: warm, Scenario.STICKY: sticky}
    starts_by_scenario = {Scenario.COLD: cold_starts, Scenario.WARM: warm_starts}
    measurements: list[Measurement] = []
    for block in range(max(map(len, durations_by_scenario.values()), default=0)):
        for scenario, durations in durations_by_scenario.items():
            if block >= len(durations):
                continue
            start_latencies = starts_by_scenario.get(scenario, ())
            measurements.append(
                Measurement(
                    **{
                        "position": len(measurements),
                        "block": block,
                        "scenario": scenario,
                        "state": "done",
                        "session_id": "sticky" if scenario is Scenario.STICKY else f"{scenario}-{block}",
                        "invocation_id": len(measurements) + 1,
                        "duration_ms": durations[block],
                        "ttft_ms": durations[block] * 0.95,
                        "connect_ms": 0.0,
                        "connection_reused": True,
                        "start_latency_ms": start_latencies[block] if block < len(start_latencies) else None,
                        "start_state": "found" if block < len(start_latencies) else None,
                    }
                    | overrides
                )
            )
    return measurements


def failed(position: int, scenario: Scenario, failure: str, message: str = "") -> Measurement:
    """A call that failed."""
    return Measurement(
        position=position, block=0, scenario=scenario, state="failed", failure=failure, error_message=message
    )
