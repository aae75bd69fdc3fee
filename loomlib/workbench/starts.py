"""An agent's start as JSON."""

from __future__ import annotations

from typing import Any

from ..telemetry import AgentStart


def start_facts(found: AgentStart) -> dict[str, Any]:
    """Return the result of a search for an agent's start, ready for JSON."""
    return {
        "state": found.state,
        "agent_start_time": found.start_time.isoformat() if found.start_time else None,
        "cold_start_latency_ms": found.cold_start_latency_ms,
        "low_ms": found.low_ms,
        "high_ms": found.high_ms,
        "clocks_disagree": found.clocks_disagree,
        "log_events_found": found.log_events_found,
        "sentence": found.sentence(),
    }
