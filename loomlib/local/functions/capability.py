"""Lambda functions as a capability of the service."""

from __future__ import annotations

from ..capabilities import Capabilities, ServiceContext
from ..router import Router
from .plane import FunctionPlane
from .pool import FunctionPool


def add_functions(context: ServiceContext, capabilities: Capabilities) -> FunctionPool:
    """Add calls of Lambda functions; return the pool that runs their code."""
    functions = FunctionPool(context.home, context.sessions, context.telemetry.logs)
    capabilities.routers["lambda"] = (Router("lambda", FunctionPlane(functions), rest_to_moto=True),)
    capabilities.stopping.push_async_callback(functions.close)
    return functions
