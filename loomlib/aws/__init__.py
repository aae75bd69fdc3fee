"""Clients, signing, streaming transport and deployment for AWS. The only package that imports botocore."""

from .connection import Clients, Connection
from .deploy import deploy_package
from .engine import Engine, shared_engine
from .errors import translated
from .packages import Package, make_package, runtime_name
from .runtimes import (
    RuntimeDescription,
    delete_runtime,
    describe_runtime,
    find_runtime,
    list_endpoints,
    stop_session,
    wait_until_ready,
)

__all__ = [
    "Clients",
    "Connection",
    "Engine",
    "Package",
    "RuntimeDescription",
    "delete_runtime",
    "deploy_package",
    "describe_runtime",
    "find_runtime",
    "list_endpoints",
    "make_package",
    "runtime_name",
    "shared_engine",
    "stop_session",
    "translated",
    "wait_until_ready",
]
