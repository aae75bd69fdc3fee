"""The paths under `/_loom/`: ping, status, lease, persist, stop and tokens of the local issuer."""

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

from .contract import RuntimeInfo
from .identity.local_issuer import LocalIssuer
from .leases import ServiceLeases
from .resources.store import ResourceStore
from .runtimes.resource import AGENT_RUNTIME
from .sandbox.isolation import Isolation
from .sessions import SessionPool
from .state import ServiceOptions
from .tokens import DEFAULT_CLIENT
from .wire import Receive, Send, not_found, read_body, send_body, send_json


class AdminRoutes:
    """Answers Loom's own requests.

    Args:
        options: How the service was started.
        resources: The control plane's resources.
        sessions: The sessions of all runtimes.
        leases: The leases that keep the service running.
        label: Name of the model that answers requests.
        simulated: Whether that model's latencies are simulated.
        isolation: The isolation of sessions from this machine.
        on_persist: Called when the service is requested to run until it is stopped.
        issuer: The service's own issuer of tokens.
    """

    def __init__(
        self,
        *,
        options: ServiceOptions,
        resources: ResourceStore,
        sessions: SessionPool,
        leases: ServiceLeases,
        label: str,
        simulated: bool,
        isolation: Isolation,
        on_persist: Callable[[], None],
        issuer: LocalIssuer,
    ) -> None:
        self._options, self._resources, self._sessions, self._leases = options, resources, sessions, leases
        self._label, self._simulated, self._on_persist = label, simulated, on_persist
        self._isolation, self._issuer = isolation, issuer

    async def answer(self, path: str, method: str, receive: Receive, send: Send) -> None:
        """Answer a request below `/_loom/`."""
        match (method, path):
            case ("GET", "/_loom/status"):
                await send_body(send, json.dumps(self._status(), default=_iso).encode(), 200, [_JSON])
            case ("GET", "/_loom/ping"):
                await send_json(send, {}, 200 if self._leases.linger() else _ENDING)
            case ("GET", "/_loom/lease"):
                await self._lease(receive, send)
            case ("GET", "/_loom/identity"):
                await send_json(send, {"discoveryUrl": self._issuer.discovery_url, "client": DEFAULT_CLIENT})
            case ("POST", "/_loom/identity/tokens"):
                await send_json(send, self._issuer.issue_as_asked(await read_body(receive, _TOKEN_REQUEST_BYTES)))
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
            disconnected = asyncio.ensure_future(_disconnected(receive))
            ended = asyncio.ensure_future(self._leases.ended.wait())
            await asyncio.wait((disconnected, ended), return_when=asyncio.FIRST_COMPLETED)
            disconnected.cancel()
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
            "limits": self._options.limits,
            "isolation": self._isolation.as_document(),
            "persistent": self._leases.is_persistent,
            "rss_bytes": _rss_bytes(),
        }

    def _runtime_infos(self) -> list[RuntimeInfo]:
        return [
            RuntimeInfo(
                runtime_id=runtime.id,
                name=runtime.name,
                arn=runtime.arn,
                version=str(runtime.version),
                status=runtime.status,
            )
            for runtime in self._resources.records(AGENT_RUNTIME.noun)
        ]


_TOKEN_REQUEST_BYTES = 100_000
_JSON = (b"content-type", b"application/json")
_ENDING = 503  # the service is stopping: the caller waits until it has ended and starts another


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _rss_bytes() -> int:
    """Return this process's resident memory, or its peak where the system does not report the current value."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes on macOS, KiB elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _version() -> str:
    try:
        return version("loomlib")
    except PackageNotFoundError:
        return "source"  # run from a source tree without an installation


def _iso(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
