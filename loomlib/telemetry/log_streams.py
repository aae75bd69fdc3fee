"""The log streams of an agent's processes, without the stream of their telemetry.

`otel-rt-logs` is in the same group and is by far the largest: every message of every model call. FilterLogEvents cannot
exclude a stream, but it can select streams by the beginning of their names.
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
"""How the names of all process streams begin, in this century: `YYYY/MM/DD/[runtime-logs]<uuid>`, also spelled
`[runtime-logs-<session id>]<uuid>`."""

SHARED_STREAM: Final = "BedrockAgentCoreRuntime_ApplicationLogs"
"""The stream of older layouts that all processes write to: a session's lines there are those that name it."""


class LogStreamReader:
    """Reads the lines of log groups; the layout of a group is looked up once.

    Args:
        clients: The AWS clients of a connection.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._prefixes: dict[tuple[str, str], tuple[str | None, ...]] = {}

    def read(
        self, source: RuntimeSource, group: str, *, start_ms: int | None, end_ms: int | None, term: str | None = None
    ) -> list[StoredEvent]:
        """Return a group's lines by time.

        If no stream has a name in AWS's form, all streams are read and telemetry is filtered out here.

        Args:
            source: The agent's runtime.
            group: The log group.
            start_ms: Start of the range, Unix milliseconds.
            end_ms: End of the range, Unix milliseconds.
            term: Return only lines that contain this text.

        Raises:
            ResourceNotFoundError: The group does not exist.
        """
        from loomlib.aws.logs import filter_events

        events = [
            event
            for prefix in self._layout(source, group)
            for event in filter_events(
                self._clients, group, region=source.region, term=term, start_ms=start_ms, end_ms=end_ms, prefix=prefix
            )
            if event.stream != MESSAGES_STREAM
        ]
        return sorted(events, key=lambda event: event.timestamp_ms)

    def _layout(self, source: RuntimeSource, group: str) -> tuple[str | None, ...]:
        from loomlib.aws.logs import has_stream

        cached = self._prefixes.get((source.region, group))
        if cached is not None:
            return cached
        try:
            prefixes = tuple(
                prefix
                for prefix in (_PROCESSES, SHARED_STREAM)
                if has_stream(self._clients, group, prefix, region=source.region)
            )
        except AccessDeniedError:  # reading lines may be allowed all the same
            return (None,)
        if _PROCESSES in prefixes:
            self._prefixes[source.region, group] = prefixes
        return prefixes or (None,)
