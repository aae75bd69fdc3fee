"""Telemetry of the agents: OTLP taken over HTTP, kept where and in the forms in which AWS keeps it."""

from .collector import Collector
from .intake import PREFIX, OtlpIntake
from .origins import SessionOrigins
from .reader import StoredEvent, StreamTimes, TelemetryReader

__all__ = ["PREFIX", "Collector", "OtlpIntake", "SessionOrigins", "StoredEvent", "StreamTimes", "TelemetryReader"]
