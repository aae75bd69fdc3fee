"""What a running service says about itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import LocalServiceNotRunningError
from .contract import SessionInfo
from .lifecycle import find
from .loopback import ask
from .state import ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeInfo:
    """One deployed runtime, its newest version and that version's status."""

    runtime_id: str
    name: str
    arn: str
    version: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """A running service: where it is, what lives in it, and which model answers.

    `simulated` says that model latencies come from a profile and not from a model. `rss_bytes` is the service's own
    resident memory, without its sessions.
    """

    state: ServiceState
    version: str
    sessions: tuple[SessionInfo, ...]
    runtimes: tuple[RuntimeInfo, ...]
    model: str
    simulated: bool
    profile: str
    quotas: str
    log_delay_s: float
    rss_bytes: int


def status(home: Path) -> ServiceStatus:
    """The status of the service of `home`; raises `LocalServiceNotRunningError` when there is none."""
    state = find(home)
    if state is None:
        raise LocalServiceNotRunningError("No local AgentCore runs", on=str(home), try_="loom up")
    document: dict[str, Any] = json.loads(ask(state, "GET", "/_loom/status"))
    return ServiceStatus(
        state=state,
        version=document["version"],
        sessions=tuple(_session(item) for item in document["sessions"]),
        runtimes=tuple(RuntimeInfo(**item) for item in document["runtimes"]),
        model=document["model"],
        simulated=document["simulated"],
        profile=document["profile"],
        quotas=document["quotas"],
        log_delay_s=document["log_delay_s"],
        rss_bytes=document["rss_bytes"],
    )


def _session(item: dict[str, Any]) -> SessionInfo:
    times: dict[str, Any] = {name: datetime.fromisoformat(item[name]) for name in ("started_at", "last_used_at")}
    return SessionInfo(**(item | times))
