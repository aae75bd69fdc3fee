"""The exported history of a workbench: its invocations in Parquet files, and SQL over them and the store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..presentation.formats import number, plural, seconds, size
from ..presentation.html import card
from ..store.history import ExportedHistory, ExportSelection, PrunedHistory
from .context import Context
from .wait_line import WaitLine

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


class HistoryExport:
    """Result of `bench.telemetry.history.export(…)`.

    Args:
        exported: The values.
    """

    def __init__(self, exported: ExportedHistory) -> None:
        self.exported = exported

    @property
    def rows(self) -> dict[str, int]:
        """The number of written rows by table; rows that the folder already had are not included."""
        return dict(self.exported.rows)

    def sentence(self) -> str:
        """Return what was written in one line."""
        export = self.exported
        count = plural(export.rows["invocations"], "invocation")
        return f"{count} exported to {export.folder} ({size(export.bytes_written)}, {seconds(export.elapsed_s)})"

    def __repr__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        return card("History export", note=self.sentence(), facts=[(name, number(n)) for name, n in self.rows.items()])


class BenchHistory:
    """Long history in Parquet files of a folder; `bench.telemetry.history`. It needs `loomlib[history]`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def folder(self) -> Path:
        """The default folder: `history` in the home folder."""
        return self._context.settings.home / "history"

    def export(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        agents: Sequence[str] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> HistoryExport:
        """Write ended invocations with their traces and costs as Parquet files, by table and month.

        Rows already in the folder are not written again. Secrets are exported as stored, that is, already redacted.

            bench.telemetry.history.export()

        Args:
            folder: The folder; by default `history` in the home folder.
            since: Only invocations sent at or after this time; a timedelta counts back from now.
            until: Only invocations sent before this time; a timedelta counts back from now.
            agents: Names, runtime ids, ARNs, or groups (`group:team-a`); all agents by default.
            progress: Called with a line after each file; displayed in the notebook by default.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: The folder cannot be written to, is in use, or has another store's rows.
        """
        from ..metrics import Window

        window, show = Window.of(since, until), progress or WaitLine()
        chosen = None if agents is None else tuple(entry.id for entry in self._context.catalog.select(agents))
        selection = ExportSelection(since=window.since, until=window.until, agent_ids=chosen)

        def line(table: str, done: int, total: int) -> None:
            show(f"{table}: {number(done)} of {number(total)} rows")

        return HistoryExport(self._context.store.history.export(folder or self.folder, selection, progress=line))

    def prune(
        self,
        before: date,
        folder: str | os.PathLike[str] | None = None,
        *,
        progress: Callable[[str], None] | None = None,
    ) -> PrunedHistory:
        """Remove exported invocations of past days from the store, after the export was verified.

        The overview keeps the figures of these days; `query` reads the invocations.

            bench.telemetry.history.prune(date(2026, 9, 1))

        Args:
            before: The first day (UTC) whose invocations stay.
            folder: The exported history; by default `history` in the home folder.
            progress: Called with a line after each batch; displayed in the notebook by default.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: An exported row differs from the stored one; nothing is removed in this case.
        """
        show = progress or WaitLine()

        def line(done: int, total: int) -> None:
            show(f"{number(done)} of {number(total)} invocations removed")

        return self._context.store.history.prune(folder or self.folder, before, progress=line)

    def query(
        self,
        sql: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        live: bool = True,
        limit: int = 10_000,
        timeout_s: float = 60.0,
    ) -> pd.DataFrame:
        """Return the rows of one SELECT over the exported history and the store, by DuckDB.

        The statement can read only these rows, and no files, variables or addresses. Times are in UTC.

            bench.telemetry.history.query("SELECT agent_id, count(*) FROM invocations GROUP BY ALL")

        Args:
            sql: The statement, over agents, invocations, traces, invocation_costs, invocation_events and others.
            folder: The exported history; by default `history` in the home folder.
            live: Also read the rows of the store that are not exported yet; this takes as long as their export.
            limit: Maximum number of rows.
            timeout_s: Timeout in seconds.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: The statement is not a single SELECT, or DuckDB refuses it.
        """
        return self._context.store.history.query(
            folder or self.folder, sql, live=live, limit=limit, timeout_s=timeout_s
        )
