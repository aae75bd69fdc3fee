"""Snapshots of versions: a process that is started once, warmed up, and frozen, and from which sessions are forked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from ..contract import RuntimeVersion
from ..log_groups import runtime_group
from ..sandbox.removal import remove_tree
from ..sandbox.users import make_folders
from .commands import connect_address
from .connections import Connections
from .environment import SERVER
from .health import ask_health
from .otel import SPANS
from .output import SessionOutput
from .pool_settings import PoolSettings
from .process import AgentProcess
from .restored import RestoredProcess
from .snapshots.copying import copy_folder
from .snapshots.freezing import FREEZE
from .warming import WarmUpError, call_hook
from .wire import ConnectionClosedError, NotHttpError
from .workspace import make_workspace, remove_workspace, write_record

_log = logging.getLogger(__name__)

_FREEZES_WITHIN_S = 20.0
_DRAIN_S = 0.5
_EXITS_WITHIN_S = 10.0
_QUALIFIER = "DEFAULT"


class SnapshotError(Exception):
    """A version's process did not start, or its warm-up hook failed; the message is a sentence for the client."""


class Snapshot:
    """The frozen process of one version.

    Attributes:
        obstacles: The reasons why the process cannot be forked; sessions then boot as on V1. Empty if it can.

    Args:
        shared: Settings of the pool.
        runtime: The version.
        note: The first line of its log; empty for none.
    """

    def __init__(self, shared: PoolSettings, runtime: RuntimeVersion, *, note: str = "") -> None:
        self.runtime, self._note = runtime, note
        self.obstacles: tuple[str, ...] = ()
        self._shared, self._mark = shared, str(uuid.uuid4())
        self._session_folders = shared.folder / f"{self._mark}.sessions"
        self._lock = asyncio.Lock()
        self._environment: Mapping[str, str] = {}
        self._process: AgentProcess | None = None
        self._output: SessionOutput | None = None
        self._forks, self._is_stuck = list[RestoredProcess](), False
        self._restores: set[asyncio.Future[None]] = set()
        self._stops: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._control, self._control_child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)

    @property
    def is_live(self) -> bool:
        """Whether the outcome still applies: sessions can be forked, or are booted because of an obstacle."""
        return bool(self.obstacles) or (self._is_running() and not self._is_stuck)

    @property
    def holds_memory(self) -> bool:
        """Whether it has a process."""
        return not self.obstacles and self._is_running()

    @property
    def tail(self) -> Sequence[str]:
        """The last lines of its output."""
        return tuple(self._output.tail) if self._output is not None else ()

    async def build(self) -> None:
        """Start the process, wait until it is healthy, warm it up, and freeze it.

        Raises:
            SnapshotError: It did not start or was not warmed up.
        """
        try:
            await self._build()
        except BaseException:
            await self.end()
            raise

    async def _build(self) -> None:
        shared, runtime = self._shared, self.runtime
        try:
            process = await self._start()
        except (OSError, ValueError) as failure:
            raise SnapshotError(f"The agent could not be started: {failure}") from failure
        connections = Connections(process.address)
        try:
            async with asyncio.timeout(shared.start_timeout_s):
                health = await ask_health(connections, runtime)
            if not health.is_healthy:
                raise SnapshotError(f"The agent is not healthy: {health.probe} answered {health.status}")
            if runtime.warm_up:
                await call_hook(runtime, process, connections, self._explain)
            connections.close_idle()
            await self._freeze()
        except WarmUpError as failure:
            raise SnapshotError(f"{failure}{self._last_lines()}") from failure
        except TimeoutError as failure:
            raise SnapshotError(f"{shared.not_serving(runtime)}{self._last_lines()}") from failure
        except (ConnectionClosedError, NotHttpError, OSError) as failure:
            reason = await self._explain(failure)
            raise SnapshotError(f"The agent did not serve: {reason}{self._last_lines()}") from failure
        finally:
            connections.close_all()
        shared.watch.remove(self._mark)  # its descendants are the sessions from now on

    async def _start(self) -> AgentProcess:
        shared, runtime, mark = self._shared, self.runtime, self._mark
        script, limits = runtime.entry_point[-1], shared.limits.with_memory(runtime.memory_bytes)
        folder = await asyncio.to_thread(make_workspace, shared.folder, mark, runtime.code)
        if Path(script).is_absolute() or ".." in Path(script).parts or not (folder / script).is_file():
            raise FileNotFoundError(f"its entry point {script} is not in the package")
        self._session_folders.mkdir()
        self._environment = shared.environment(runtime, qualifier=_QUALIFIER, session_id=f"snapshot-{mark}", mark=mark)
        process = self._process = AgentProcess(
            interpreter=str(runtime.interpreter or shared.interpreter),
            script=script,
            folder=folder,
            environment=self._environment,
            mark=mark,
            isolation=shared.isolation,
            read=(runtime.code, *runtime.search_path, *runtime.interpreter_folders, *shared.readable),
            write=(*shared.writable, self._session_folders),
            limits=limits.for_setrlimit(own_users=shared.isolation.level == "bubblewrap"),
            groups=shared.cgroups.make(mark, limits),
            port=shared.port,
            control=self._control_child_end,
            on_signal=lambda _: None,
            on_endpoint=self._connect_endpoint,
        )
        self._control_child_end.close()
        writable = (folder, *([process.home] if process.home else []))
        shared.watch.add(mark, process.leader, writable, limits, self._on_limit)
        group = runtime_group(runtime, f"/aws/bedrock-agentcore/runtimes/{runtime.runtime_id}-{_QUALIFIER}")
        stream = f"{datetime.now(UTC):%Y/%m/%d}/[runtime-logs]{mark}"
        self._output = SessionOutput(process.output_fd, shared.sink, group=group, stream=stream)
        if self._note:  # not by `output`, whose last lines explain why an agent failed
            now_ms = int(time.time() * 1000)
            shared.sink.write(group=group, stream=stream, timestamp_ms=now_ms, message=f"Loom: {self._note}")
        write_record(shared.folder, mark, process.leader, process.user)
        return process

    async def _freeze(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_FREEZES_WITHIN_S):
                await loop.sock_sendall(self._control, FREEZE)
                answer = await loop.sock_recv(self._control, 65_536)
        except TimeoutError:
            self.obstacles = (f"its event loop does not answer within {_FREEZES_WITHIN_S:g} s",)
        else:
            if not answer:
                raise ConnectionClosedError("the process ended while it was frozen")
            self.obstacles = _obstacles(answer)
        if self.obstacles and self._output is not None:
            why = "; ".join(self.obstacles)
            version = f"version {self.runtime.version} of {self.runtime.runtime_id}"
            _log.warning("Sessions of %s are booted and not restored: %s", version, why)
            self._output.note(f"Loom: no snapshot could be taken of {version}, so its sessions are booted: {why}")
            await self._end_process()

    async def restore(
        self,
        *,
        mark: str,
        environment: Mapping[str, str],
        groups: Sequence[Path],
        on_request: Callable[[], None],
        on_signal: Callable[[bytes], None],
        on_endpoint: Callable[[socket.socket], None],
        ended: asyncio.Event,
    ) -> tuple[RestoredProcess, Path]:
        """Return the process of a new session, and its folder.

        Args:
            mark: The session's mark.
            environment: The session's variables.
            groups: Files of control groups that it joins.
            on_request: Called when its folder exists and the process is about to be requested.
            on_signal: As for `AgentProcess`.
            on_endpoint: As for `AgentProcess`.
            ended: Set once the session is ending.

        Raises:
            OSError: The frozen process has ended, or forked no session in time.
        """
        with self._restoring():
            folder = self._session_folders / mark
            source = self._shared.folder / self._mark
            user = self._process.user if self._process is not None else 0
            home = None
            if user:
                # The session copies the files itself: as root this process must follow no link of the agent's.
                home = await asyncio.to_thread(make_folders, folder, user)
            else:
                await asyncio.to_thread(copy_folder, source, folder)
            on_request()
            former = self._environment
            changed = {name: value for name, value in environment.items() if former.get(name) != value}
            changed.pop(SERVER, None)
            spans = changed.pop(SPANS, "")
            process = RestoredProcess(
                mark=mark,
                isolation=self._shared.isolation,
                folder=folder,
                seen_at=source if self._shared.isolation.level == "bubblewrap" else folder,
                environment=environment,
                changed=changed,
                spans=spans,
                port=self._shared.port,
                groups=groups,
                user=user,
                home=home,
                on_signal=on_signal,
                on_endpoint=on_endpoint,
            )
            try:
                await process.start(self._control, self._lock, within_s=self._shared.start_timeout_s, ended=ended)
            except (TimeoutError, InterruptedError):
                self._is_stuck |= process.is_requested  # the next session takes a new snapshot
                raise
            self._forks = [process, *(fork for fork in self._forks if not fork.ended.is_set())]
            return process, folder

    @property
    def session_folders(self) -> Path:
        """The folder that contains the folders of its sessions."""
        return self._session_folders

    @contextlib.contextmanager
    def _restoring(self) -> Generator[None]:
        """Let `retire` wait for the restore in the block."""
        restored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._restores.add(restored)
        try:
            yield
        finally:
            self._restores.discard(restored)
            restored.set_result(None)

    async def retire(self) -> None:
        """Wait until all sessions that were forked from the process have ended, and end it."""
        while True:
            fork = next((fork for fork in self._forks if not fork.ended.is_set()), None)
            if self._restores:
                await asyncio.wait(self._restores)
            elif fork is not None:
                await fork.ended.wait()
            else:
                break
        await self.end()

    async def end(self) -> None:
        """End the process, with all sessions that were forked from it, and remove its files."""
        await self._end_process()
        self._control.close()
        self._control_child_end.close()
        for stop in self._stops:
            stop()
        self._shared.watch.remove(self._mark)
        self._shared.cgroups.remove(self._mark)
        if self._shared.keys is not None:
            self._shared.keys.end(self._mark)
        await asyncio.to_thread(remove_tree, self._session_folders)
        await asyncio.to_thread(remove_workspace, self._shared.folder, self._mark)

    def _is_running(self) -> bool:
        return self._process is not None and self._process.is_running()

    async def _end_process(self) -> None:
        if self._process is not None:
            await self._process.end(grace_s=0)
        if self._output is not None:
            await self._output.finish(within_s=_DRAIN_S)
            self._output = None

    def _on_limit(self, name: str) -> None:
        if name != "open_files" and self._process is not None:
            if self._output is not None:
                self._output.note(f"Loom: {self._shared.limits.reached(name)}")
            self._spawn(self._process.end(grace_s=0))

    def _connect_endpoint(self, endpoint: socket.socket) -> None:
        if self._shared.serve_endpoint is None or self._stops:
            endpoint.close()
            return

        async def serve() -> None:
            assert self._shared.serve_endpoint is not None
            self._stops.append(await self._shared.serve_endpoint(endpoint, self._dial))

        self._spawn(serve())

    async def _dial(self, host: str, port: int) -> socket.socket:
        if self._process is None:
            raise ConnectionRefusedError("the process has not started")
        return await connect_address(self._process, host, port)

    def _spawn(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)  # pyright: ignore
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _explain(self, failure: Exception) -> str:
        process = self._process
        if process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.ended.wait(), _EXITS_WITHIN_S)
            if process.exit_code is not None:
                if self._output is not None:
                    await self._output.finish(within_s=_DRAIN_S)
                return f"its process {process.how_it_ended()} before it served a request"
        return str(failure)

    def _last_lines(self) -> str:
        lines = "\n".join(self.tail)
        return f"\nLast log lines:\n{lines}" if lines else ""


def _obstacles(answer: bytes) -> tuple[str, ...]:
    """Parse the answer to `FREEZE`, which is not trusted: return the reasons that prevent a fork.

    Raises:
        SnapshotError: The answer is malformed.
    """
    try:
        document: Any = json.loads(answer)
    except (ValueError, RecursionError):
        document = None
    listed: Any = cast("dict[str, Any]", document).get("obstacles") if isinstance(document, dict) else None
    obstacles = cast("list[object]", listed) if isinstance(listed, list) else [listed]
    texts = [text for text in obstacles if isinstance(text, str)]
    if len(texts) < len(obstacles):
        raise SnapshotError(
            "No snapshot could be taken: the agent's process sent a malformed answer when asked for one"
        )
    return tuple(text.encode("utf-8", "replace").decode() for text in texts)  # file names may not be text
