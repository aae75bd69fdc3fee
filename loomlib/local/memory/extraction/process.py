"""The service's side of the extracting process: started when something may wait, woken, restarted when it dies."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from .settings import ExtractionSettings

_log = logging.getLogger(__name__)
_WOKEN_EVERY_S = 0.05
_RESTARTED_AFTER_S = 1.0
_CLOSE_WITHIN_S = 5.0
_DELAY_VARIABLE = "LOOM_MEMORY_DELAY_S"


class ExtractionProcess:
    """Keeps one process that extracts, off the service's event loop and off its interpreter."""

    def __init__(self, home: Path, settings: ExtractionSettings) -> None:
        if told := os.environ.get(_DELAY_VARIABLE):
            settings = replace(settings, delay_s=float(told))
        self._home, self._settings = home, settings
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._waking: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The running process, None while there is none."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def wake(self) -> None:
        """Something may wait for extraction. Never blocks; called on the event loop."""
        if self._closed:
            return
        if self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())
        elif self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(_WOKEN_EVERY_S, self._send)

    async def close(self) -> None:
        """End the process after the turn that it is at."""
        self._closed = True
        if self._waking is not None:
            self._waking.cancel()
        if self._keeping is None:
            return
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        done, _ = await asyncio.wait((self._keeping,), timeout=_CLOSE_WITHIN_S)
        if not done:
            if self.pid is not None and self._process is not None:
                self._process.kill()
            await self._keeping

    def _send(self) -> None:
        self._waking = None
        if self._process is not None and self._process.returncode is None and self._process.stdin is not None:
            self._process.stdin.write(b"\n")

    async def _keep(self) -> None:
        while not self._closed:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __package__ or "", str(self._home)),
                stdin=asyncio.subprocess.PIPE,
                start_new_session=True,  # a terminal's Ctrl-C is for the service, which then closes this one
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(asdict(self._settings)).encode() + b"\n")
            if self._closed:
                process.stdin.close()
            await process.wait()
            if not self._closed:
                _log.error("The extracting process ended with %s; another one takes over", process.returncode)
                await asyncio.sleep(_RESTARTED_AFTER_S)
