"""The local AgentCore: a service on loopback that runs agents behind AWS's own wire protocol."""

from .contract import SessionInfo
from .health import RuntimeInfo, ServiceStatus, status
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
