"""The routers of AgentCore's control plane and data plane, built from the registered capabilities."""

from __future__ import annotations

from .access.resource_policies import ResourcePolicies
from .capabilities import Capabilities
from .gateways import GatewayOperations
from .resources.engine import ResourceEngine
from .router import Router


def agentcore_routers(
    engine: ResourceEngine, policies: ResourcePolicies, capabilities: Capabilities
) -> tuple[Router, Router]:
    """Return the routers of both planes.

    Args:
        engine: Answers the operations on declared resources.
        policies: Answers the operations on resource-based policies.
        capabilities: The registered capabilities.
    """
    handlers = {**capabilities.control_handlers, **GatewayOperations(engine).handlers}
    return (
        Router("bedrock-agentcore-control", policies, resources=engine, regional=handlers),
        Router(
            "bedrock-agentcore",
            *capabilities.data_components,
            regional=capabilities.data_handlers,
            large=capabilities.large_bodies,
        ),
    )
