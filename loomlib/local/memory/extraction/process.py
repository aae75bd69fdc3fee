"""The service's handle on the extraction process: starts it when events may wait, wakes it, restarts it if it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

_log = logging.getLogger(__name__)
_WAKE_EVERY_S = 0.05
_RESTART_AFTER_S = 1.0
_CLOSE_WITHIN_S = 5.0
_DELAY_VARIABLE = "LOOM_MEMORY_DELAY_S"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """How to extract.

    Attributes:
        delay_s: Seconds between the end of a turn and its extraction.
        extractor: "offline" (rules) or "model".
        url: The service's address, for a model.
        simulated: Whether the model is simulated; its records then say so.
        access_key: The service's access key, for a model.
        secret_key: The secret of this key.
    """

    delay_s: float = 1.0
    extractor: str = "offline"
    url: str = ""
    simulated: bool = False
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)


class ExtractionProcess:
    """Keeps one extraction process running, outside the service's event loop and interpreter.

    Args:
        home: The home folder.
        settings: How to extract.
        on_outcome: Called with each outcome that the process reports.
    """

    def __init__(
        self,
        home: Path,
        settings: ExtractionSettings,
        on_outcome: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> None:
        if delay := os.environ.get(_DELAY_VARIABLE):
            settings = replace(settings, delay_s=float(delay))
        self._home, self._settings, self._on_outcome = home, settings, on_outcome
        self._process: asyncio.subprocess.Process | None = None
        self._supervising: asyncio.Task[None] | None = None
        self._waking: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the running process; None while there is none."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def wake(self) -> None:
        """Notify the process that events may be waiting. Does not block; call it on the event loop."""
        if self._closed:
            return
        if self._supervising is None:
            self._supervising = asyncio.get_running_loop().create_task(self._supervise())
        elif self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(_WAKE_EVERY_S, self._send)

    async def close(self) -> None:
        """Stop the process after its current turn; kill it after 5 s."""
        self._closed = True
        if self._waking is not None:
            self._waking.cancel()
        if self._supervising is None:
            return
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        done, _ = await asyncio.wait((self._supervising,), timeout=_CLOSE_WITHIN_S)
        if not done:
            if self.pid is not None and self._process is not None:
                self._process.kill()
            await self._supervising

    def _send(self) -> None:
        self._waking = None
        if self._process is not None and self._process.returncode is None and self._process.stdin is not None:
            self._process.stdin.write(b"\n")

    async def _supervise(self) -> None:
        while not self._closed:
            try:
                process = self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", __package__ or "", str(self._home)),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,  # a terminal's Ctrl-C goes to the service, which then closes this process
                )
            except OSError as error:  # such as too many open files
                _log.error("The extraction process cannot be started; it is tried again: %s", error)
                await asyncio.sleep(_RESTART_AFTER_S)
                continue
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(asdict(self._settings)).encode() + b"\n")
            if self._closed:
                process.stdin.close()
            await self._read(process.stdout)
            await process.wait()
            if not self._closed:
                _log.error("The extraction process ended with %s and is restarted", process.returncode)
                await asyncio.sleep(_RESTART_AFTER_S)

    async def _read(self, output: asyncio.StreamReader) -> None:
        """Pass the process's outcomes on until it ends."""
        while True:
            try:
                line = await output.readline()
            except ValueError:
                continue  # longer than the reader's limit, so not one of ours
            if not line:
                return
            try:
                if self._on_outcome is not None:
                    self._on_outcome(json.loads(line))
            except Exception:  # noqa: BLE001 - a log record that cannot be written must not stop the extraction
                _log.exception("An outcome of the extraction could not be logged")
