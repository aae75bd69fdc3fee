"""Telemetry of agents: OTLP received over HTTP, stored in the log groups and forms in which AWS stores it.

`intake` and `origins` are imported from their modules: they import sessions, which the collecting process does not
need.
"""

from .collector import Collector
from .reader import StreamTimes, TelemetryEvent, TelemetryReader

__all__ = ["Collector", "StreamTimes", "TelemetryEvent", "TelemetryReader"]
