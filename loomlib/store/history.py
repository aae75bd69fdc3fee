"""Long history: ended invocations in Parquet files beside the store, and SQL over both."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

from .database import Database
from .history_export import ExportedHistory, ExportProgress, ExportSelection, export_rows
from .history_files import HistoryFolder
from .history_prune import PrunedHistory, prune_rows
from .history_query import query_history
from .tenancy import StoreIdentity

if TYPE_CHECKING:
    import pandas as pd


class StoredHistory:
    """Exports invocations of a store, prunes those that were exported, and reads both. It needs DuckDB.

    Args:
        database: The store's database.
        identity: The tenant and the user of the store.
    """

    def __init__(self, database: Database, identity: StoreIdentity) -> None:
        self._database = database
        self._source = f"{database.where} ({identity.tenant})"

    def export(
        self,
        folder: str | os.PathLike[str],
        selection: ExportSelection | None = None,
        *,
        progress: ExportProgress | None = None,
    ) -> ExportedHistory:
        """Write the ended invocations that the folder does not have, with their traces, costs and events.

        Args:
            folder: The folder; it is created as needed.
            selection: Which invocations; all by default.
            progress: Called after each file.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: The folder cannot be written to, is in use, or has another store's rows.
        """
        target = HistoryFolder(folder)
        with target.locked(self._source):
            return export_rows(self._database, target, selection or ExportSelection(), progress=progress)

    def prune(
        self, folder: str | os.PathLike[str], before: date, *, progress: Callable[[int, int], None] | None = None
    ) -> PrunedHistory:
        """Remove invocations that were sent before a day (UTC) from the store, if the folder has all of them.

        The figures of these days stay in the store. Without an export that was verified, nothing is removed.

        Args:
            folder: The exported history.
            before: The first day whose invocations stay.
            progress: Gets how many are removed, and how many there are.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: A row of the store differs from the export, or is not in it.
        """
        source = HistoryFolder(folder)
        with source.locked(self._source):
            return prune_rows(self._database, source, before, progress=progress)

    def query(
        self,
        folder: str | os.PathLike[str],
        sql: str,
        *,
        live: bool = True,
        limit: int = 10_000,
        timeout_s: float = 60.0,
    ) -> pd.DataFrame:
        """Return the rows of one SELECT over the exported history and the store.

        DuckDB runs it on a connection that reads these rows and no other file, variable or network address.

        Args:
            folder: The exported history; it need not exist.
            sql: The statement, over the views agents, invocations, traces, invocation_costs and others.
            live: Also read the rows of the store that are not exported.
            limit: The maximum number of rows.
            timeout_s: The time limit in seconds.

        Raises:
            MissingExtraError: DuckDB is not installed.
            StoreError: It is not one SELECT, or DuckDB refuses it.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        return query_history(self._database, HistoryFolder(folder), sql, live=live, limit=limit, timeout_s=timeout_s)
