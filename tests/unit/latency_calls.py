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
    **every: Any,
) -> list[Measurement]:
    """Answered calls with these durations, block by block; the first byte comes at 95 % of the duration."""
    given = {Scenario.COLD: cold, Scenario.WARM: warm, Scenario.STICKY: sticky}
    starts = {Scenario.COLD: cold_starts, Scenario.WARM: warm_starts}
    made: list[Measurement] = []
    for block in range(max(map(len, given.values()), default=0)):
        for scenario, durations in given.items():
            if block >= len(durations):
                continue
            known = starts.get(scenario, ())
            made.append(
                Measurement(
                    **{
                        "position": len(made),
                        "block": block,
                        "scenario": scenario,
                        "state": "done",
                        "session_id": "sticky" if scenario is Scenario.STICKY else f"{scenario}-{block}",
                        "invocation_id": len(made) + 1,
                        "duration_ms": durations[block],
                        "ttft_ms": durations[block] * 0.95,
                        "connect_ms": 0.0,
                        "connection_reused": True,
                        "start_latency_ms": known[block] if block < len(known) else None,
                        "start_state": "found" if block < len(known) else None,
                    }
                    | every
                )
            )
    return made


def failed(position: int, scenario: Scenario, failure: str, message: str = "") -> Measurement:
    """A call that failed."""
    return Measurement(
        position=position, block=0, scenario=scenario, state="failed", failure=failure, error_message=message
    )
