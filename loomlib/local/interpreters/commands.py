"""Shell commands in a code interpreter's session: run to their end, or as tasks whose status is requested later."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Final

from ..sessions.commands import Output, run_command
from ..sessions.lifeline import SessionProcess
from ..wire import RefusedError

_NO_LIMIT_S: Final = 28_800.0  # the longest life of a session
_MOST_TASKS: Final = 100


class CommandOutput:
    """The output of a command as it arrives, up to a limit.

    Args:
        limit_bytes: The largest number of bytes that are stored per stream.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._sizes = {"stdout": 0, "stderr": 0}
        self.exit_code = -1

    @property
    def stdout(self) -> str:
        """The stored part of stdout."""
        return "".join(self._parts["stdout"])

    @property
    def stderr(self) -> str:
        """The stored part of stderr."""
        return "".join(self._parts["stderr"])

    @property
    def cut(self) -> list[str]:
        """The streams whose output was truncated."""
        return [name for name, size in self._sizes.items() if size > self._limit]

    async def run(self, process: SessionProcess, command: str) -> None:
        """Run a command to its end; cancelling kills it."""
        parts = run_command(process, command, timeout_s=_NO_LIMIT_S)
        try:
            async for part in parts:
                if isinstance(part, Output):
                    if room := max(0, self._limit - self._sizes[part.stream]):
                        self._parts[part.stream].append(part.text[:room])
                    self._sizes[part.stream] += len(part.text)
                else:
                    self.exit_code = part.code
        except OSError:
            return  # the session has ended
        finally:
            await parts.aclose()


class CommandTask:
    """One command that runs as a task."""

    def __init__(self, process: SessionProcess, command: str, limit_bytes: int) -> None:
        self.id = str(uuid.uuid4())
        self.output = CommandOutput(limit_bytes)
        self.status = "working"
        self.took_s = 0.0
        self._task = asyncio.get_running_loop().create_task(self._run(process, command))

    async def _run(self, process: SessionProcess, command: str) -> None:
        begun = time.monotonic()
        await self.output.run(process, command)
        self.took_s = time.monotonic() - begun
        self.status = "failed" if self.output.exit_code else "completed"

    async def cancel(self) -> bool:
        """Kill it and return True, or return False if it has ended."""
        if self.status != "working":
            return False
        self.status = "canceled"
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return True


class Tasks:
    """The commands of a session that run as tasks."""

    def __init__(self) -> None:
        self._commands: dict[str, CommandTask] = {}

    def start(self, process: SessionProcess, command: str, limit_bytes: int) -> CommandTask:
        """Start a command.

        Raises:
            RefusedError: The session has too many tasks.
        """
        if len(self._commands) >= _MOST_TASKS:
            ended = [key for key, task in self._commands.items() if task.status != "working"]
            if not ended:
                raise RefusedError(
                    "ServiceQuotaExceededException", 402, f"{_MOST_TASKS} tasks run in the session; stop some"
                )
            del self._commands[ended[0]]
        task = CommandTask(process, command, limit_bytes)
        self._commands[task.id] = task
        return task

    def find(self, task_id: str) -> CommandTask | None:
        """Return a task."""
        return self._commands.get(task_id)

    async def close(self) -> None:
        """Stop all."""
        await asyncio.gather(*(task.cancel() for task in self._commands.values()))
