"""CPU time and memory of sessions, in the form and the log group of AWS's usage log (`USAGE_LOGS`).

AWS writes a record every second, for the whole microVM. Here a record covers a time in which a session had invocations:
the CPU clock of its process with all threads, and its peak memory. Processes that the agent starts are counted once
they have ended. The records name the local AgentCore as their source.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from ..contract import AgentAnswer, AgentCall, LogSink
from ..log_groups import runtime_group

GROUP = "/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/"
STREAM = "BedrockAgentCoreRuntime_UsageLogs"
MEASURED_BY = "the local AgentCore: CPU clock and peak memory of the session's process"

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_LEAST_MEMORY_GB = 0.128
"""The minimum memory that AgentCore Runtime bills."""


@dataclass(slots=True)
class _Window:
    """A period in which a session has invocations; it began at `began_s` of the monotonic clock."""

    call: AgentCall
    began_s: float
    cpu_s: float | None
    calls: int = 0


class UsageMeter:
    """Measures sessions; `began` and `ended` take a few tens of microseconds per invocation.

    Args:
        sink: Receives the records.
        unix_time: The machine's time in seconds since 1970, for the records' timestamps; it can be set at any time.
    """

    def __init__(self, sink: LogSink, unix_time: Callable[[], float] = time.time) -> None:
        self._sink, self._unix_time = sink, unix_time
        self._windows: dict[str, _Window] = {}

    def began(self, mark: str, call: AgentCall, pid: int) -> None:
        """Start measuring an invocation.

        Args:
            mark: The invocation's mark.
            call: The request.
            pid: The session's process; 0 while it has not started.
        """
        window = self._windows.get(mark)
        if window is None:
            window = self._windows[mark] = _Window(call, time.monotonic(), cpu_seconds(pid) if pid else 0.0)
        window.calls += 1

    def ended(self, mark: str, pid: int) -> None:
        """Stop measuring an invocation, whatever its outcome."""
        window = self._windows.get(mark)
        if window is None:
            return
        window.calls -= 1
        if window.calls:
            return
        del self._windows[mark]
        spent, elapsed_s = cpu_seconds(pid) if pid else None, time.monotonic() - window.began_s
        if spent is not None and window.cpu_s is not None:
            # After the answer's last byte is sent.
            asyncio.get_running_loop().call_soon(self._write, window, pid, max(0.0, spent - window.cpu_s), elapsed_s)

    def _write(self, window: _Window, pid: int, cpu_s: float, elapsed_s: float) -> None:
        now_s, runtime = self._unix_time(), window.call.runtime
        peak = peak_bytes(pid)
        metrics = {"agent.runtime.vcpu.hours.used": cpu_s / 3600}
        if peak:
            metrics["agent.runtime.memory.gb_hours.used"] = max(_LEAST_MEMORY_GB, peak / 1e9) * elapsed_s / 3600
        record = {
            "resource_arn": runtime.arn,
            "event_timestamp": int(now_s * 1000),
            "resource": {"cloud.provider": "local", "service.name": "AgentCore.Runtime"},
            "attributes": {
                "time_elapsed_seconds": round(elapsed_s, 6),
                "agent.name": runtime.runtime_id.rpartition("-")[0],
                "session.id": window.call.session_id,
                "resource.id": f"{runtime.arn}/runtime-endpoint/{window.call.qualifier}",
                "loom.measured_by": MEASURED_BY,
            },
            "metrics": metrics,
        }
        group, now_ms = runtime_group(runtime, GROUP + runtime.runtime_id), int(now_s * 1000)
        self._sink.write(group=group, stream=STREAM, timestamp_ms=now_ms, message=json.dumps(record))


class MeteredChunks(AsyncIterator[bytes]):
    """A response's chunks; the measurement ends after the last one."""

    def __init__(self, answer: AgentAnswer, meter: UsageMeter, mark: str, pid: int) -> None:
        self._chunks, self._meter, self._mark, self._pid = answer.chunks, meter, mark, pid
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    def __aiter__(self) -> MeteredChunks:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except BaseException:
            self._end()
            raise

    async def aclose(self) -> None:
        """Stop reading."""
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()
        self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._meter.ended(self._mark, self._pid)

    def __del__(self) -> None:
        if not self._is_over:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._meter.ended, self._mark, self._pid)


def cpu_seconds(pid: int) -> float | None:
    """Return a process's CPU time in seconds; None if it has ended or the system does not have such a clock.

    Linux derives the id of another process's CPU clock from its pid (clock_getcpuclockid(3)). That clock excludes child
    processes; those that have ended are in the process's status, in hundredths of a second.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2) + _ended_children_s(pid)
    except (OSError, AttributeError, OverflowError):
        return None


def _ended_children_s(pid: int) -> float:
    """Return `cutime` + `cstime` of proc_pid_stat(5), whose second field, in brackets, may hold any text."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # pathlib takes four times as long
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[13]) + int(fields[14])) / _TICKS_PER_S
    except (OSError, ValueError, IndexError):
        return 0.0


def peak_bytes(pid: int) -> int:
    """Return the peak resident memory of a process in bytes; 0 when unknown."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            lines = file.read().splitlines()
        for line in lines:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0
