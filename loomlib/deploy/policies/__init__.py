"""An agent's role with least privilege, derived from its code and configuration; each statement has a reason."""

from .generate import model_identifiers, role_policy, trust_document
from .values import AwsPlace, KnownResources, RolePolicy, RoleStatement, UnresolvedPermission

__all__ = [
    "AwsPlace",
    "KnownResources",
    "RolePolicy",
    "RoleStatement",
    "UnresolvedPermission",
    "model_identifiers",
    "role_policy",
    "trust_document",
]
