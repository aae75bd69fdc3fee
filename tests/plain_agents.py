"""The beginning of agents that are served without AgentCore's SDK."""

from __future__ import annotations

from pathlib import Path

PLAIN_APP = Path(__file__).with_name("plain_app.py").read_text()
"""Defines `PlainApp`, to be used as the SDK's app is."""
