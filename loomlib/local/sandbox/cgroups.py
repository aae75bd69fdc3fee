"""Control groups of sessions, if this machine lets the service create them: hard limits enforced by the kernel.

This is usual for root; another user needs a delegated group. Otherwise the limits are enforced by setrlimit(2) and by a
check of the session's processes every second, between which a process can exceed them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from .limits import Limits

PREFIX = "loom-"
"""The prefix of the names of services' groups; the service's pid follows."""

_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class _Controller:
    """One controller's folder for the service, and the names of its files."""

    folder: Path
    maximum: str
    events: str
    counter: str


class Cgroups:
    """The groups of one service's sessions; without effect if groups cannot be created."""

    def __init__(self) -> None:
        self._controllers: dict[str, _Controller] = {}
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        for resource, controller in _candidates(name).items():
            _remove_leftovers(controller.folder.parent)
            if _works(controller):
                self._controllers[resource] = controller

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the limits that the kernel enforces: of "memory" and "processes"."""
        return tuple(self._controllers)

    def make(self, mark: str, limits: Limits) -> list[Path]:
        """Create a session's groups; return the files into which its first process writes `0` to join."""
        joined: list[Path] = []
        for resource, controller in self._controllers.items():
            limit = limits.memory if resource == "memory" else limits.processes
            if limit is None:
                continue
            group = controller.folder / mark
            with contextlib.suppress(OSError):
                group.mkdir()
                (group / controller.maximum).write_text(str(limit))
                joined.append(group / "cgroup.procs")
        return list(dict.fromkeys(joined))

    def reached(self, mark: str) -> str:
        """Return the name of the limit that a session reached, or an empty string."""
        for resource, controller in self._controllers.items():
            with contextlib.suppress(OSError, ValueError):
                for line in (controller.folder / mark / controller.events).read_text().splitlines():
                    counter, _, value = line.partition(" ")
                    if counter == controller.counter and int(value) > 0:
                        return resource
        return ""

    def remove(self, mark: str) -> None:
        """Remove a session's groups, once its processes have ended."""
        for controller in self._controllers.values():
            with contextlib.suppress(OSError):
                (controller.folder / mark).rmdir()

    def close(self) -> None:
        """Remove the service's own groups."""
        for controller in self._controllers.values():
            _remove(controller.folder)


def _remove(folder: Path) -> None:
    """Remove a service's group with those of its sessions; one that still has processes stays."""
    with contextlib.suppress(OSError):
        for group in folder.iterdir():
            if group.is_dir():
                with contextlib.suppress(OSError):
                    group.rmdir()
        folder.rmdir()


def _remove_leftovers(parent: Path) -> None:
    """Remove the groups of services that were killed."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        with contextlib.suppress(ValueError):
            if not Path(f"/proc/{int(folder.name.split('-')[1])}").exists():
                _remove(folder)


def _candidates(name: str) -> dict[str, _Controller]:
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                own[controller] = path.lstrip("/")
    candidates: dict[str, _Controller] = {}
    if "memory" in own:
        folder = _ROOT / "memory" / own["memory"] / name
        candidates["memory"] = _Controller(folder, "memory.limit_in_bytes", "memory.oom_control", "oom_kill")
    elif "" in own:
        candidates["memory"] = _Controller(_ROOT / own[""] / name, "memory.max", "memory.events", "oom_kill")
    if "pids" in own:
        candidates["processes"] = _Controller(_ROOT / "pids" / own["pids"] / name, "pids.max", "pids.events", "max")
    elif "" in own:
        candidates["processes"] = _Controller(_ROOT / own[""] / name, "pids.max", "pids.events", "max")
    return candidates


def _works(controller: _Controller) -> bool:
    """Test the creation of a session's group, and keep the service's own group if it works."""
    trial = controller.folder / f"trial-{os.getpid()}"
    try:
        controller.folder.mkdir(exist_ok=True)
        trial.mkdir()
    except OSError:
        return False
    try:
        return (trial / controller.maximum).is_file()
    finally:
        trial.rmdir()
