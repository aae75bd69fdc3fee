"""The local AgentCore: a service on loopback that runs agents and speaks AWS's own wire protocol."""

from loomlib.deprecation import renamed_names

from .aws_names.variables import shell_environment
from .contract import RuntimeInfo, SessionInfo
from .find_chromium import browser_sentence
from .foreground import serve_in_foreground
from .health import ServiceStatus, status
from .lifecycle import find, isolation_sentence, start, stop
from .loopback import ServiceLease, hold
from .sandbox.variables import installer_environment, service_environment
from .state import FOREIGN_VARIABLES, ServiceOptions, ServiceState
from .tokens import DEFAULT_CLIENT, issue_token, issuer_address

__all__ = [
    "DEFAULT_CLIENT",
    "FOREIGN_VARIABLES",
    "RuntimeInfo",
    "ServiceLease",
    "ServiceOptions",
    "ServiceState",
    "ServiceStatus",
    "SessionInfo",
    "browser_sentence",
    "find",
    "hold",
    "installer_environment",
    "isolation_sentence",
    "issue_token",
    "issuer_address",
    "serve_in_foreground",
    "service_environment",
    "shell_environment",
    "start",
    "status",
    "stop",
]

__getattr__ = renamed_names(__name__, {"Lease": "ServiceLease"})
