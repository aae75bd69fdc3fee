"""Limits of one session's resources, with AWS's values as defaults where AWS documents them."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

_UNITS: Mapping[str, int] = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"(\d+)([kmg]?)b?", re.IGNORECASE)

REACHED = "Resource limit reached"
"""The prefix of the error message and of the log event: `Resource limit reached: memory (8,589,934,592 bytes)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one session; None means no limit.

    Attributes:
        memory: Bytes of memory of all its processes. AgentCore Runtime quotas: 8 GB a session; at most three quarters
            of this machine's memory.
        processes: Processes and threads. AgentCore documents none; AWS Lambda quotas: 1,024.
        open_files: Open files of one process. AgentCore documents none; AWS Lambda quotas: 1,024.
        storage: Bytes of the session's working folder. AgentCore documents none for a session's own disk; this is the
            size of a microVM's unzipped package (750 MB, AgentCore Runtime quotas) and 1 GB beside it.
        answer: Bytes of one answer. AgentCore Runtime quotas: payload at most 100 MB.
        frame: Bytes of one WebSocket frame. AgentCore's service quota "WebSocket frame size (in KB)": 32.
    """

    memory: int | None = 8 * 2**30
    processes: int | None = 1_024
    open_files: int | None = 1_024
    storage: int | None = 750_000_000 + 2**30
    answer: int | None = 100_000_000
    frame: int | None = 32 * 2**10

    @classmethod
    def of(cls, text: str) -> Limits:
        """Parse limits.

        Args:
            text: "aws", "none" or figures such as "memory=512m,processes=64"; AWS's values apply to the others.

        Raises:
            ValueError: The text is none of these.
        """
        names = [field.name for field in fields(cls)]
        if text == "none":
            return cls(**dict.fromkeys(names))
        if text == "aws":
            return cls(memory=min(8 * 2**30, _most_memory()))
        figures: dict[str, int] = {}
        for item in text.split(","):
            name, _, size = item.strip().partition("=")
            match = _SIZE.fullmatch(size)
            if name not in names or match is None:
                raise ValueError(f"limits must be aws, none or figures of {', '.join(names)}, not {text!r}")
            figures[name] = int(match[1]) * _UNITS[match[2].lower()]
        return replace(cls.of("aws"), **figures)

    def with_memory(self, memory: int | None) -> Limits:
        """Return the limits of a session whose runtime names its memory in bytes; none if there is no limit."""
        if memory is None or self.memory is None:
            return self
        return replace(self, memory=min(memory, _most_memory()))

    def for_setrlimit(self, *, own_users: bool) -> str:
        """Return the limits that the bootstrap sets in the agent's process, as resource numbers and values.

        The number of processes is limited only if the session has its own user, because the limit counts all processes
        of a user. Address space (RLIMIT_AS) is not limited, because runtimes reserve far more of it than they use.

        Args:
            own_users: Whether the session has a user namespace, or a user id of its own.
        """
        values: list[tuple[int, int]] = [(resource.RLIMIT_CORE, 0)]
        if self.open_files is not None:
            values.append((resource.RLIMIT_NOFILE, self.open_files))
        if self.storage is not None:
            values.append((resource.RLIMIT_FSIZE, self.storage))  # one file cannot exceed it between two checks
        if self.processes is not None and own_users:
            values.append((resource.RLIMIT_NPROC, self.processes))
        return ",".join(f"{number}:{value}" for number, value in values)

    def reached(self, name: str) -> str:
        """Return the sentence that says that a limit was reached."""
        value = getattr(self, name)
        unit = "" if name in ("processes", "open_files") else " bytes"
        return f"{REACHED}: {name} ({value:,}{unit})"


def _most_memory() -> int:
    """Return three quarters of this machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
