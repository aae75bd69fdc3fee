"""Telemetry of agents: OTLP received over HTTP, stored in the log groups and forms in which AWS stores it.

`intake` and `origins` are imported from their modules: they bring sessions, which the collecting process does without.
"""

from .collector import Collector
from .reader import StreamTimes, TelemetryEvent, TelemetryReader

__all__ = ["Collector", "StreamTimes", "TelemetryEvent", "TelemetryReader"]
