"""Background work that provisions resources: it survives full disks, and a restart resumes it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from ...recovery import full_disk_message, is_full_disk
from .behaviour import ProvisioningError
from .family import Family
from .records import ResourceRecord
from .store import ResourceStore

_log = logging.getLogger(__name__)
_FULL_DISK_PAUSE_S: Final = 1.0


class Provisioning:
    """Runs the `provision` hooks of resources.

    Args:
        store: Where the resources are stored.
        changing: The lock that is held while a resource is read and changed.
        now: Returns the time for `updatedAt`.
    """

    def __init__(self, store: ResourceStore, changing: asyncio.Lock, now: Callable[[], datetime]) -> None:
        self._store, self._changing, self._now = store, changing, now
        self._tasks: dict[asyncio.Task[None], ResourceRecord] = {}

    def begin(self, family: Family, record: ResourceRecord) -> None:
        """Start the work on a record, if it needs any."""
        if family.is_provisioning(record):
            task = asyncio.get_running_loop().create_task(self._provision(family, record))
            self._tasks[task] = record
            task.add_done_callback(self._tasks.pop)

    def resume(self, family: Family) -> None:
        """Continue the work that an earlier service left unfinished."""
        if family.behaviour.needs_provisioning:
            for record in self._store.records(family.kind):
                for version in self._store.versions(record) or [record]:
                    self.begin(family, version)

    async def abandon(self, deleted: ResourceRecord, version: int | None) -> None:
        """Cancel the work for a deleted resource or version, because it would leave files behind."""
        tasks = [
            task
            for task, record in self._tasks.items()
            if record.arn == deleted.arn and version in (None, record.version)
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tasks:
            _log.info("%s %s was deleted while it was %s", deleted.kind, deleted.id, deleted.status)

    async def close(self) -> None:
        """Cancel the work; the next service resumes it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _provision(self, family: Family, record: ResourceRecord) -> None:
        statuses, failure = family.binding.statuses, ""
        try:
            record = replace(await family.behaviour.provision(record), status=statuses.ready)
        except Exception as error:  # noqa: BLE001 - otherwise the resource would remain CREATING forever
            if is_full_disk(error):
                failure = full_disk_message(self._store.home)
            elif isinstance(error, ProvisioningError):
                failure = str(error)
            else:
                _log.exception("%s %s failed while it was %s", family.kind, record.id, record.status)
                failure = f"The local AgentCore failed while the resource was {record.status}: {error!r}"
        if failure:
            record = replace(record, status=statuses.failures[record.status], failure=failure)
        record = replace(record, updated_at=self._now())
        while not await self._put_provisioned(family, record):  # noqa: ASYNC110 - freed disk space is not signalled
            await asyncio.sleep(_FULL_DISK_PAUSE_S)
        _log.info("%s %s version %d is %s %s", family.kind, record.id, record.version, record.status, failure)

    async def _put_provisioned(self, family: Family, record: ResourceRecord) -> bool:
        """Store the result of background work, unless the resource was deleted; return False if the disk is full."""
        async with self._changing:
            current = self._store.of_arn(record.arn)
            if current is None or (record.version and self._store.version(current, record.version) is None):
                return True
            if record.version == current.version:
                record = replace(record, tokens=current.tokens)
            try:
                await asyncio.to_thread(self._store.put, [record, *family.behaviour.after_provision(record)])
            except sqlite3.Error as error:
                if not is_full_disk(error):
                    raise
                _log.error("%s %s is not yet %s: the disk is full", family.kind, record.id, record.status)
                return False
        return True
