"""Ready-made Logs Insights queries for one agent: list, copy and run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry
from ..aws import Clients
from ..aws.insights import run_query
from ..errors import ResourceNotFoundError
from ..presentation.html import card
from ..telemetry.queries import READY_QUERIES, ready_query
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd


_LAST_HOURS = 24.0
_SOON = timedelta(minutes=1)


class AgentQueries:
    """Ready-made queries for one agent; returned by `agent.telemetry.queries()`.

    Examples:
        >>> agent.telemetry.queries().run("tool_frequency")
    """

    def __init__(self, entry: AgentEntry, clients: Clients, *, qualifier: str) -> None:
        self._entry, self._clients, self._qualifier = entry, clients, qualifier

    def table(self) -> pd.DataFrame:
        """Return the ready-made queries, one row each."""
        return rows_frame(
            [{"name": query.name, "answers": query.answers, "note": query.note} for query in READY_QUERIES]
        )

    def text(self, name: str) -> str:
        """Return the query's text, ready for the CloudWatch console."""
        return ready_query(name).of(self._entry.runtime_id)

    def run(
        self,
        name: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> pd.DataFrame:
        """Run a ready-made query over a time range, by default the last 24 hours.

        The result has no rows where the log group does not exist yet. AWS charges for the data that a query scans.

        Args:
            name: The query's name; `agent.telemetry.queries().table()` lists them.
            start: Start of the time range; 24 hours before its end by default.
            end: End of the time range; now by default.
            progress: Called with a line of progress.

        Raises:
            ValueError: `start` or `end` is not timezone-aware.

        Returns:
            One row for each row of the result, with numbers as numbers.
        """
        query = ready_query(name)
        frame = self.ask(
            query.of(self._entry.runtime_id),
            groups=query.groups(self._entry.log_group(self._qualifier)),
            start=start,
            end=end,
            progress=progress,
        )
        for column in query.numbers:
            if column in frame:
                frame[column] = [_number(value) for value in frame[column]]
        return frame

    def ask(
        self,
        query: str,
        *,
        groups: tuple[str, ...] | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> pd.DataFrame:
        """Run any query, by default on the agent's own log group; all values are text.

        Args:
            query: The query, in CloudWatch Logs Insights syntax.
            groups: Names of log groups; the agent's own by default.
            start: Start of the time range; 24 hours before its end by default.
            end: End of the time range; now by default.
            progress: Called with a line of progress.

        Raises:
            ValueError: `start` or `end` is not timezone-aware.
        """
        for time in (start, end):
            if time is not None and time.tzinfo is None:  # its timestamp would be that of local time
                raise ValueError(f"a time for a query must be timezone-aware: {time.isoformat()}")
        until = end or datetime.now(UTC) + _SOON
        since = start or until - timedelta(hours=_LAST_HOURS)
        try:
            result = run_query(
                self._clients,
                groups or (self._entry.log_group(self._qualifier),),
                query,
                start_s=int(since.timestamp()),
                end_s=int(until.timestamp()),
                region=self._entry.region,
                progress=progress,
            )
        except ResourceNotFoundError:
            return rows_frame([])
        return rows_frame([dict(row) for row in result.rows])

    def __repr__(self) -> str:
        return f"<Queries for {self._entry.name}: {', '.join(query.name for query in READY_QUERIES)}>"

    def _repr_html_(self) -> str:
        facts = [(query.name, " ".join(filter(None, (query.answers, query.note)))) for query in READY_QUERIES]
        return card(f"Logs Insights queries for {self._entry.name}", note="Run one: .run(name)", facts=facts)


def _number(value: Any) -> float | None:
    """Return the value as a number; Insights omits missing fields, which pandas fills with NaN."""
    text: Mapping[str, str] | str | float | None = value
    try:
        return float(text) if isinstance(text, str) else None
    except ValueError:
        return None
