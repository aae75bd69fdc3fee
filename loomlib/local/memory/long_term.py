"""Long-term memory as the service runs it: the operations on records, and the process that extracts them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loomlib.local.state import ServiceState

from .extraction import ExtractionProcess, ExtractionSettings
from .records import MemoryLookup, RecordBatches, RecordOperations, RecordsStore
from .store import MemoryStore


def extraction_settings(state: ServiceState) -> ExtractionSettings:
    """Return the settings of the extraction, from the options of a service."""
    options = state.options
    return ExtractionSettings(
        delay_s=options.memory_delay_s,
        extractor=options.memory_extractor,
        simulated=options.model == "scripted",
        url=state.url,
        access_key=state.access_key,
        secret_key=state.secret_key,
    )


class LongTermMemory:
    """The records of a home and their extraction.

    Args:
        home: The home folder.
        events: The events.
        memories: Finds memories.
        settings: How to extract.
        on_outcome: Called with the outcome of each extraction.

    Attributes:
        planes: Objects with one method for each operation, for the service's router.
    """

    def __init__(
        self,
        home: Path,
        events: MemoryStore,
        memories: MemoryLookup,
        settings: ExtractionSettings,
        on_outcome: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> None:
        self._events = events
        self._store = RecordsStore(home)
        self._process = ExtractionProcess(home, settings, on_outcome)
        self._records = RecordOperations(self._store, memories, self._process.wake)
        self._forgetting: set[asyncio.Future[None]] = set()
        self.planes: tuple[object, ...] = (self._records, RecordBatches(self._store, memories))

    def wake(self, _seq: int) -> None:
        """Notify the extraction that an event is on disk."""
        self._process.wake()

    def forget(self, memory_id: str) -> None:
        """Delete the records of a deleted memory; after a kill, the extraction process deletes them."""
        task = asyncio.get_running_loop().run_in_executor(None, self._records.forget_memory, memory_id)
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    def resume(self) -> None:
        """Extract the events that an earlier service left pending."""
        newest = self._events.read_now(lambda db: db.execute("SELECT MAX(seq) FROM events").fetchone()[0]) or 0
        if newest > self._store.watermark():
            self._process.wake()

    async def close(self) -> None:
        """Stop the extraction and close the file."""
        await self._process.close()
        if self._forgetting:
            await asyncio.wait(self._forgetting)
        self._store.close()
