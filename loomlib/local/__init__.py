"""The local AgentCore: a service on loopback that runs agents and speaks AWS's own wire protocol."""

from .contract import RuntimeInfo, SessionInfo
from .health import ServiceStatus, status
from .lifecycle import find, start, stop
from .loopback import Lease, hold
from .state import ServiceOptions, ServiceState

__all__ = [
    "Lease",
    "RuntimeInfo",
    "ServiceOptions",
    "ServiceState",
    "ServiceStatus",
    "SessionInfo",
    "find",
    "hold",
    "start",
    "status",
    "stop",
]
