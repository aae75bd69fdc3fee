"""The status of a running service."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import LocalServiceNotRunningError
from ..recovery import damaged_files
from .contract import RuntimeInfo, SessionInfo
from .lifecycle import find
from .loopback import ask
from .state import ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """A running service: its address, sessions, runtimes and model.

    Attributes:
        model: Name of the model that answers Converse.
        simulated: Whether model latencies come from a profile rather than from a model.
        rss_bytes: Resident memory of the service itself, without its sessions.
        damaged: Damaged files of the home folder that were set aside, by their present paths in it.
        isolation: The isolation of sessions from this machine, in a sentence; "unknown" for an earlier release.
        isolation_label: The same as a provenance label.
        limits: The limits of one session, as given to `ServiceOptions`.
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
    damaged: tuple[str, ...] = ()
    isolation: str = "unknown"
    isolation_label: str = ""
    limits: str = "aws"


def status(home: Path) -> ServiceStatus:
    """Return the status of the service of a home folder.

    Raises:
        LocalServiceNotRunningError: No service runs there.
    """
    state = find(home)
    if state is None:
        raise LocalServiceNotRunningError("No local AgentCore is running", on=str(home), try_="loom up")
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
        damaged=tuple(str(item.aside.relative_to(home)) for item in damaged_files(home)),
        isolation=document.get("isolation", {}).get("sentence", "unknown"),
        isolation_label=document.get("isolation", {}).get("label", ""),
        limits=document.get("limits", "none"),
    )


def _session(item: dict[str, Any]) -> SessionInfo:
    times: dict[str, Any] = {name: datetime.fromisoformat(item[name]) for name in ("started_at", "last_used_at")}
    return SessionInfo(**(item | times))
