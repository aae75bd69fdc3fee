"""Telemetry of agents: OTLP received over HTTP, stored in the log groups and forms in which AWS stores it."""

from .collector import Collector
from .intake import PREFIX, OtlpIntake
from .origins import SessionOrigins
from .reader import StreamTimes, TelemetryEvent, TelemetryReader

__all__ = ["PREFIX", "Collector", "OtlpIntake", "SessionOrigins", "StreamTimes", "TelemetryEvent", "TelemetryReader"]
