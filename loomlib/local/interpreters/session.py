"""One session of a code interpreter: its processes behind the boundary, what is asked of them, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from ..resources import Place
from ..sandbox.bubblewrap import HOME
from ..sandbox.isolation import Isolation
from ..sandbox.variables import FOR_AGENTS
from ..sessions.commands import ask_channel
from ..sessions.environment import MARK
from ..sessions.place import SessionPlace
from ..sessions.process import AgentProcess
from ..sessions.workspace import remove_workspace, write_record
from .commands import Tasks

READY, TERMINATED = "READY", "TERMINATED"
MOST_ANSWER_BYTES: Final = 24_000_000
"""The largest answer of a session's process: the files that it reads at once, in base64."""

_WORKER = Path(__file__).parent / "worker"
_OUTPUT_TAIL_BYTES = 4_000


class InterpreterEndedError(Exception):
    """The session has ended; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What a session is started with.

    Attributes:
        interpreter_id: The code interpreter.
        arn: Its ARN.
        place: Its region and account.
        session_id: The session's id.
        name: Its name; empty without one.
        timeout_s: When it ends, whatever it does.
        has_network: Whether it reaches what other sessions do, rather than nothing.
    """

    interpreter_id: str
    arn: str
    place: Place
    session_id: str
    name: str
    timeout_s: int
    has_network: bool


class InterpreterSession:
    """A session, from its start to the removal of its last process and file.

    Create it on the event loop's own thread.

    Args:
        plan: What it is started with.
        shared: What all sessions share.
        mark: The unique id of its processes.
        on_end: Called once no process or file of it is left.

    Raises:
        OSError: Its process cannot be started.
    """

    def __init__(
        self, plan: SessionPlan, shared: SessionPlace, *, mark: str, on_end: Callable[[InterpreterSession], None]
    ) -> None:
        self.plan, self.mark = plan, mark
        self.created_at = self.updated_at = datetime.now(UTC)
        self.status = READY
        self.why_ended = ""
        self.cells, self.tasks = asyncio.Lock(), Tasks()
        self._numbers = itertools.count(1)
        self._shared, self._on_end = shared, on_end
        self._limits = shared.limits
        self.gone = asyncio.Event()
        isolation = _isolation(shared.isolation, has_network=plan.has_network)
        folder = shared.folder / mark
        folder.mkdir(parents=True)
        try:
            self.process = AgentProcess(
                interpreter=shared.interpreter,
                bootstrap=_WORKER / "session.py",
                script="-",
                folder=folder,
                environment=_environment(shared, isolation, folder, mark),
                mark=mark,
                isolation=isolation,
                read=(_WORKER, *shared.readable),
                limits=self._limits.for_setrlimit(own_users=isolation.level == "bubblewrap"),
                groups=shared.cgroups.make(mark, self._limits),
                on_signal=lambda _: None,
                on_endpoint=lambda endpoint: endpoint.close(),
            )
            write_record(shared.folder, mark, self.process.leader)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shared.watch.add(mark, self.process.leader, (folder,), self._limits, self._on_limit)
        loop = asyncio.get_running_loop()
        self._tail = bytearray()
        os.set_blocking(self.process.output_fd, False)
        loop.add_reader(self.process.output_fd, self._read_output)
        timeout = f"The session's timeout of {plan.timeout_s} seconds has passed"
        self._timer = loop.call_later(plan.timeout_s, lambda: self.begin_end(timeout))
        self._tasks = {loop.create_task(self._clean_up())}

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Have the session's process do something, and return its answer, which may be anything.

        Args:
            operation: cell, read, list, write or remove.
            arguments: What it needs, as JSON.

        Raises:
            InterpreterEndedError: The session has ended before it answered.
        """
        try:
            with contextlib.closing(self.process.open_channel()) as channel:
                await ask_channel(channel, ["work", operation, json.dumps(arguments)])
                loop = asyncio.get_running_loop()
                head = await _exactly(loop, channel, 8)
                size = int.from_bytes(head, "big")
                if not 0 < size <= MOST_ANSWER_BYTES:
                    raise OSError(f"an answer of {size} bytes")
                content = await _exactly(loop, channel, size)
                answer: Any = await asyncio.to_thread(json.loads, content) if size > 1 << 20 else json.loads(content)
        except (OSError, ValueError, RecursionError) as failure:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SOON_S):
                    await self.gone.wait()
            raise InterpreterEndedError(self.why_ended or f"The session's process failed: {failure}") from failure
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

    def check_limits(self) -> None:
        """End the session if the kernel has killed one of its processes at a limit; the watch looks once a second.

        Raises:
            InterpreterEndedError: It has.
        """
        if name := self._shared.cgroups.reached(self.mark):
            self._on_limit(name)
        if self.status != READY:
            raise InterpreterEndedError(self.why_ended)

    def next_number(self) -> int:
        """Return a number that no earlier cell has."""
        return next(self._numbers)

    async def end(self, why: str) -> None:
        """End the session; return when no process and no file of it is left.

        Args:
            why: The reason, for those who still wait for an answer.
        """
        self.begin_end(why)
        await self.gone.wait()

    def begin_end(self, why: str) -> None:
        """Begin to end the session, if it has not ended."""
        if self.status == READY:
            self.status, self.why_ended, self.updated_at = TERMINATED, why, datetime.now(UTC)
            self._tasks.add(asyncio.get_running_loop().create_task(self.process.end(grace_s=0)))

    def _on_limit(self, name: str) -> None:
        if name != "open_files":  # opening fails, and the session goes on
            self.begin_end(self._limits.reached(name))

    def _read_output(self) -> None:
        """Keep the end of what the first process itself writes, which explains its failure."""
        try:
            part = os.read(self.process.output_fd, 65_536)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            asyncio.get_running_loop().remove_reader(self.process.output_fd)
        self._tail += part
        del self._tail[:-_OUTPUT_TAIL_BYTES]

    async def _clean_up(self) -> None:
        await self.process.ended.wait()
        await self.tasks.close()
        shared = self._shared
        self._timer.cancel()
        shared.watch.remove(self.mark)
        asyncio.get_running_loop().remove_reader(self.process.output_fd)
        os.close(self.process.output_fd)
        if name := shared.cgroups.reached(self.mark):
            self.why_ended = self._limits.reached(name)
        if self.status == READY:
            self.status, self.updated_at = TERMINATED, datetime.now(UTC)
            last = self._tail.decode("utf-8", "replace").strip().rpartition("\n")[2]
            self.why_ended = self.why_ended or f"The session's process {self.process.how_it_ended()}. {last}".strip()
        shared.cgroups.remove(self.mark)
        await asyncio.to_thread(remove_workspace, shared.folder, self.mark)
        self.gone.set()
        self._on_end(self)


_END_SOON_S = 2.0


async def _exactly(loop: asyncio.AbstractEventLoop, channel: Any, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = await loop.sock_recv(channel, min(size - len(content), 1 << 20))
        if not part:
            raise OSError("it closed the connection")
        content += part
    return bytes(content)


def _isolation(isolation: Isolation, *, has_network: bool) -> Isolation:
    """Return the isolation of a session: without any network for the mode SANDBOX, where there is a boundary."""
    if has_network or isolation.level != "bubblewrap":
        return isolation
    return replace(isolation, network="service", network_program="")


def _environment(shared: SessionPlace, isolation: Isolation, folder: Path, mark: str) -> dict[str, str]:
    """Return the variables of a session: an allow-list of the user's, no credentials, and a home of its own."""
    user = shared.user_environment
    environment = {name: user[name] for name in user if name in FOR_AGENTS or name.startswith("LC_")}
    for name in ("TMPDIR", "TEMP", "TMP", "USER", "LOGNAME"):
        environment.pop(name, None)
    home = HOME if isolation.level == "bubblewrap" else str(folder)
    programs = [str(Path(sys.executable).parent), *environment.get("PATH", os.defpath).split(os.pathsep)]
    return environment | {
        "HOME": home,
        "PATH": os.pathsep.join(dict.fromkeys(programs)),
        "TZ": "UTC",
        # The installed packages are read-only inside, so pip installs beside them.
        "PIP_TARGET": f"{home}/.packages",
        "PYTHONPATH": f"{home}/.packages",
        MARK: mark,
    }
