"""One agent process: starting it, detecting its exit, and ending it completely."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..sandbox.bubblewrap import View, isolating
from ..sandbox.handshake import expect_credentials
from ..sandbox.isolation import Isolation
from ..sandbox.network import RESOLVER
from ..sandbox.removal import remove_tree
from ..sandbox.users import end as end_user
from ..sandbox.users import hand_over, in_memory, supervising, supervisor_variables, take_user, with_home
from .environment import MARK
from .lifeline import SessionProcess, make_listener
from .processes import kill_marked, signal_group, signal_process, wait_for_end

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
_NAMESPACE_ENDS_WITHIN_S = 10.0
_SUPERVISOR_ENDS_WITHIN_S = 5.0
# A process cannot be moved into a group between its start and its first fork, so it joins the group itself.
_JOIN_GROUPS = ("/bin/sh", "-c", 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift; exec "$@"', "sh")


class AgentProcess(SessionProcess):
    """A running agent script; connections to its `address` are accepted at once and wait until the agent serves them.

    The listening socket is created here and inherited, so that there is no race for a port and the socket is bound to
    loopback only. Our copy is closed at once, so that the end of the agent resets the waiting connections. A session
    with its own network has a Unix socket: with a TCP socket of this machine it could connect to this machine's
    loopback.

    Create it on the event loop's own thread, which must run as long as the service: Linux ends the agent together with
    the thread that started it.

    Args:
        interpreter: The Python interpreter.
        script: The agent's script, relative to `folder`.
        folder: The working folder.
        environment: The process's variables.
        mark: The session's mark, which identifies all its processes.
        isolation: Its isolation from this machine.
        read: Further files and folders that it may read.
        write: Further folders that it may write.
        mounts: Folders that appear at other paths inside, as `{path inside: folder}`.
        limits: Limits for `setrlimit`, in the bootstrap's form.
        groups: Files of control groups that the process joins.
        port: The service's port.
        control: The socket over which sessions forked from this process are requested.
        bootstrap: The file that the interpreter runs, with the script as its last argument.
        may_nest: Whether it may create nested namespaces, as Chromium does for its renderers.
        on_signal: Called with each byte that the process sends over its lifeline, the socket pair whose closing shows
            it that the service has ended.
        on_endpoint: Called with the socket on which the agent reaches the service, if it has a network of its own.
    """

    def __init__(
        self,
        *,
        interpreter: str,
        script: str,
        folder: Path,
        environment: Mapping[str, str],
        mark: str,
        isolation: Isolation,
        on_signal: Callable[[bytes], None],
        on_endpoint: Callable[[socket.socket], None],
        read: Sequence[Path] = (),
        write: Sequence[Path] = (),
        mounts: Mapping[str, Path] | None = None,
        limits: str = "",
        groups: Sequence[Path] = (),
        port: int = 0,
        control: socket.socket | None = None,
        bootstrap: Path = _BOOTSTRAP,
        may_nest: bool = False,
    ) -> None:
        isolated = isolation.level == "bubblewrap"
        if mounts and isolation.level == "none":
            raise OSError(f"its storage at {', '.join(mounts)} needs bubblewrap: {isolation.sentence}")
        supervised = not isolated and sys.platform == "linux"
        if isolation.level == "user":
            self.user, self.home = take_user(Path(isolation.home), folder, [Path(interpreter), *read])
            environment = with_home(environment, self.home)
        for storage in (mounts or {}).values():
            if os.geteuid() == 0 and (former := storage.stat().st_uid) != self.user:
                hand_over(storage, self.user, former=former)
        lifeline, lifeline_child_end = socket.socketpair()
        super().__init__(
            mark,
            isolation,
            folder=folder,
            environment=environment,
            has_leader=isolated or supervised,
            lifeline=lifeline,
            on_signal=on_signal,
            on_endpoint=on_endpoint,
        )
        output_end, output_child_end = os.pipe()
        descriptors: list[int] = []
        of_the_agent = -1
        try:
            self.give(output_child_end)
            if self._has_leader:
                expect_credentials(self._lifeline)
            with make_listener(mark, isolation) as listener:
                self.address = listener.getsockname()
                where = str(port if isolation.has_own_network else 0) if self._has_leader else "-"
                if isolation.network_program:
                    where += "+"
                inherited = [listener.fileno(), lifeline_child_end.fileno()]
                command = [interpreter, "-X", "frozen_modules=on", str(bootstrap), *map(str, inherited)]
                passed = [*inherited]
                if control is not None:
                    passed.append(control.fileno())
                command += [mark, limits, where, "-" if control is None else str(control.fileno()), script]
                variables = dict(environment)
                if isolated:
                    view = View(
                        folder=folder,
                        read=read,
                        write=write,
                        mounts=mounts or {},
                        files={"/etc/resolv.conf": RESOLVER} if isolation.network_program else {},
                        own_network=isolation.has_own_network,
                        may_nest=may_nest or control is not None,
                    )
                    command, descriptors = isolating(isolation.program, view, environment, command)
                    variables = {MARK: mark}
                elif supervised:
                    if self.user:
                        of_the_agent = in_memory(environment)
                        descriptors = [of_the_agent]
                        variables = {MARK: mark, **supervisor_variables()}
                    command = supervising(passed, command, self.user, of_the_agent, mounts)
                if groups:
                    command = [*_JOIN_GROUPS, *map(str, groups), "--", *command]
                self._popen = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=output_child_end,
                    stderr=output_child_end,
                    pass_fds=(*passed, *descriptors),
                    start_new_session=True,
                )
        except BaseException:
            os.close(output_end)
            self._lifeline.close()
            self._leave_user()
            raise
        finally:
            for descriptor in (output_child_end, *descriptors):
                os.close(descriptor)
            lifeline_child_end.close()
        self.output_fd = output_end
        self.leader = self._popen.pid
        self.pid = 0 if self._has_leader else self._popen.pid
        self._lifeline.setblocking(False)
        self._loop.add_reader(self._lifeline, self._listen)
        self._watch_exit()

    def is_running(self) -> bool:
        """Return whether the process runs, according to the kernel: its exit may not have been noticed yet."""
        if self.exit_code is not None:
            return False
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return True
        try:
            return os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def _network_up(self) -> None:
        """Do nothing: the bootstrap itself waits for the network."""

    def _kill(self) -> None:
        if self._init:
            # When the first process of a pid namespace ends, the kernel ends all others before it.
            signal_process(self._init, signal.SIGKILL)
        elif self._has_leader and self._isolation.level != "bubblewrap":
            signal_process(self.leader, signal.SIGTERM)  # the supervisor then ends all others
            self._loop.call_later(_SUPERVISOR_ENDS_WITHIN_S, self._insist)
        else:
            signal_group(self.leader, signal.SIGKILL)

    def _insist(self) -> None:
        if self.exit_code is None:  # afterwards another process may have its pid
            signal_group(self.leader, signal.SIGKILL)

    def _watch_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            try:
                pidfd = os.pidfd_open(self.leader)
            except OSError:
                pass
            else:
                self._loop.add_reader(pidfd, self._on_exit, pidfd)
                return
        threading.Thread(target=self._wait_in_thread, name=f"loom-session-{self.leader}", daemon=True).start()

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_exit, -1)

    def _on_exit(self, pidfd: int) -> None:
        if pidfd >= 0:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        self._stop_waiting_for_network()
        # In a thread: searching /proc takes milliseconds, in which the event loop must serve other sessions.
        self._loop.run_in_executor(None, self._end_the_rest).add_done_callback(self._on_reaped)

    def _end_the_rest(self) -> int:
        # Before the leader is reaped: while it is a zombie its pid, which is the group's, is not reused.
        if self._network is not None:
            self._network.close()
        signal_group(self.leader, signal.SIGKILL)
        if self._init:
            wait_for_end(self._init, within_s=_NAMESPACE_ENDS_WITHIN_S)
        kill_marked([self.mark])
        self._leave_user()
        return self._popen.wait()

    def _leave_user(self) -> None:
        if self.user and self.home is not None:
            end_user(self.user)
            remove_tree(self.home)

    def _on_reaped(self, waiting: asyncio.Future[int]) -> None:
        self.exit_code = waiting.result()
        self._listen()
        self._loop.remove_reader(self._lifeline)
        self._lifeline.close()
        self.ended.set()
