"""The common parts from which capabilities are built, and the parts that each adds to the service."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from .access.keys import Keyring
from .quotas import QuotaKeeper
from .resources import Behaviour
from .resources.declaration import Resource
from .resources.store import ResourceStore
from .router import RegionalHandler, Router
from .sandbox.isolation import Isolation
from .sandbox.limits import Limits
from .sessions import SessionPool
from .state import ServiceOptions, ServiceState
from .telemetry import ServiceTelemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceContext:
    """The common parts of the service, from which every capability is built.

    Attributes:
        state: The service's home, address, keys and options.
        keys: The access keys with which requests may be signed.
        quotas: Limits of requests and sessions.
        limits: Limits of a session's resources.
        isolation: The isolation of sessions from this machine.
        telemetry: Logs, spans and metrics.
        resources: The control plane's resources.
        sessions: The sessions of runtimes.
    """

    state: ServiceState
    keys: Keyring
    quotas: QuotaKeeper
    limits: Limits
    isolation: Isolation
    telemetry: ServiceTelemetry
    resources: ResourceStore
    sessions: SessionPool

    @property
    def home(self) -> Path:
        """The home folder."""
        return self.state.home

    @property
    def options(self) -> ServiceOptions:
        """How the service behaves."""
        return self.state.options


@dataclass(slots=True, kw_only=True)
class Capabilities:
    """The parts that capabilities have added to the service; the function of each capability appends its own.

    Attributes:
        resources: Declared resources of AgentCore's control plane, with their hooks.
        control_handlers: Other operations of the control plane, by name.
        data_components: Objects whose methods answer operations of AgentCore's data plane.
        data_handlers: Operations of the data plane that need the caller's region and account, by name.
        large_bodies: Operations of the data plane that take large requests, with their limit in bytes.
        routers: Routers of other services, by the service name that clients sign for.
        stopping: Objects to close, the newest first, while the service still answers: whatever runs in sessions.
        closing: Objects to close, the newest first, once the service no longer answers: files and threads.
    """

    resources: list[tuple[Resource, Behaviour]] = field(default_factory=list[tuple[Resource, Behaviour]])
    control_handlers: dict[str, RegionalHandler] = field(default_factory=dict[str, RegionalHandler])
    data_components: list[object] = field(default_factory=list[object])
    data_handlers: dict[str, RegionalHandler] = field(default_factory=dict[str, RegionalHandler])
    large_bodies: dict[str, int] = field(default_factory=dict[str, int])
    routers: dict[str, tuple[Router, ...]] = field(default_factory=dict[str, tuple[Router, ...]])
    stopping: AsyncExitStack = field(default_factory=AsyncExitStack)
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)
