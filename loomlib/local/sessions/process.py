"""One agent process: starting it, detecting its exit, and ending it completely."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from .processes import kill_marked, signal_group

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")


class AgentProcess:
    """A running agent script; connections to its `address` are accepted at once and wait until the agent serves them.

    The listening socket is made here and inherited, so ports are not raced for and only loopback is bound. Our copy is
    closed at once, so that the end of the agent resets the connections that still wait.

    Create it on the event loop's own thread, which must run as long as the service: Linux ends the agent together with
    the thread that started it.

    Args:
        interpreter: The Python interpreter.
        script: The agent's script, relative to `folder`.
        folder: The working folder.
        environment: The process's variables.
        mark: The session's mark, by which all its processes are found.
        on_signal: Called with each byte that the process sends over its lifeline, the socket pair whose closing shows
            it that the service has ended.
    """

    def __init__(
        self,
        *,
        interpreter: str,
        script: str,
        folder: Path,
        environment: Mapping[str, str],
        mark: str,
        on_signal: Callable[[bytes], None],
    ) -> None:
        self.mark = mark
        self.exit_code: int | None = None
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        output_end, output_child_end = os.pipe()
        self._lifeline, lifeline_child_end = socket.socketpair()
        try:
            with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
                self.address: tuple[str, int] = listener.getsockname()
                arguments = [str(listener.fileno()), str(lifeline_child_end.fileno()), mark, script]
                self._popen = subprocess.Popen(
                    [interpreter, "-X", "frozen_modules=on", str(_BOOTSTRAP), *arguments],
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output_child_end,
                    stderr=output_child_end,
                    pass_fds=(listener.fileno(), lifeline_child_end.fileno()),
                    start_new_session=True,
                )
        except BaseException:
            os.close(output_end)
            self._lifeline.close()
            raise
        finally:
            os.close(output_child_end)
            lifeline_child_end.close()
        self.output_fd = output_end
        self.pid = self._popen.pid
        self._on_signal = on_signal
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
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    async def end(self, *, grace_s: float) -> None:
        """Send SIGTERM to the group and SIGKILL after `grace_s` seconds; return when the process has ended."""
        if self.exit_code is None:
            if grace_s > 0:
                signal_group(self.pid, signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.ended.wait(), grace_s)
            if self.exit_code is None:
                signal_group(self.pid, signal.SIGKILL)
        await self.ended.wait()

    def how_it_ended(self) -> str:
        """Describe the exit by its exit code or the signal's name."""
        code = self.exit_code
        if code is None:
            return "is still running"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _watch_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            try:
                pidfd = os.pidfd_open(self.pid)
            except OSError:
                pass
            else:
                self._loop.add_reader(pidfd, self._on_exit, pidfd)
                return
        threading.Thread(target=self._wait_in_thread, name=f"loom-session-{self.pid}", daemon=True).start()

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_exit, -1)

    def _on_exit(self, pidfd: int) -> None:
        if pidfd >= 0:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        # Off the loop: searching /proc takes milliseconds, during which other sessions stream.
        self._loop.run_in_executor(None, self._end_the_rest).add_done_callback(self._on_reaped)

    def _end_the_rest(self) -> int:
        # Before the leader is reaped: while it is a zombie its pid, which is the group's, is not reused.
        signal_group(self.pid, signal.SIGKILL)
        kill_marked([self.mark])
        return self._popen.wait()

    def _on_reaped(self, waiting: asyncio.Future[int]) -> None:
        self.exit_code = waiting.result()
        self._listen()
        self._loop.remove_reader(self._lifeline)
        self._lifeline.close()
        self.ended.set()

    def _listen(self) -> None:
        """Read the bytes that the process sends through its lifeline."""
        try:
            data = self._lifeline.recv(4_096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._lifeline)  # its end is closed
        for index in range(len(data)):
            self._on_signal(data[index : index + 1])
