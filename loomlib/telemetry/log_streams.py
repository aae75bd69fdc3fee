"""The log streams that hold lines: those of an agent's processes, apart from the stream of all their telemetry.

`otel-rt-logs` lies in the same group and is the largest by far: every message of every model call. FilterLogEvents
cannot leave a stream out, but it can be asked for those whose names begin alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loomlib.errors import AccessDeniedError

from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.logs import StoredEvent


_PROCESSES: Final = "20"
"""`YYYY/MM/DD/[runtime-logs]<uuid>`: how the names of all processes' streams begin, in this century."""

SHARED_STREAM: Final = "BedrockAgentCoreRuntime_ApplicationLogs"
"""The stream of older layouts that all processes write to: there a session's lines are those that name it."""


class LogStreams:
    """Reads the lines of log groups. Which layout a group has is looked up once, as soon as it has one."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._prefixes: dict[tuple[str, str], tuple[str | None, ...]] = {}

    def read(
        self, source: RuntimeSource, group: str, *, start_ms: int | None, end_ms: int | None, term: str | None = None
    ) -> list[StoredEvent]:
        """The lines that contain `term`, by time. Raises `ResourceNotFoundError` for a group that does not exist.

        Where no stream is named as AWS names them, all streams are read, and telemetry is dropped here.
        """
        from loomlib.aws.logs import filter_events

        found = [
            event
            for prefix in self._layout(source, group)
            for event in filter_events(
                self._clients, group, region=source.region, term=term, start_ms=start_ms, end_ms=end_ms, prefix=prefix
            )
            if event.stream != MESSAGES_STREAM
        ]
        return sorted(found, key=lambda event: event.timestamp_ms)

    def _layout(self, source: RuntimeSource, group: str) -> tuple[str | None, ...]:
        from loomlib.aws.logs import has_stream

        known = self._prefixes.get((source.region, group))
        if known is not None:
            return known
        try:
            found = tuple(
                prefix
                for prefix in (_PROCESSES, SHARED_STREAM)
                if has_stream(self._clients, group, prefix, region=source.region)
            )
        except AccessDeniedError:  # reading lines may be allowed all the same
            return (None,)
        if _PROCESSES in found:
            self._prefixes[source.region, group] = found
        return found or (None,)
