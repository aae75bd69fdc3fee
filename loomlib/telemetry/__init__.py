"""Telemetry: an agent's log lines, and when the agent started according to them."""
