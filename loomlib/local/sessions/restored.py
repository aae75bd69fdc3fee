"""The process of a session that is forked from a frozen one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..sandbox.bubblewrap import HOME
from ..sandbox.handshake import expect_credentials
from ..sandbox.isolation import Isolation
from ..sandbox.removal import remove_tree
from ..sandbox.users import with_home
from .lifeline import SessionProcess, make_listener
from .processes import kill_marked, parent_of, signal_group, signal_process, wait_readable
from .snapshots.freezing import RESTORE, Request
from .unless_ended import unless_ended

_SUPERVISOR_ENDS_WITHIN_S = 5.0
_NETWORK_WITHIN_S = 10.0
_SEND_AGAIN_S = 0.002
_STOPS_WITHIN_S = 2.0  # how long a session that is stopped waits for the fork that it has requested
_STATUS_BYTES = 16
_KILLED = 128 + signal.SIGKILL


class RestoredProcess(SessionProcess):
    """A process forked from a snapshot; its parent waits for it and writes its exit code to a pipe.

    Args:
        mark: The session's mark.
        isolation: What separates the session from this machine.
        folder: The session's folder.
        seen_at: The path of this folder inside the session.
        environment: Its variables.
        changed: The variables that differ from those of the snapshot.
        spans: Its settings for the export of spans.
        port: The service's port.
        groups: Files of control groups that it joins.
        user: Its user id if that differs from the service's; otherwise 0.
        home: Its home folder if it has its own user id.
        on_signal: As for `AgentProcess`.
        on_endpoint: As for `AgentProcess`.
    """

    def __init__(
        self,
        *,
        mark: str,
        isolation: Isolation,
        folder: Path,
        seen_at: Path,
        environment: Mapping[str, str],
        changed: Mapping[str, str],
        spans: str,
        port: int,
        groups: Sequence[Path],
        on_signal: Callable[[bytes], None],
        on_endpoint: Callable[[socket.socket], None],
        user: int = 0,
        home: Path | None = None,
    ) -> None:
        self.user, self.home = user, home
        if home is not None:
            environment, former = with_home(environment, home), environment
            changed = {**changed, **dict(environment.items() - former.items())}
        lifeline, self._lifeline_child_end = socket.socketpair()
        super().__init__(
            mark,
            isolation,
            folder=seen_at,
            environment=environment,
            has_leader=True,
            lifeline=lifeline,
            on_signal=on_signal,
            on_endpoint=on_endpoint,
        )
        self.leader, self._status = 0, b""
        self._groups, self.is_requested = groups, False
        self._begun, self._reachable = asyncio.Event(), asyncio.Event()
        self._request = Request(
            mark=mark,
            folder=str(folder),
            home=HOME,
            copied=bool(user),
            port=port if isolation.has_own_network else 0,
            isolated=isolation.level == "bubblewrap",
            own_network=isolation.has_own_network,
            environment=dict(changed),
            spans=spans,
        )

    async def start(self, control: socket.socket, lock: asyncio.Lock, *, within_s: float, ended: asyncio.Event) -> None:
        """Request this process from the frozen one, and wait until it runs and has its network.

        Args:
            control: The frozen process's socket.
            lock: Held while a request is sent.
            within_s: Seconds that the frozen process has for the fork.
            ended: Set once the session is ending.

        Raises:
            TimeoutError: The frozen process forked no session in time.
            InterruptedError: The session was stopped before the frozen process had forked it.
            OSError: The frozen process has ended.
        """
        try:
            async with asyncio.timeout(within_s):
                await unless_ended(self._fork(control, lock), ended, grace_s=_STOPS_WITHIN_S)
        except (TimeoutError, InterruptedError, asyncio.CancelledError) as failure:
            if self.is_requested:
                if not self._has_exited:
                    self._leave(_KILLED, reported=False)
                await self.ended.wait()
                os.close(self.output_fd)
            if isinstance(failure, TimeoutError):
                raise TimeoutError(f"the frozen process forked no session within {within_s:g} s") from None
            raise
        if self._isolation.network_program and self.pid:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._reachable.wait(), _NETWORK_WITHIN_S)

    async def _fork(self, control: socket.socket, lock: asyncio.Lock) -> None:
        """Request this process, and wait until it runs or has ended."""
        with contextlib.ExitStack() as on_failure, contextlib.ExitStack() as child_ends:
            on_failure.callback(self._lifeline.close)
            child_ends.callback(self._lifeline_child_end.close)
            self.output_fd, output_child_end = _pipe(on_failure, child_ends)
            self._status_fd, status_child_end = _pipe(on_failure, child_ends)
            document = os.memfd_create("loom-session")
            child_ends.callback(os.close, document)
            os.write(document, json.dumps(asdict(self._request)).encode())
            os.lseek(document, 0, os.SEEK_SET)
            expect_credentials(self._lifeline)
            self.give(output_child_end)
            with make_listener(self.mark, self._isolation) as listener:
                self.address = listener.getsockname()
                descriptors = [listener.fileno(), self._lifeline_child_end.fileno(), output_child_end, status_child_end]
                async with lock:
                    await _send(control, [*descriptors, document])
            on_failure.pop_all()
        self.is_requested = True
        self._lifeline.setblocking(False)
        self._loop.add_reader(self._lifeline, self._listen)
        self._loop.add_reader(self._status_fd, self._on_exit)
        await self._begun.wait()

    def is_running(self) -> bool:
        """Return whether the process runs, according to the kernel: its exit may not have been noticed yet."""
        return self.exit_code is None and not wait_readable(self._status_fd, within_s=0)

    def _greeted(self) -> None:
        self.leader = parent_of(self.pid)
        for pid in (self.leader, self.pid):
            for group in self._groups:
                with contextlib.suppress(OSError):
                    group.write_text(str(pid))
        self._begun.set()

    def _network_up(self) -> None:
        self._reachable.set()

    def _kill(self) -> None:
        if not self.leader:
            return
        signal_process(self.leader, signal.SIGTERM)  # the supervisor then ends all others

        def insist() -> None:
            if self.exit_code is None:
                signal_group(self.pid, signal.SIGKILL)
                signal_process(self.leader, signal.SIGKILL)

        self._loop.call_later(_SUPERVISOR_ENDS_WITHIN_S, insist)

    def _on_exit(self) -> None:
        if data := os.read(self._status_fd, 65_536):
            self._status += data[: _STATUS_BYTES - len(self._status)]
            return  # the parent ends next, which closes the pipe
        text = self._status.strip()
        reported = text.isdigit() and len(text) <= 3  # the agent may have written to the pipe
        self._leave(int(text) if reported else _KILLED, reported=reported)

    def _leave(self, code: int, *, reported: bool) -> None:
        """Release what belongs to the process, which has ended or is abandoned."""
        self._loop.remove_reader(self._status_fd)
        self._stop_waiting_for_network()
        # Off the loop: searching /proc takes milliseconds, during which other sessions stream.
        ending = self._loop.run_in_executor(None, self._end_the_rest, reported)
        ending.add_done_callback(lambda _: self._on_ended(code))

    def _end_the_rest(self, reported: bool) -> None:
        if self._network is not None:
            self._network.close()
        if not reported:  # the parent was killed; otherwise it has ended all others, which are its descendants
            kill_marked([self.mark])
        if self.home is not None:
            remove_tree(self.home)

    def _on_ended(self, code: int) -> None:
        self.exit_code = code
        self._listen()
        self._loop.remove_reader(self._lifeline)
        self._lifeline.close()
        os.close(self._status_fd)
        self._begun.set()
        self._reachable.set()
        self.ended.set()


def _pipe(on_failure: contextlib.ExitStack, child_ends: contextlib.ExitStack) -> tuple[int, int]:
    """Return a new pipe, and register which of its ends are closed when."""
    own_end, child_end = os.pipe()
    on_failure.callback(os.close, own_end)
    child_ends.callback(os.close, child_end)
    return own_end, child_end


async def _send(control: socket.socket, descriptors: list[int]) -> None:
    while True:
        try:
            socket.send_fds(control, [RESTORE], descriptors)
        except BlockingIOError:  # ten requests wait already
            await asyncio.sleep(_SEND_AGAIN_S)
        else:
            return
