"""Logs, spans and metrics of the service: where they are collected, stored and queried."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from .logs.deliveries import LogDeliveries
from .logs.events import LogEvents
from .logs.filter import LogFilter
from .logs.queries import Insights
from .logs.store import Logs
from .logs.streams import LogStreams
from .otlp import Collector, TelemetryReader
from .otlp.caller_spans import CallerSpans
from .otlp.intake import OtlpIntake
from .otlp.origins import SessionOrigins
from .resources.store import ResourceStore
from .router import Router
from .sessions import SessionPool

_LOGS_LIMIT_BYTES: Final = 1_000_000


class ServiceTelemetry:
    """The store of logs, the process that collects spans and metrics, and the handlers of requests to both.

    Args:
        home: The home folder.
        resources: The resources that have their own logs.
        delay_s: How long records stay invisible, as with CloudWatch's ingestion.
        account_id: The service's account.
        region: The service's region.

    Attributes:
        logs: The store of log groups.
        spans: Writes spans for operations whose callers pass a trace context.
        deliveries: Deliveries of AgentCore's own logs.
    """

    def __init__(self, home: Path, resources: ResourceStore, *, delay_s: float, account_id: str, region: str) -> None:
        self._delay_s, self._reader = delay_s, TelemetryReader(home, delay_s=delay_s)
        self.logs = Logs(home, delay_s=delay_s, account_id=account_id, region=region)
        self.logs.create_streams(self._reader.places())
        self._insights = Insights(home, self.logs, delay_s=delay_s)
        self._collector = Collector(home, on_stored=self.logs.create_streams)
        self._loop = asyncio.get_running_loop()
        self.logs.on_forgotten = self._forget
        self.spans = CallerSpans(self._collector, delay_s=delay_s)
        self.deliveries = LogDeliveries(self.logs, resources)

    def router(self) -> Router:
        """Return the router of CloudWatch Logs."""
        return Router(
            "logs",
            LogFilter(self.logs, self._reader),
            LogEvents(self.logs, self._reader),
            LogStreams(self.logs, self._reader),
            self.deliveries,
            self._insights,
            limit_bytes=_LOGS_LIMIT_BYTES,
        )

    def intake(self, sessions: SessionPool) -> OtlpIntake:
        """Return the handler of the telemetry that sessions export."""
        return OtlpIntake(
            self._collector,
            self._reader,
            delay_s=self._delay_s,
            find_origin=SessionOrigins(sessions).find,
            stored_group=self.logs.keys.stored,
        )

    def close_in(self, closing: AsyncExitStack) -> None:
        """Register the shutdown with an exit stack: the queries end first, then the collection, then the store."""
        closing.callback(self.logs.close)
        closing.push_async_callback(self._collector.close)
        closing.push_async_callback(self._insights.close)

    def _forget(self, places: list[tuple[str, str]]) -> None:
        # Deleting a group of plain lines need not start the collecting process.
        if affected := set(self._reader.places()).intersection(places):
            asyncio.run_coroutine_threadsafe(self._collector.forget(sorted(affected)), self._loop)
