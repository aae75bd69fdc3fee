"""Freezes a process that serves, and forks a session from it for each request of the service.

The service sends `freeze` over the control socket once the agent is healthy and warm. The process answers with the
reasons that prevent a fork, or stops there: from then on it only waits for requests, so no code of the agent runs in
it. A request is a byte with five descriptors: the session's listening socket, its lifeline, its output, a pipe for its
exit code, and a file with a `Request` as JSON. The forked process returns into the event loop and serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import descriptors, threads
from .supervisor import SIGNALS, follow

if TYPE_CHECKING:
    from uvicorn.server import Server

    from ..spans import Spans

FREEZE = b"f"
RESTORE = b"r"
_DESCRIPTORS = 5
_CLOSE_ON_EXEC = 0x40000000  # MSG_CMSG_CLOEXEC
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # prctl(2)
_SETTLES_WITHIN_S, _FORKS_WITHIN_S = 2.0, 5.0
_MOST_OBSTACLES, _OBSTACLE_LENGTH = 20, 200  # their JSON is one message of at most 64 KiB


@dataclass(frozen=True, slots=True)
class Request:
    """The settings in which a session differs from the process that it is forked from."""

    mark: str
    folder: str
    home: str
    copied: bool
    port: int
    isolated: bool
    own_network: bool
    environment: dict[str, str]
    spans: str


class Freezer:
    """Freezes this process and forks sessions from it.

    Args:
        control_fd: The socket to the service.
        listener_fd: The listening socket.
        lifeline_fd: The lifeline.
        spans: The agent's spans.
        announce: Tells the service this process's id, given the lifeline and a port.
        follow_service: Starts the thread that ends the session with the service, given the session's mark, and reports
            the time from which the session serves.
    """

    def __init__(
        self,
        control_fd: int,
        listener_fd: int,
        lifeline_fd: int,
        spans: Spans | None,
        announce: Callable[[int, int], None],
        follow_service: Callable[[str], None],
    ) -> None:
        self._control = socket.socket(fileno=control_fd)
        self._control.setblocking(True)
        self._listener_fd, self._lifeline_fd = listener_fd, lifeline_fd
        self._spans, self._announce, self._follow_service = spans, announce, follow_service
        self._folder = os.getcwd()
        self._task: asyncio.Task[None] | None = None

    def watch(self, server: Server) -> None:
        """Freeze this process when the service asks for it; call it in the event loop in which the server runs."""
        loop = asyncio.get_running_loop()

        def begin() -> None:
            loop.remove_reader(self._control)
            if self._control.recv(1) == FREEZE:
                self._task = loop.create_task(self._freeze(loop, server))

        loop.add_reader(self._control, begin)

    async def _freeze(self, loop: asyncio.AbstractEventLoop, server: Server) -> None:
        deadline = loop.time() + _SETTLES_WITHIN_S
        while server.server_state.connections and loop.time() < deadline:  # noqa: ASYNC110 (uvicorn has no event)
            await asyncio.sleep(0.002)  # until uvicorn has noticed that the service closed its connections
        # If the agent ignores this signal, this process is not notified when its children end.
        on_child = signal.signal(signal.SIGCHLD, signal.SIG_DFL) if _on_main_thread() else None
        obstacles, plan = self._examine(loop)
        reported = [text[:_OBSTACLE_LENGTH] for text in obstacles[:_MOST_OBSTACLES]]
        self._control.send(json.dumps({"obstacles": reported}).encode())
        if obstacles or plan is None:
            return
        self._serve_requests(loop, plan)
        if on_child is not None:
            signal.signal(signal.SIGCHLD, on_child)

    def _examine(self, loop: asyncio.AbstractEventLoop) -> tuple[list[str], descriptors.DescriptorPlan | None]:
        if not _on_main_thread():
            return ["its server runs in a thread"], None
        if not isinstance(loop, asyncio.SelectorEventLoop):
            return [f"its event loop is {type(loop).__module__}.{type(loop).__name__}"], None
        if self._spans is not None and self._spans.tracing is not None:
            self._spans.tracing.flush()
        gc.collect()  # closes unreferenced files and sockets
        threads.retire_workers(loop)
        threads.wait_for_threads(_SETTLES_WITHIN_S)
        if not threads.try_a_fork(_FORKS_WITHIN_S):
            return [f"a process forked from it does not start within {_FORKS_WITHIN_S:g} s"], None
        obstacles = [f"the thread {name!r} runs" for name in threads.python_threads()]
        if count := threads.native_threads():
            obstacles.append(f"{count} threads of a native library run")
        if _children():
            obstacles.append("it has started other processes")
        own = {0, 1, 2, self._control.fileno(), self._listener_fd, self._lifeline_fd}
        plan = descriptors.examine(own | descriptors.loop_descriptors(loop))
        return [*obstacles, *plan.obstacles], plan

    def _serve_requests(self, loop: asyncio.AbstractEventLoop, plan: descriptors.DescriptorPlan) -> None:
        """Fork a session for each request; return in the forked process only."""
        state = sys.modules["random"].getstate() if "random" in sys.modules else None
        wake_up, works_in = signal.set_wakeup_fd(-1), os.getcwd()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        gc.freeze()  # a later collection would touch, and so copy, every object that the sessions share
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel then removes sessions that have ended
        while True:
            request, received = self._receive()
            try:
                if os.fork() == 0:
                    break
            except OSError as failure:
                _report_no_fork(failure, received)
            for descriptor in received:
                os.close(descriptor)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            self._become(request, received, loop, plan, works_in)
            signal.set_wakeup_fd(wake_up)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if state is not None:
                # Python seeds it anew in a forked process; a snapshot's sessions all continue where it was.
                sys.modules["random"].setstate(state)
            self._announce(self._lifeline_fd, request.port)
            self._follow_service(request.mark)
        except BaseException:  # noqa: BLE001 (whatever fails: a process that is half restored must not serve)
            traceback.print_exc()
            os._exit(1)

    def _become(
        self,
        request: Request,
        received: list[int],
        loop: asyncio.AbstractEventLoop,
        plan: descriptors.DescriptorPlan,
        works_in: str,
    ) -> None:
        """Become the process of a session."""
        listener, lifeline, output, status = received
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        self._supervise(request, status)
        if request.copied:
            from .copying import copy_folder

            copy_folder(self._folder, request.folder, exists=True)
        # The session's own process.
        os.set_blocking(listener, False)
        for source_fd, target_fd in ((listener, self._listener_fd), (lifeline, self._lifeline_fd)):
            os.dup2(source_fd, target_fd, inheritable=False)
            os.close(source_fd)
        descriptors.renew(plan, self._folder, self._folder if request.isolated else request.folder)
        descriptors.renew_loop(loop, dropped=self._control.fileno())
        self._control.close()
        if not request.isolated:
            if works_in == self._folder or works_in.startswith(self._folder + "/"):
                works_in = request.folder + works_in[len(self._folder) :]
            sys.path[:] = [request.folder if entry == self._folder else entry for entry in sys.path]
        os.chdir(works_in)
        os.environ.update(request.environment)
        if self._spans is not None:
            self._spans.move(request.spans)

    def _supervise(self, request: Request, status_fd: int) -> None:
        """Enter the session's namespaces, fork the session's own process, and return in it only."""
        prctl = ctypes.CDLL(None).prctl
        os.setsid()
        try:
            prctl(_SUBREAPER, 1, 0, 0, 0)
            if request.isolated:
                from . import namespaces

                namespaces.enter(self._folder, request.folder, home=request.home, own_network=request.own_network)
            agent = os.fork()
        except OSError as failure:
            count = len(os.listdir("/proc/self/task"))
            os.write(2, f"Loom: the session could not be restored: {failure} ({count} threads)\n".encode())
            os._exit(1)
        if agent == 0:
            prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            os.close(status_fd)
            os.setsid()
            return
        try:
            # This process must close everything that belongs to the agent: connections, output, lifeline.
            os.closerange(0, status_fd)
            os.closerange(status_fd + 1, os.sysconf("SC_OPEN_MAX"))
            os.write(status_fd, b"%d\n" % follow(agent))
        finally:
            os._exit(0)

    def _receive(self) -> tuple[Request, list[int]]:
        """Wait for a request; end this process when the service has closed the control socket."""
        size = socket.CMSG_SPACE(_DESCRIPTORS * 4)
        data, control, _, _ = self._control.recvmsg(1, size, _CLOSE_ON_EXEC)
        if data != RESTORE:
            os._exit(0)
        received = [
            descriptor
            for level, kind, value in control
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS
            for (descriptor,) in struct.iter_unpack("i", value)
        ]
        with os.fdopen(received.pop(), "rb") as file:
            document: dict[str, Any] = json.load(file)
        return Request(**document), received


def _report_no_fork(failure: OSError, received: list[int]) -> None:
    """Write to a session's output and exit code why it has no process."""
    _, _, output, status = received
    with contextlib.suppress(OSError):  # the service has abandoned the request
        os.write(output, f"Loom: the session could not be restored: {failure}\n".encode())
        os.write(status, b"1\n")


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _children() -> list[int]:
    pids: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", "rb") as file:
            pids += map(int, file.read().split())
    return pids
