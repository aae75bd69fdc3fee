"""The role of an agent with least privilege: from its code and its configuration, each statement with its reason."""

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
