"""Gateways: endpoints on loopback that offer the tools of their targets over MCP and forward requests to HTTP targets.

A target is an OpenAPI document, a Smithy model, a stage of API Gateway, a Lambda function or an MCP server. The tools
of a target are read when it is created, updated or synchronized, and stored with it; a call is
sent to the target with the configured credentials. An HTTP target is an agent on AgentCore Runtime, or any other
server; rules decide which of them receives a request.
"""

from .operations import GatewayOperations
from .rate_limits import GATEWAY_RATE_LIMIT, RateLimitBehaviour
from .resources import GATEWAY, GATEWAY_TARGET, GatewayBehaviour
from .rules import GATEWAY_RULE, RuleBehaviour
from .serving import Gateways
from .target_resources import GatewayTargetBehaviour

__all__ = [
    "GATEWAY",
    "GATEWAY_RATE_LIMIT",
    "GATEWAY_RULE",
    "GATEWAY_TARGET",
    "GatewayBehaviour",
    "GatewayOperations",
    "GatewayTargetBehaviour",
    "Gateways",
    "RateLimitBehaviour",
    "RuleBehaviour",
]
