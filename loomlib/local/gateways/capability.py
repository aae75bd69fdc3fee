"""AgentCore Gateway as a capability of the service."""

from __future__ import annotations

from ..capabilities import Capabilities, ServiceContext
from ..functions import FunctionPool
from ..identity.capability import ServiceIdentity
from ..web_search import WebCorpus
from .credentials import TargetCredentials
from .rate_limits import GATEWAY_RATE_LIMIT, RateLimitBehaviour
from .resources import GATEWAY, GATEWAY_TARGET, GatewayBehaviour
from .rules import GATEWAY_RULE, RuleBehaviour
from .serving import Gateways
from .target_resources import GatewayTargetBehaviour
from .targets import Targets


def add_gateways(
    context: ServiceContext,
    capabilities: Capabilities,
    identity: ServiceIdentity,
    functions: FunctionPool,
    corpus: WebCorpus,
) -> Gateways:
    """Add gateways with their targets and rate limits; return the handler of gateway calls.

    Args:
        context: The parts that the service is built from.
        capabilities: Where the gateways are added.
        identity: Authorizes calls, and provides the credentials of targets.
        functions: Runs targets and interceptors that are Lambda functions.
        corpus: The pages that web search targets search.
    """
    resources, url = context.resources, context.state.url
    targets = Targets(TargetCredentials(identity.outbound, context.keys, url), functions, url, corpus)
    capabilities.resources += [
        (GATEWAY, GatewayBehaviour(resources, url=url)),
        (GATEWAY_TARGET, GatewayTargetBehaviour(resources, targets.read_tools)),
        (GATEWAY_RATE_LIMIT, RateLimitBehaviour(resources)),
        (GATEWAY_RULE, RuleBehaviour(resources)),
    ]
    capabilities.stopping.push_async_callback(targets.close)
    return Gateways(
        resources,
        targets,
        identity.inbound,
        identity.policies,
        functions,
        context.telemetry.spans,
    )
