"""The snapshots of all versions, with a limit on the number of frozen processes."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from ..contract import RuntimeVersion
from .pool_settings import PoolSettings
from .snapshot import Snapshot, SnapshotError
from .warming import name_of_hook

_log = logging.getLogger(__name__)

KEPT_UNUSED = 8
"""Maximum number of frozen processes kept without a session; a Strands agent's uses 80 to 90 MB (`bench_snapshots`).

`LOOM_KEPT_SNAPSHOTS` overrides it, for example with 1 on a machine that many users share.
"""

_SnapshotKey = tuple[str, str]


def reasons_to_boot(runtime: RuntimeVersion) -> tuple[str, ...]:
    """Return why sessions of a V2 version boot although no snapshot was attempted; empty if there is no reason."""
    if runtime.platform != "V2":
        return ()
    if sys.platform != "linux":
        return ("sessions are restored on Linux only",)
    if runtime.node is not None:
        return ("it is a Node.js program, which cannot be forked",)
    return ("its session storage is mounted when its process starts",) if runtime.mount_paths else ()


class Snapshots:
    """The snapshots of all versions.

    Each is taken when its version is built, and again when a session needs it and it no longer exists: after a restart
    of the service, or because more than `KEPT_UNUSED` versions had no session and this one was the least recently used.

    Args:
        shared: Settings of the pool.
    """

    def __init__(self, shared: PoolSettings) -> None:
        self._shared = shared
        self._most_unused = _kept_unused()
        self._snapshots: dict[_SnapshotKey, asyncio.Task[Snapshot]] = {}  # the one that was used last is the last
        self._stopped: set[_SnapshotKey] = set()
        self._users: dict[_SnapshotKey, set[str]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def find(self, runtime: RuntimeVersion, mark: str = "") -> Snapshot | None:
        """Return the snapshot from which sessions of a version are forked; None if they boot.

        Sessions boot on V1, and on V2 if `reasons_to_boot` returns a reason.

        Args:
            runtime: The version.
            mark: The mark of a session that uses the snapshot until `release`.

        Raises:
            SnapshotError: It could not be taken.
        """
        if runtime.platform != "V2" or reasons_to_boot(runtime):
            return None
        key = (runtime.runtime_id, runtime.version)
        if mark:
            self._users.setdefault(key, set()).add(mark)
        task = self._snapshots.pop(key, None)
        why_gone = self._why_gone(key, task)
        if task is None or why_gone:
            if task is not None and not task.cancelled() and task.exception() is None:
                self._begin_end(task.result())  # its files, descriptors and key have outlived its process
            note = ""
            if runtime.warm_up and mark:  # without a session its version is being built
                note = (
                    f"The snapshot of version {runtime.version} of {runtime.runtime_id} was no longer kept, because "
                    f"{why_gone}: the warm-up hook {name_of_hook(runtime)} runs again"
                )
                _log.info("%s", note)
            self._stopped.discard(key)
            task = asyncio.get_running_loop().create_task(self._take(runtime, note))
            task.add_done_callback(lambda _: self._stop_unused())
        self._snapshots[key] = task
        await asyncio.wait([task])  # continues for others if this caller is cancelled
        if task.cancelled():
            raise SnapshotError(f"The snapshot of version {runtime.version} of {runtime.runtime_id} was abandoned")
        return task.result()

    def release(self, runtime: RuntimeVersion, mark: str) -> None:
        """Record that a session has ended."""
        key = (runtime.runtime_id, runtime.version)
        users = self._users.get(key)
        if users is None:
            return
        users.discard(mark)
        if not users:
            del self._users[key]
            self._stop_unused()

    def abandon(self, runtime_id: str | None = None) -> None:
        """Stop taking snapshots of a runtime, or of all: a hook may take two minutes. Waiting sessions fail."""
        for key, task in self._snapshots.items():
            if runtime_id in (None, key[0]):
                task.cancel()

    async def end(self, runtime_id: str, version: str | None = None) -> None:
        """End the snapshots of a runtime, or of one version."""
        keys = [key for key in self._snapshots if key[0] == runtime_id and version in (None, key[1])]
        tasks = [self._snapshots.pop(key) for key in keys]
        for task in tasks:
            task.cancel()  # if it is being taken
        self._stopped -= {key for key in self._stopped if key[0] == runtime_id and version in (None, key[1])}
        for snapshot in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(snapshot, Snapshot):
                await snapshot.end()

    async def close(self) -> None:
        """End all snapshots."""
        for runtime_id in {key[0] for key in self._snapshots}:
            await self.end(runtime_id)
        await asyncio.gather(*self._ending)

    async def _take(self, runtime: RuntimeVersion, note: str) -> Snapshot:
        snapshot = Snapshot(self._shared, runtime, note=note)
        await snapshot.build()
        return snapshot

    def _why_gone(self, key: _SnapshotKey, task: asyncio.Task[Snapshot] | None) -> str:
        """Return why a version that was built has no snapshot; empty if it has one, or one is being taken."""
        if task is None:
            return "its frozen process was stopped" if key in self._stopped else "the service was started again"
        if not task.done():
            return ""
        if task.cancelled() or task.exception():
            return "the last attempt to take it failed"
        return "" if task.result().is_live else "its frozen process has ended or does not answer"

    def _stop_unused(self) -> None:
        """Stop the least recently used frozen processes beyond `KEPT_UNUSED`."""
        unused = [
            (key, task.result())
            for key, task in self._snapshots.items()
            if key not in self._users
            and task.done()
            and not task.cancelled()
            and task.exception() is None
            and task.result().holds_memory
        ]
        for key, snapshot in unused[: max(0, len(unused) - self._most_unused)]:
            del self._snapshots[key]
            self._stopped.add(key)
            _log.info(
                "The frozen process of version %s of %s was stopped, because %d others without a session were used "
                "since; the next session starts it again",
                key[1],
                key[0],
                self._most_unused,
            )
            self._begin_end(snapshot)

    def _begin_end(self, snapshot: Snapshot) -> None:
        ending = asyncio.get_running_loop().create_task(snapshot.retire())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


def _kept_unused() -> int:
    setting = os.environ.get("LOOM_KEPT_SNAPSHOTS", "")
    return max(1, int(setting)) if setting.isdecimal() else KEPT_UNUSED
