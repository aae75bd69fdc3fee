"""Telemetry of the agents: OTLP received over HTTP, stored where and in the forms in which AWS stores it."""

from .collector import Collector
from .intake import PREFIX, OtlpIntake
from .origins import SessionOrigins
from .reader import StoredEvent, StreamTimes, TelemetryReader

__all__ = ["PREFIX", "Collector", "OtlpIntake", "SessionOrigins", "StoredEvent", "StreamTimes", "TelemetryReader"]
