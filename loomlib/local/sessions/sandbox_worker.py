"""A sandboxed process that works for the service: code interpreters and Lambda functions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from ..sandbox.isolation import Isolation
from ..sandbox.removal import remove_tree
from .commands import ask_channel, connect_address
from .pool_settings import PoolSettings
from .process import AgentProcess
from .workspace import remove_workspace, write_record

LARGEST_ANSWER_BYTES: Final = 24_000_000
_OUTPUT_TAIL_BYTES: Final = 4_000
_END_SOON_S: Final = 2.0


class WorkerEndedError(Exception):
    """The worker ended before it answered; the message contains the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """The settings with which a worker is started.

    Attributes:
        mark: The unique id of its processes.
        folder: Its working folder, which is removed after its end.
        bootstrap: The script that its process runs, with the arguments of `bootstrap.py`.
        environment: Its variables.
        isolation: Its isolation from this machine.
        read: Further files and folders that it may read.
        reaches_service: Whether it can reach the service over its network.
    """

    mark: str
    folder: Path
    bootstrap: Path
    environment: Mapping[str, str]
    isolation: Isolation
    read: Sequence[Path] = ()
    reaches_service: bool = False


class SandboxWorker:
    """A process that handles requests, from its start to the removal of its last file.

    Create it on the event loop's own thread.

    Args:
        plan: The settings with which it is started.
        shared: The settings that all sessions share.
        on_end: Called once no process or file of it is left.

    Raises:
        OSError: Its process cannot be started.
    """

    def __init__(self, plan: WorkerPlan, shared: PoolSettings, *, on_end: Callable[[], None]) -> None:
        self.mark, self.why_ended = plan.mark, ""
        self.ended_at: datetime | None = None
        self.exited = asyncio.Event()
        self._shared, self._on_end, self._limits = shared, on_end, shared.limits
        self._tail, self._output = bytearray(), bytearray()
        self._spawned: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        self._agent_process: asyncio.Future[AgentProcess] = loop.create_future()
        has_service = plan.reaches_service and shared.serve_endpoint is not None
        try:
            self.process = AgentProcess(
                interpreter=shared.interpreter,
                bootstrap=plan.bootstrap,
                script="-",
                folder=plan.folder,
                environment=plan.environment,
                mark=plan.mark,
                isolation=plan.isolation,
                read=(*plan.read, *shared.readable),
                limits=self._limits.for_setrlimit(own_users=plan.isolation.has_own_users),
                groups=shared.cgroups.make(plan.mark, self._limits),
                port=shared.port if has_service else 0,
                on_signal=_ignore,
                on_endpoint=self._connect if has_service else _close,
            )
        except BaseException:
            shared.cgroups.remove(plan.mark)
            remove_tree(plan.folder)
            raise
        self._agent_process.set_result(self.process)
        try:
            write_record(shared.folder, plan.mark, self.process.leader, self.process.user)
        except BaseException:
            self._spawn(self._abandon())
            raise
        writable = (plan.folder, *([self.process.home] if self.process.home else []))
        shared.watch.add(plan.mark, self.process.leader, writable, self._limits, self._on_limit)
        os.set_blocking(self.process.output_fd, False)
        loop.add_reader(self.process.output_fd, self._read_output)
        self._spawn(self._clean_up())

    @property
    def is_ending(self) -> bool:
        """Whether it no longer accepts work."""
        return self.ended_at is not None

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the process and return its answer, which is not trusted.

        Args:
            operation: The name of the operation.
            arguments: The arguments, which become JSON.

        Raises:
            WorkerEndedError: It ended before it answered.
        """
        try:
            with contextlib.closing(self.process.open_channel()) as channel:
                await ask_channel(channel, ["work", operation, json.dumps(arguments)])
                loop = asyncio.get_running_loop()
                size = int.from_bytes(await _exactly(loop, channel, 8), "big")
                if not 0 < size <= LARGEST_ANSWER_BYTES:
                    raise OSError(f"an invalid response size: {size} bytes")
                content = await _exactly(loop, channel, size)
                answer: Any = await asyncio.to_thread(json.loads, content) if size > 1 << 20 else json.loads(content)
        except (OSError, ValueError, RecursionError) as failure:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SOON_S):
                    await self.exited.wait()
            raise WorkerEndedError(self.why_ended or f"The process failed: {failure}") from failure
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

    def check_limits(self) -> None:
        """End the worker if the kernel has killed one of its processes at a limit; the watch notices it only later.

        Raises:
            WorkerEndedError: A process was killed at a limit.
        """
        if name := self._shared.cgroups.reached(self.mark):
            self._on_limit(name)
        if self.is_ending:
            raise WorkerEndedError(self.why_ended)

    def take_output(self) -> bytes:
        """Return the output of the process since the last call, at most one megabyte."""
        self._read_output()
        output, self._output = bytes(self._output), bytearray()
        return output

    async def end(self, why: str) -> None:
        """End the worker; return when no process and no file of it is left.

        Args:
            why: The reason, reported to callers that still wait for an answer.
        """
        self.begin_end(why)
        await self.exited.wait()

    def begin_end(self, why: str) -> None:
        """Begin to end the worker, if it has not ended."""
        if not self.is_ending:
            self.ended_at, self.why_ended = datetime.now(UTC), why
            self._spawn(self.process.end(grace_s=0))

    def _on_limit(self, name: str) -> None:
        if name != "open_files":  # opening fails, and the process continues
            self.begin_end(self._limits.reached(name))

    def _connect(self, endpoint: socket.socket) -> None:
        self._spawn(self._serve(endpoint))

    async def _serve(self, endpoint: socket.socket) -> None:
        assert self._shared.serve_endpoint is not None
        stop = await self._shared.serve_endpoint(endpoint, self._dial)
        try:
            await self.exited.wait()
        finally:
            stop()

    async def _dial(self, host: str, port: int) -> socket.socket:
        return await connect_address(await asyncio.shield(self._agent_process), host, port)

    def _read_output(self) -> None:
        """Store the output of the process; its last part explains a failure."""
        while True:
            try:
                part = os.read(self.process.output_fd, 65_536)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                part = b""
            if not part:
                asyncio.get_running_loop().remove_reader(self.process.output_fd)
                return
            self._tail += part
            del self._tail[:-_OUTPUT_TAIL_BYTES]
            if len(self._output) < 1 << 20:
                self._output += part

    async def _release(self) -> None:
        """Release the resources of the process after its end."""

    async def _abandon(self) -> None:
        """End the process although it has no record, and leave nothing of it."""
        self.begin_end("its record could not be written")
        await self.process.ended.wait()
        os.close(self.process.output_fd)
        self._shared.cgroups.remove(self.mark)
        await asyncio.to_thread(remove_workspace, self._shared.folder, self.mark)
        self.exited.set()

    async def _clean_up(self) -> None:
        await self.process.ended.wait()
        await self._release()
        shared = self._shared
        shared.watch.remove(self.mark)
        self._read_output()
        asyncio.get_running_loop().remove_reader(self.process.output_fd)
        os.close(self.process.output_fd)
        if name := shared.cgroups.reached(self.mark):
            self.why_ended = self._limits.reached(name)
        if not self.is_ending:
            self.ended_at = datetime.now(UTC)
            last = self._tail.decode("utf-8", "replace").strip().rpartition("\n")[2]
            self.why_ended = self.why_ended or f"The process {self.process.how_it_ended()}. {last}".strip()
        shared.cgroups.remove(self.mark)
        await asyncio.to_thread(remove_workspace, shared.folder, self.mark)
        self.exited.set()
        self._on_end()

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)


async def _exactly(loop: asyncio.AbstractEventLoop, channel: Any, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = await loop.sock_recv(channel, min(size - len(content), 1 << 20))
        if not part:
            raise OSError("it closed the connection")
        content += part
    return bytes(content)


def _ignore(_signal: bytes) -> None:
    """Do nothing: a worker's start is not measured."""


def _close(endpoint: socket.socket) -> None:
    endpoint.close()
