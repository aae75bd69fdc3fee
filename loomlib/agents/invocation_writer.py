"""Storing an invocation in a thread of its own, so that the network never waits for the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from loomlib.errors import StoreError
from loomlib.jobs.machine import MachineFiles, processor_count

from .record import InvocationRecord
from .requests import InvocationRequest
from .timeline import Timeline

if TYPE_CHECKING:
    from loomlib.store import Store


PROGRESS_INTERVAL_S: Final = 0.25
_log = logging.getLogger(__name__)


class InvocationWriter:
    """Writes invocations to the database, in order.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._machine = MachineFiles()
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loom-invocation-writer")

    async def begin(self, request: InvocationRequest) -> int:
        """Store a pending invocation and return its id.

        Raises:
            StoreError: It could not be stored; nothing may be sent then.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._begin, request)

    def progress(self, invocation_id: int, so_far: Timeline) -> Future[None]:
        """Store what has arrived so far, in the background; an error is logged and does not stop the response.

        Args:
            invocation_id: The invocation.
            so_far: What has arrived.
        """
        return self._writer.submit(
            self._progress,
            invocation_id,
            so_far.response,
            tuple(so_far.offsets_ms),
            so_far.bytes_received,
            so_far.invoke_time,
            so_far.ttft_ms,
        )

    async def finish(self, record: InvocationRecord, events: Sequence[str] = ()) -> bool:
        """Store the outcome.

        Args:
            record: The outcome.
            events: The protocol events of the response.

        Returns:
            False (with a logged warning) when the database refuses it.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._finish, record, events)

    def close(self) -> None:
        """Wait for pending writes."""
        self._writer.shutdown(wait=True)

    def _begin(self, request: InvocationRequest) -> int:
        from loomlib.store import LoadRow

        return self._store.invocations.begin(
            agent_id=request.agent.id,
            session_id=request.session_id,
            qualifier=request.qualifier,
            prompt=request.payload.prompt,
            labels=request.labels,
            payload_digest=request.payload.digest,
            load=LoadRow(
                processors=processor_count(), tasks=self._machine.runnable_tasks(), load_1_min=self._machine.load()
            ),
        )

    def _progress(
        self,
        invocation_id: int,
        response: str,
        offsets_ms: tuple[float, ...],
        bytes_received: int,
        invoke_time: float,
        ttft_ms: float | None,
    ) -> None:
        try:
            self._store.invocations.progress(
                invocation_id,
                response,
                offsets_ms,
                bytes_received=bytes_received,
                client_invoke_time=invoke_time,
                ttft_ms=ttft_ms,
            )
        except StoreError as error:
            _log.warning(
                "The progress of an invocation could not be stored: %s", error, extra={"invocation_id": invocation_id}
            )

    def _finish(self, record: InvocationRecord, events: Sequence[str]) -> bool:
        try:
            self._store.invocations.finish(
                record.id,
                status=record.status,
                response=record.response,
                client_invoke_time=record.client_invoke_time,
                client_done_time=record.client_done_time or 0.0,
                client_duration_ms=record.client_duration_ms or 0.0,
                ttft_ms=record.ttft_ms,
                connect_ms=record.connect_ms,
                connection_reused=record.connection_reused,
                chunk_offsets_ms=record.chunk_offsets_ms,
                bytes_received=record.bytes_received,
                failure=record.failure,
                error_message=record.error_message,
                request_id=record.request_id,
                trace_id=record.trace_id,
                content_type=record.content_type,
            )
            if events:
                self._store.invocations.keep_events(record.id, events)
        except StoreError as error:
            _log.warning(
                "The outcome of an invocation could not be stored: %s",
                error,
                extra={"invocation_id": record.id, "session_id": record.session_id},
            )
            return False
        return True
