"""Identity of callers and of agents as a capability of the service."""

from __future__ import annotations

from dataclasses import dataclass

from ..access.resource_policies import ResourcePolicies
from ..capabilities import Capabilities, ServiceContext
from .inbound import CognitoPools, InboundAuthorizer, SessionTenants, UserTokens
from .local_issuer import LocalIssuer
from .outbound import OutboundIdentity, discovery_urls


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceIdentity:
    """The parts of identity that other capabilities use.

    Attributes:
        issuers: The service's own issuers of tokens: of users, and of web identities.
        policies: The resource-based policies.
        inbound: Decides who may call a runtime or a gateway.
        outbound: The identities and credentials with which agents call others.
    """

    issuers: tuple[LocalIssuer, LocalIssuer]
    policies: ResourcePolicies
    inbound: InboundAuthorizer
    outbound: OutboundIdentity


def add_identity(context: ServiceContext, capabilities: Capabilities) -> ServiceIdentity:
    """Add workload identities, credential providers and their tokens."""
    home, resources, url = context.home, context.resources, context.state.url
    local, web = LocalIssuer(home, url), LocalIssuer(home, url, "sts")
    issuers = (local, web, CognitoPools())
    policies = ResourcePolicies(resources)
    inbound = InboundAuthorizer(issuers, context.telemetry.logs, SessionTenants(home), policies)
    users = UserTokens(issuers, lambda: discovery_urls(resources), inbound.tokens)
    outbound = OutboundIdentity(home, resources, url=url, issuer=web, local_issuer=local, verify=users.verify)
    capabilities.resources += outbound.resources
    capabilities.control_handlers |= outbound.control_handlers
    capabilities.data_handlers |= outbound.data_handlers
    return ServiceIdentity(issuers=(local, web), policies=policies, inbound=inbound, outbound=outbound)
