"""Long-term memory as the service holds it: records and their operations, and the process that extracts them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from loomlib.local.state import ServiceState

from .extraction import ExtractionProcess, ExtractionSettings
from .records import Memories, RecordPlane
from .records_batches import RecordBatches
from .records_jobs import ExtractionJobs
from .records_store import RecordsStore
from .store import MemoryStore


def extraction_settings(state: ServiceState) -> ExtractionSettings:
    """How a service's options have it."""
    options = state.options
    return ExtractionSettings(
        delay_s=options.memory_delay_s,
        extractor=options.memory_extractor,
        simulated=options.model == "scripted",
        url=state.url,
        access_key=state.access_key,
    )


class LongTermMemory:
    """`planes` are its rooms for `Operations`; `wake` and `forget` are told of events and deleted memories."""

    def __init__(self, home: Path, events: MemoryStore, memories: Memories, settings: ExtractionSettings) -> None:
        self._events = events
        self._store = RecordsStore(home)
        self._process = ExtractionProcess(home, settings)
        self._records = RecordPlane(self._store, memories)
        self._forgetting: set[asyncio.Future[None]] = set()
        self.planes: tuple[object, ...] = (
            self._records,
            RecordBatches(self._store, memories),
            ExtractionJobs(self._store, memories, self._process.wake),
        )

    def wake(self, _seq: int) -> None:
        """An event is on disk."""
        self._process.wake()

    def forget(self, memory_id: str) -> None:
        """A memory was deleted: its records go, too. What a kill keeps from going, the extracting process sweeps."""
        task = asyncio.get_running_loop().run_in_executor(None, self._records.forget_memory, memory_id)
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    def resume(self) -> None:
        """Go on with what a former service left undone."""
        newest = self._events.read_now(lambda db: db.execute("SELECT MAX(seq) FROM events").fetchone()[0]) or 0
        if newest > self._store.watermark():
            self._process.wake()

    async def close(self) -> None:
        await self._process.close()
        if self._forgetting:
            await asyncio.wait(self._forgetting)
        self._store.close()
