"""An agent's start as JSON."""

from __future__ import annotations

from typing import Any

from ..telemetry import AgentStart


def start_facts(start: AgentStart) -> dict[str, Any]:
    """Return the result of a search for an agent's start, ready for JSON."""
    return {
        "state": start.state,
        "agent_start_time": start.start_time.isoformat() if start.start_time else None,
        "cold_start_latency_ms": start.cold_start_latency_ms,
        "low_ms": start.low_ms,
        "high_ms": start.high_ms,
        "clocks_disagree": start.clocks_disagree,
        "log_events_found": start.log_events_found,
        "sentence": start.sentence(),
    }
