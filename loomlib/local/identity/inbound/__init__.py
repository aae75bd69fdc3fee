"""Authorization of calls to runtimes: JWT authorizers, and SigV4 where a runtime has none."""

from ...tenancy import TENANT_CLAIMS
from .authorizer import RESOURCE_METADATA, USER_HEADER, InboundAuthorizer, decision_group
from .cognito import CognitoPools
from .rules import AuthorizerRules, check_authorizer
from .tenants import SessionTenants
from .user_tokens import UserTokens

__all__ = [
    "RESOURCE_METADATA",
    "TENANT_CLAIMS",
    "USER_HEADER",
    "AuthorizerRules",
    "CognitoPools",
    "InboundAuthorizer",
    "SessionTenants",
    "UserTokens",
    "check_authorizer",
    "decision_group",
]
