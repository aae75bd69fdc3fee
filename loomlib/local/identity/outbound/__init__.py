"""Outbound identity: workload identities, credential providers, the token vault and users' consent."""

from .providers import discovery_urls, linked_identity
from .service import PATHS, OutboundIdentity
from .tokens import WorkloadTokens

__all__ = ["PATHS", "OutboundIdentity", "WorkloadTokens", "discovery_urls", "linked_identity"]
