"""Gateways: MCP endpoints on loopback whose tools are those of their targets.

A target is an OpenAPI document, a Smithy model, a stage of API Gateway, a Lambda function or an MCP server. The tools
of a target are read when it is created, updated or synchronized, and stored with it; a call goes to the target with the
credentials that it is configured with.
"""

from .operations import GatewayOperations
from .rate_limits import GATEWAY_RATE_LIMIT, RateLimitBehaviour
from .resources import GATEWAY, GATEWAY_TARGET, GatewayBehaviour, GatewayTargetBehaviour
from .serving import Gateways

__all__ = [
    "GATEWAY",
    "GATEWAY_RATE_LIMIT",
    "GATEWAY_TARGET",
    "GatewayBehaviour",
    "GatewayOperations",
    "GatewayTargetBehaviour",
    "Gateways",
    "RateLimitBehaviour",
]
