"""The kernel's own counters of the machine: load, tasks, stolen and throttled time, CPU pressure.

Each is read from a file of Linux; where a file is missing (macOS, an older kernel, a restricted container) its counter
is None, and so is everything that follows from it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_CPU_FIELDS = 8  # user nice system idle iowait irq softirq steal; what follows is contained in user (proc(5))
_STEAL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCounters:
    """The counters at one time; cumulative since boot unless stated otherwise.

    Attributes:
        at_s: Monotonic time of the reading, in seconds.
        cpu_ticks: CPU time of all processors, in ticks, idle time included.
        steal_ticks: CPU time that the hypervisor gave to others while a task of this machine was waiting, in ticks.
        throttled_s: Time during which this process's control group was stopped at its CPU limit.
        pressure_s: Time during which a task waited for a processor.
    """

    at_s: float
    cpu_ticks: int | None = None
    steal_ticks: int | None = None
    throttled_s: float | None = None
    pressure_s: float | None = None


@dataclass(frozen=True, slots=True)
class MachineFiles:
    """Reads the counters from files; `root` differs from "/" only in tests."""

    root: Path = Path("/")

    def counters(self) -> MachineCounters:
        """Read the cumulative counters."""
        cpu, steal = self._cpu()
        return MachineCounters(
            at_s=time.monotonic(),
            cpu_ticks=cpu,
            steal_ticks=steal,
            throttled_s=self._throttled_s(),
            pressure_s=self._pressure_s(),
        )

    def load(self) -> float | None:
        """Return the load average of the last minute."""
        words = self._read("proc/loadavg").split()
        if words:
            return _number(words[0])
        return os.getloadavg()[0] if self.root == Path("/") and hasattr(os, "getloadavg") else None

    def runnable_tasks(self) -> int | None:
        """Return the number of runnable tasks, excluding the calling one."""
        words = self._read("proc/loadavg").split()
        running = words[3].partition("/")[0] if len(words) > 3 else ""
        return max(0, int(running) - 1) if running.isdigit() else None

    def _cpu(self) -> tuple[int | None, int | None]:
        line = self._read("proc/stat").partition("\n")[0].split()
        if len(line) <= _STEAL + 1 or line[0] != "cpu" or not all(word.isdigit() for word in line[1:]):
            return None, None
        ticks = [int(word) for word in line[1 : _CPU_FIELDS + 1]]
        return sum(ticks), ticks[_STEAL]

    def _throttled_s(self) -> float | None:
        for folder in self._control_groups():
            for line in self._read(f"{folder}/cpu.stat").splitlines():
                name, _, value = line.partition(" ")
                if value.isdigit():
                    if name == "throttled_usec":  # version 2
                        return int(value) / 1e6
                    if name == "throttled_time":  # version 1
                        return int(value) / 1e9
        return None

    def _control_groups(self) -> list[str]:
        """Return the cgroup folders that may have this process's `cpu.stat`, the most specific first."""
        paths = [line.split(":", 2) for line in self._read("proc/self/cgroup").splitlines() if line.count(":") >= 2]
        folders: list[str] = []
        for _, controllers, path in paths:
            if not controllers:
                folders += [f"sys/fs/cgroup{path.rstrip('/')}", f"sys/fs/cgroup/unified{path.rstrip('/')}"]
            elif "cpu" in controllers.split(","):
                folders += [f"sys/fs/cgroup/{controllers}{path.rstrip('/')}", f"sys/fs/cgroup/cpu{path.rstrip('/')}"]
        # In a container the group's own folder is often mounted as the root of the hierarchy.
        return [*folders, "sys/fs/cgroup", "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]

    def _pressure_s(self) -> float | None:
        for line in self._read("proc/pressure/cpu").splitlines():
            if line.startswith("some "):
                total = line.rpartition("total=")[2]
                return int(total) / 1e6 if total.isdigit() else None
        return None

    def _read(self, path: str) -> str:
        try:
            return (self.root / path).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
