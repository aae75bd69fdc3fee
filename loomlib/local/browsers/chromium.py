"""Chromium on this machine, and its process: in the sandbox of sessions, controlled through a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ..sandbox.bubblewrap import HOME
from ..sandbox.isolation import Isolation
from ..sandbox.variables import FOR_AGENTS
from ..sessions.commands import spawn
from ..sessions.environment import MARK
from ..sessions.pool_settings import PoolSettings
from ..sessions.process import AgentProcess
from ..sessions.workspace import remove_workspace, write_record
from .devtools import BrowserGoneError, DevTools

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_READ: Final = ("/etc/fonts", "/etc/chromium")
_FLAGS: Final = (
    *("--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--disable-breakpad", "--mute-audio", "--password-store=basic"),
)
# For a browser that shares this machine's loopback: the names and addresses that lead to it.
_NO_LOOPBACK: Final = ", ".join(
    f"MAP {name} ~NOTFOUND"
    for name in ("localhost", "*.localhost", "127.*", "0.0.0.0", "[::1]", "[::]", "[::ffff:7f*")  # noqa: S104
)
_TAIL_LINES, _TAIL_LINE_LENGTH, _READ_BYTES = 20, 400, 16_384
_NO_NESTING: Final = "No usable sandbox"


class BrowserStartError(Exception):
    """The browser did not start; the message contains the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """A running browser.

    Attributes:
        process: Its session's process.
        devtools: The connection to it.
        close: Ends the connection and the descriptors; call it once.
    """

    process: AgentProcess
    devtools: DevTools
    close: Callable[[], None]


async def start_chromium(
    shared: PoolSettings, program: Path, mark: str, *, profile: Path, viewport: tuple[int, int], within_s: float
) -> Chromium:
    """Start a browser and return it once it answers.

    Args:
        shared: The settings that all sessions share.
        program: The browser.
        mark: The session's mark.
        profile: The folder of its profile, within the session's folder.
        viewport: Width and height of its window's content.
        within_s: Time for it to answer.

    Raises:
        BrowserStartError: It did not start.
    """
    isolated = shared.isolation.level == "bubblewrap"
    if not isolated and os.geteuid() == 0:
        raise BrowserStartError(
            f"a browser that runs as root needs bubblewrap to contain the pages it opens: {shared.isolation.sentence}"
        )
    try:
        return await _start(shared, program, mark, profile, viewport, within_s, nests=True)
    except BrowserStartError as failure:
        # Some machines do not allow nested user namespaces: then bubblewrap's sandbox is the only one.
        if not isolated or _NO_NESTING not in str(failure):
            raise
    return await _start(shared, program, mark, profile, viewport, within_s, nests=False)


async def _start(
    shared: PoolSettings,
    program: Path,
    mark: str,
    profile: Path,
    viewport: tuple[int, int],
    within_s: float,
    *,
    nests: bool,
) -> Chromium:
    isolated = shared.isolation.level == "bubblewrap"
    folder = profile.parent
    flags = [*_FLAGS, f"--user-data-dir={profile}", f"--window-size={viewport[0]},{viewport[1]}"]
    if not nests:
        flags.append("--no-sandbox")
    if not shared.isolation.has_own_network:
        flags.append(f"--host-resolver-rules={_NO_LOOPBACK}")
    async with contextlib.AsyncExitStack() as resources:
        process = AgentProcess(
            interpreter=sys.executable,
            script=str(_LAUNCHER),
            folder=folder,
            environment=_environment(shared.isolation, folder, mark),
            mark=mark,
            isolation=shared.isolation,
            read=(_LAUNCHER, program.parent, *map(Path, _READ)),
            limits=shared.limits.for_setrlimit(own_users=isolated),
            groups=shared.cgroups.make(mark, shared.limits),
            on_signal=lambda _: None,
            on_endpoint=socket.socket.close,
            may_nest=nests,
        )
        resources.push_async_callback(partial(process.end, grace_s=0))
        output = _Tail(process.output_fd)
        resources.callback(output.close)
        write_record(shared.folder, mark, process.leader)
        errors_read, errors_write = os.pipe()
        errors = _Tail(errors_read)
        resources.callback(errors.close)
        own, other = socket.socketpair()
        own.setblocking(False)
        resources.callback(own.close)
        try:
            async with asyncio.timeout(within_s):
                await output.first_line()
                command = shlex.join([str(program), *flags, "about:blank"])
                channel = await spawn(
                    process,
                    f"exec {command} 3<&1 4>&1 1>/dev/null",
                    output=other.fileno(),
                    errors=errors_write,
                    status=errors_write,
                )
                resources.callback(channel.close)
                other.close()
                devtools = await DevTools.open(own)
                resources.callback(devtools.close)
                await devtools.command("Browser.getVersion")
        except (OSError, TimeoutError, BrowserGoneError) as failure:
            await asyncio.sleep(0)
            log_tail = "; ".join([*output.lines, *errors.lines][-4:])
            reason = f"no answer within {within_s:g} s" if isinstance(failure, TimeoutError) else str(failure)
            raise BrowserStartError(
                f"{program} did not start: {reason}{f': {log_tail}' if log_tail else ''}"
            ) from failure
        finally:
            other.close()
            os.close(errors_write)
        resources.pop_all()
    close = contextlib.ExitStack()
    for release in (output.close, errors.close, channel.close, devtools.close):
        close.callback(release)
    return Chromium(process=process, devtools=devtools, close=close.close)


def remove_files(shared: PoolSettings, mark: str) -> None:
    """Remove a session's groups, folder and record, once its processes have ended."""
    shared.cgroups.remove(mark)
    remove_workspace(shared.folder, mark)


def _environment(isolation: Isolation, folder: Path, mark: str) -> dict[str, str]:
    """Return the browser's environment variables, without any key."""
    environment = {name: os.environ[name] for name in FOR_AGENTS if name in os.environ}
    for name in ("TMPDIR", "TEMP", "TMP"):
        environment.pop(name, None)
    home = HOME if isolation.level == "bubblewrap" else str(folder)
    return environment | {"HOME": home, "PYTHONUNBUFFERED": "1", MARK: mark}


class _Tail:
    """The last lines that a process has written to a pipe; the pipe is read to its end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self.lines = deque[str](maxlen=_TAIL_LINES)
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    async def first_line(self) -> None:
        """Wait for the first line. Raise `OSError` if the pipe ends without one."""
        await self._arrived.wait()
        if not self.lines:
            raise OSError("its session's process ended")

    def close(self) -> None:
        """Stop reading."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self._arrived.set()
            return
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_TAIL_LINE_LENGTH:]
        for line in filter(None, lines):
            self.lines.append(line.decode("utf-8", "replace")[:_TAIL_LINE_LENGTH])
            self._arrived.set()
