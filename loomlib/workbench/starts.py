"""An agent's start in words: how long it took, how sure that is, or why it is not known."""

from __future__ import annotations

from typing import Any

from ..telemetry import AgentStart
from .cards import milliseconds

_UNKNOWN = {
    "no_start_line": (
        "The agent's log has no start line, so its cold-start latency is not known. "
        "Let it print first of all: Agent invoked - Start time: <ISO time>"
    ),
    "not_found_yet": "No log line of this session has arrived yet. Logs can be minutes late: ask again in a while.",
    "no_logs": "The endpoint has no log group yet, so the agent's start is not known.",
}


def start_sentence(found: AgentStart) -> str:
    """The outcome in one or two sentences."""
    if found.state != "found":
        return _UNKNOWN[found.state]
    if found.clocks_disagree:
        return (
            "The agent's clock and this one disagree: the start lies between "
            f"{milliseconds(found.low_ms)} and {milliseconds(found.high_ms)} after the request was sent."
        )
    return (
        f"The agent started {milliseconds(found.cold_start_latency_ms)} after the request was sent, by its own clock."
    )


def start_facts(found: AgentStart) -> dict[str, Any]:
    """The outcome, ready for JSON."""
    return {
        "state": found.state,
        "agent_start_time": found.start_time.isoformat() if found.start_time else None,
        "cold_start_latency_ms": found.cold_start_latency_ms,
        "low_ms": found.low_ms,
        "high_ms": found.high_ms,
        "clocks_disagree": found.clocks_disagree,
        "log_events_found": found.log_events_found,
        "sentence": start_sentence(found),
    }
