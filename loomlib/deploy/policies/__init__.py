"""An agent's role with least privilege, derived from its code and configuration; each statement has a reason."""

from .generate import model_identifiers, role_policy, trust_document
from .values import AwsPlace, KnownResources, OpenPermission, RolePolicy, RoleStatement

__all__ = [
    "AwsPlace",
    "KnownResources",
    "OpenPermission",
    "RolePolicy",
    "RoleStatement",
    "model_identifiers",
    "role_policy",
    "trust_document",
]
