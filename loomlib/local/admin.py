"""The paths under `/_loom/`: ping, status, lease, persist and stop."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .contract import SessionRooms
from .health import RuntimeInfo
from .leases import Leases
from .runtimes import Runtimes
from .state import ServiceOptions
from .wire import Receive, Send, not_found, send_body, send_json


class AdminRoutes:
    """Answers Loom's own requests; `label` and `simulated` describe the model room."""

    def __init__(
        self,
        *,
        options: ServiceOptions,
        runtimes: Runtimes,
        sessions: SessionRooms,
        leases: Leases,
        label: str,
        simulated: bool,
        on_persist: Callable[[], None],
    ) -> None:
        self._options, self._runtimes, self._sessions, self._leases = options, runtimes, sessions, leases
        self._label, self._simulated, self._on_persist = label, simulated, on_persist

    async def answer(self, path: str, method: str, receive: Receive, send: Send) -> None:
        match (method, path):
            case ("GET", "/_loom/status"):
                await send_body(send, json.dumps(self._status(), default=_iso).encode(), 200, [_JSON])
            case ("GET", "/_loom/ping"):
                await send_json(send, {}, 200 if self._leases.linger() else _ENDING)
            case ("GET", "/_loom/lease"):
                await self._lease(receive, send)
            case ("POST", "/_loom/persist"):
                self._leases.persist()
                self._on_persist()
                await send_json(send, {})
            case ("POST", "/_loom/stop"):
                await send_json(send, {})
                self._leases.ended.set()
            case _:
                raise not_found(f"No {method} {path}")

    async def _lease(self, receive: Receive, send: Send) -> None:
        if not self._leases.linger():
            await send_json(send, {}, _ENDING)
            return
        self._leases.opened()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"held\n", "more_body": True})
            gone = asyncio.ensure_future(_disconnected(receive))
            ended = asyncio.ensure_future(self._leases.ended.wait())
            await asyncio.wait((gone, ended), return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            ended.cancel()
        finally:
            self._leases.closed()

    def _status(self) -> dict[str, Any]:
        return {
            "version": _version(),
            "sessions": [asdict(session) for session in self._sessions.sessions()],
            "runtimes": [asdict(info) for info in self._runtime_infos()],
            "model": self._label,
            "simulated": self._simulated,
            "profile": self._options.profile,
            "quotas": self._options.quotas,
            "log_delay_s": self._options.log_delay_s,
            "persistent": self._leases.is_persistent,
            "rss_bytes": _rss_bytes(),
        }

    def _runtime_infos(self) -> list[RuntimeInfo]:
        pairs = [(runtime, self._runtimes.newest(runtime.id)) for runtime in self._runtimes.all()]
        return [
            RuntimeInfo(
                runtime_id=runtime.id,
                name=runtime.name,
                arn=runtime.arn,
                version=str(newest.number),
                status=newest.status,
            )
            for runtime, newest in pairs
        ]


_JSON = (b"content-type", b"application/json")
_ENDING = 503  # the service no longer lives for anybody: whoever asks waits for its end and starts another


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _rss_bytes() -> int:
    """Resident memory of this process; the highest so far where the system does not say the present one."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes on macOS, KiB elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _version() -> str:
    try:
        return version("loomlib")
    except PackageNotFoundError:
        return "source"  # run from a tree that nobody installed


def _iso(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
