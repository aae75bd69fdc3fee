"""Records the calls of traced functions, and what they return, while the agent starts."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .agent_code import AgentCode
from .sources import CLOCK, ID, THREAD, TRANSPARENT, TracedFunction, builtin_sources, python_sources

_OPTIMIZED = 1  # CO_OPTIMIZED: the code of a function; that of modules and classes lacks it
_MOST_EVENTS = 20_000
_MOST_VALUES = 20

SourceLine = tuple[str, int]
"""A file of the agent and a line number."""


@dataclass
class Event:
    """Calls of one source from one line.

    Attributes:
        source: The called function.
        line: The agent's line next to the call.
        root: The line of the module or class body that is being executed; None on another thread.
        is_direct: Whether the agent's line calls it itself, not a library on its behalf.
        returns: Whether each function between `line` and `root` is in a return statement, so that the result is passed.
        values: What was returned; of a clock its reading.
        spans: For a clock, its readings before and after each call: on a busy machine much time can pass in between.
    """

    source: TracedFunction
    line: SourceLine
    root: SourceLine | None
    is_direct: bool
    returns: bool
    values: list[Any] = field(default_factory=list[Any])
    spans: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])


class CallTracer:
    """Traces calls by a profile function, and sockets, files and processes by an audit hook.

    Args:
        code: The agent's code.
    """

    def __init__(self, code: AgentCode) -> None:
        self._code = code
        self._builtins, self._functions = builtin_sources(), python_sources()
        self._active = False
        self.events: dict[tuple[str, SourceLine, SourceLine | None, bool], Event] = {}
        self.threads: dict[int, SourceLine] = {}
        self.raw_threads: list[SourceLine] = []
        self.files: dict[str, SourceLine] = {}
        self.databases: dict[str, SourceLine] = {}
        self.sockets: list[tuple[weakref.ref[Any], SourceLine, bool]] = []
        self.processes: list[SourceLine] = []
        self.networked: set[SourceLine] = set()
        self._reading: dict[int, Event] = {}

    def start(self) -> None:
        """Begin to trace all threads."""
        self._active = True
        sys.addaudithook(self._audit)
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def stop(self) -> None:
        """Stop tracing."""
        self._active = False
        sys.setprofile(None)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType]

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            source = self._builtins.get(arg)
            if source is not None and self._active:
                self._record(source, frame, arg)
        elif event == "c_return" and self._reading:
            read = self._reading.get(threading.get_ident())
            if read is not None and self._builtins.get(arg) is read.source:
                read.spans[-1] = read.spans[-1][0], _clock(read.source, arg)
                del self._reading[threading.get_ident()]
        elif event == "return":
            source = self._functions.get(id(frame.f_code))
            if source is not None and self._active:
                if source.kind == THREAD:
                    self._thread_started(frame)
                elif frame.f_back is not None:
                    generator = frame.f_locals.get("self") if source.name in _DRAWING else None
                    self._record(source, frame.f_back, arg, is_own=is_own_generator(generator))

    def _record(self, source: TracedFunction, caller: FrameType, value: Any, *, is_own: bool = False) -> None:
        place = self._place(caller)
        if place is None:
            return
        line, root, is_direct, returns = place
        is_direct = is_direct and not is_own  # with a fixed seed each start draws the same: the second start shows it
        key = (source.name, line, root, is_direct)
        event = self.events.get(key)
        if event is None:
            if len(self.events) >= _MOST_EVENTS:
                return
            event = self.events[key] = Event(source, line, root, is_direct, returns)
        if len(event.values) < _MOST_VALUES:
            event.values.append(_value(source, value))
            if source.kind == CLOCK:
                now = _clock(source, value)
                event.spans.append((now, now))
                if _is_builtin(value):
                    self._reading[threading.get_ident()] = event

    def _place(self, frame: FrameType | None) -> tuple[SourceLine, SourceLine | None, bool, bool] | None:
        """Return the nearest line of the agent, the module's or class's line above it, and how they are connected."""
        is_direct = True
        while frame is not None and not self._code.has(frame.f_code.co_filename):
            if id(frame.f_code) in self._functions:
                return None  # a part of another traced function, which is recorded when it returns
            name = str(frame.f_globals.get("__name__", ""))
            if name.startswith("_loom_snapshot_probe"):
                return None
            if frame.f_code.co_filename != "<string>" and name.partition(".")[0] not in TRANSPARENT:
                is_direct = False
            frame = frame.f_back
        if frame is None:
            return None
        line, returns = (frame.f_code.co_filename, frame.f_lineno), True
        while frame is not None:
            if self._code.has(frame.f_code.co_filename):
                position = (frame.f_code.co_filename, frame.f_lineno)
                if not frame.f_code.co_flags & _OPTIMIZED:
                    return line, position, is_direct, returns
                returns = returns and self._code.is_return(*position)
            frame = frame.f_back
        return line, None, is_direct, returns

    def _thread_started(self, frame: FrameType) -> None:
        thread, place = frame.f_locals.get("self"), self._place(frame.f_back)
        if thread is not None and place is not None:
            self.threads[id(thread)] = place[0]

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._active or event not in _AUDITED:
            return
        place = self._place(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if place is None:
            return
        line, root, is_direct, _ = place
        if event == "open":
            if isinstance(args[0], str | bytes):
                path = os.fsdecode(args[0])
                self.files[os.path.realpath(path)] = line
                if path in _HOST_FILES:
                    key = (path, line, root, True)
                    self.events.setdefault(
                        key, Event(TracedFunction(ID, path), line, root, is_direct=True, returns=True)
                    )
        elif event == "sqlite3.connect":
            self.databases[os.path.realpath(os.fsdecode(args[0]))] = line
        elif event == "socket.__new__":
            self.sockets.append((weakref.ref(args[0]), line, is_direct))
        elif event == "socket.connect":
            self.networked.update({line, root} if root else {line})
        elif event == "_thread.start_new_thread":
            if is_direct:
                self.raw_threads.append(line)
        else:
            self.processes.append(line)


_AUDITED = frozenset(
    {"open", "sqlite3.connect", "socket.__new__", "socket.connect", "_thread.start_new_thread", "subprocess.Popen"}
    | {"os.fork", "os.posix_spawn"}
)


_DRAWING = frozenset(f"random.{name}" for name in vars(random.Random))
_SHARED = random.random.__self__  # type: ignore[attr-defined]
_HOST_FILES = frozenset(
    {"/etc/hostname", "/etc/machine-id", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/random/uuid"}
)


def is_own_generator(value: Any) -> bool:
    """Return whether a generator is the agent's own, not the one that `random` shares and not the system's."""
    return isinstance(value, random.Random) and value is not _SHARED and not isinstance(value, random.SystemRandom)


def _value(source: TracedFunction, value: Any) -> Any:
    """Return what the call returns, as far as it can be known; for functions in C, `value` is the function."""
    if not _is_builtin(value):
        return value
    if source.kind == CLOCK and source.family != "date":
        return value()
    if source.name in ("os.getpid", "os.getppid", "socket.gethostname"):
        return value()
    return None


def _clock(source: TracedFunction, value: Any) -> float:
    """Return what a clock reads now: a monotonic one in its own unit, all others in Unix seconds."""
    return float(value() if _is_builtin(value) else value) if source.family == "monotonic" else time.time()


def _is_builtin(value: Any) -> bool:
    return callable(value) and hasattr(value, "__self__")
