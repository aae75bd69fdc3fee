"""The start of a session's process: restored from its version's snapshot, or booted."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..contract import RuntimeVersion
from ..sandbox.limits import Limits
from .lifeline import SessionProcess
from .notices import SessionNotices
from .otel import SPANS, asks_for_adot
from .output import START_LINE, SessionOutput
from .own_requests import OwnRequests
from .pool_settings import PoolSettings
from .process import AgentProcess
from .restored import RestoredProcess
from .snapshot import Snapshot
from .snapshot_store import Snapshots, reasons_to_boot
from .start_times import StartTimes
from .storage import storage_of
from .unless_ended import unless_ended
from .warming import boot_note
from .workspace import make_workspace, write_record


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStart:
    """The settings with which a session's process is started.

    Attributes:
        shared: Settings of the pool.
        runtime: The version to run.
        snapshots: The snapshots from which versions of platform V2 are restored.
        qualifier: The endpoint's name.
        session_id: The runtime session id.
        mark: Unique id of the process.
        limits: Limits of the session's resources.
        group: The log group of its output.
        stream: The log stream of its output.
        notices: Records how it started.
        times: Records the times of its parts.
        own_requests: Serves the agent's own requests to the service.
        check_wanted: Raises InterruptedError once the session is ending.
        ended: Set once the session is ending.
        on_folders: Called with the parent folder of the session's folder, if a snapshot uses another one than the pool.
        on_limit: Called with the name of a limit that the session reached.
    """

    shared: PoolSettings
    runtime: RuntimeVersion
    snapshots: Snapshots
    qualifier: str
    session_id: str
    mark: str
    limits: Limits
    group: str
    stream: str
    notices: SessionNotices
    times: StartTimes
    own_requests: OwnRequests
    check_wanted: Callable[[], None]
    ended: asyncio.Event
    on_folders: Callable[[Path], None]
    on_limit: Callable[[str], None]

    async def run(self) -> tuple[SessionProcess, SessionOutput]:
        """Start the process; return it and its output.

        Raises:
            SnapshotError: The snapshot cannot be made or restored.
            OSError: The process cannot be started, or the session is ending.
            ValueError: The process cannot be started with the version's settings.
        """
        shared = self.shared
        await shared.prepare()
        snapshot = await unless_ended(self.snapshots.find(self.runtime, self.mark), self.ended)
        obstacles = snapshot.obstacles if snapshot is not None else reasons_to_boot(self.runtime)
        if snapshot is not None and not obstacles:
            process, folders = await self._restore(snapshot)
        else:
            process, folders = await self._boot()
        if process.leader:
            try:
                write_record(shared.folder, self.mark, process.leader, process.user)
            except OSError:
                os.close(process.output_fd)
                await process.end(grace_s=0)
                raise
            writable = (*folders, *([process.home] if process.home else []))
            shared.watch.add(self.mark, process.leader, writable, self.limits, self.on_limit)
        output = SessionOutput(process.output_fd, shared.sink, group=self.group, stream=self.stream)
        if isinstance(process, RestoredProcess) and snapshot is not None:
            output.tail.extend(snapshot.tail)  # the same process wrote them, at its start
        if shared.announces_starts:
            now_ms = int(time.time() * 1000)  # not by `output`, whose last lines explain why an agent failed
            shared.sink.write(group=self.group, stream=self.stream, timestamp_ms=now_ms, message=START_LINE)
        if obstacles:
            output.note(boot_note(self.runtime, obstacles))
        if len(self.runtime.entry_point) > 1:
            instead = (
                " and exports its spans to the local service" if asks_for_adot(self.runtime) and shared.otlp else ""
            )
            script = self.runtime.entry_point[-1]
            output.note(f"Loom runs {script} itself{instead}; {self.runtime.entry_point[0]} is not used locally")
        return process, output

    def _environment(self) -> dict[str, str]:
        environment = self.shared.environment(
            self.runtime, qualifier=self.qualifier, session_id=self.session_id, mark=self.mark
        )
        if self.shared.otlp is not None and SPANS not in environment:
            self.notices.makes_no_spans()
        return environment

    async def _restore(self, snapshot: Snapshot) -> tuple[SessionProcess, tuple[Path, ...]]:
        """Fork the process from its version's snapshot; return it and its folders."""
        self.check_wanted()
        self.on_folders(snapshot.session_folders)
        process, folder = await snapshot.restore(
            on_request=lambda: self.times.note_request("restore"),
            mark=self.mark,
            environment=self._environment(),
            groups=self.shared.cgroups.make(self.mark, self.limits),
            on_signal=self._on_signal,
            on_endpoint=self.own_requests.connect,
            ended=self.ended,
        )
        self.own_requests.set_process(process)
        self.times.reachable()
        try:
            self.check_wanted()
        except InterruptedError:
            os.close(process.output_fd)
            await process.end(grace_s=0)
            raise
        return process, (folder,)

    async def _boot(self) -> tuple[SessionProcess, tuple[Path, ...]]:
        """Start the process; return it and its folders."""
        shared, runtime, script = self.shared, self.runtime, self.runtime.entry_point[-1]
        folder = await asyncio.to_thread(make_workspace, shared.folder, self.mark, runtime.code)
        if Path(script).is_absolute() or ".." in Path(script).parts or not (folder / script).is_file():
            raise FileNotFoundError(f"its entry point {script} is not in the package")
        self.check_wanted()
        storage = storage_of(runtime.code.parent, self.qualifier, self.session_id, runtime.mount_paths)
        self.times.note_request("boot")
        process = AgentProcess(
            interpreter=str(runtime.interpreter or shared.interpreter),
            script=script,
            folder=folder,
            environment=self._environment(),
            mark=self.mark,
            isolation=shared.isolation,
            read=(runtime.code, *runtime.search_path, *runtime.interpreter_folders, *shared.readable),
            write=shared.writable,
            mounts=storage,
            limits=self.limits.for_setrlimit(own_users=shared.isolation.has_own_users),
            groups=shared.cgroups.make(self.mark, self.limits),
            port=shared.port,
            on_signal=self._on_signal,
            on_endpoint=self.own_requests.connect,
        )
        self.own_requests.set_process(process)
        return process, (folder, *storage.values())

    def _on_signal(self, signal: bytes) -> None:
        self.times.on_signal(signal)
        self.notices.on_signal(signal)
