"""Permissions of a session's key, from the policies of its runtime's role."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .conditions import holds, unknown_operators
from .errors import refusal
from .keys import SessionPrincipal
from .policies import PolicyStatement, decision, default_statements, read_statements

_ALWAYS = frozenset({"sts:GetCallerIdentity"})  # AWS: "No permissions are required to perform this operation"


def require(
    principal: SessionPrincipal | None,
    action: str,
    resources: Sequence[str],
    service: str,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Refuse an action that a caller may not perform.

    Args:
        principal: The session that calls; the owner, who is None, may do everything.
        action: IAM's name of the action.
        resources: The ARNs of all resources that it touches.
        service: The service that the request is signed for.
        keys: The condition keys of the request by lower-case names; a condition with any other key is not met.

    Raises:
        RefusedError: No policy allows the action, or one denies it.
    """
    if principal is None:
        return
    decided = identity_decision(principal, action, resources, keys)
    if decided:
        return
    why = (
        f"no identity-based policy allows the {action} action"
        if decided is None
        else "of an explicit deny in an identity-based policy"
    )
    raise refusal(
        "denied",
        service,
        f"User: {principal.arn} is not authorized to perform: {action} on resource: {resources[0]} because {why}",
    )


def require_owner(principal: SessionPrincipal | None, action: str) -> None:
    """Refuse all callers but the owner: IAM has no such action, so no role allows it, not even with `*`.

    Args:
        principal: The session that calls; None for the owner.
        action: A name of the action, for the message.

    Raises:
        RefusedError: A session or an assumed role calls.
    """
    if principal is not None:
        message = (
            f"User: {principal.arn} is not authorized to perform: {action} because only the owner of the service is"
        )
        raise refusal("denied", "loom", message)


def identity_decision(
    principal: SessionPrincipal | None,
    action: str,
    resources: Sequence[str],
    keys: Mapping[str, str] | None = None,
) -> bool | None:
    """Return whether a caller's role allows (True) or denies (False) an action; None when it does neither.

    Args:
        principal: The session that calls; the owner, who is None, may do everything.
        action: IAM's name of the action.
        resources: The ARNs of all resources that it touches.
        keys: The condition keys of the request by lower-case names.
    """
    if principal is None or action in _ALWAYS:
        return True
    statements = role_statements(principal)
    own = default_statements(principal) if statements is None else statements
    return decision(own, action, resources, lambda condition: _holds(condition, keys or {}))


def _holds(condition: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """Return whether a condition has known keys only, and is met."""
    operands: list[object] = list(condition.values())
    pairs = [cast("dict[str, Any]", item) for item in operands if isinstance(item, dict)]
    is_known = all(key.lower() in keys for item in pairs for key in item)
    return is_known and len(pairs) == len(operands) and not unknown_operators(condition) and holds(condition, keys)


def role_statements(principal: SessionPrincipal) -> list[PolicyStatement] | None:
    """Return the statements of a role that was created in the local IAM; None for any other."""
    role = _local_role(principal)
    if role is None:
        return None
    managed = [
        version for policy in role.managed_policies.values() for version in policy.versions if version.is_default
    ]
    documents = [*role.policies.values(), *(version.document for version in managed)]
    return [statement for document in documents for statement in read_statements(document)]


def role_tags(principal: SessionPrincipal) -> dict[str, str]:
    """Return the tags of a role that was created in the local IAM; empty for any other."""
    role = _local_role(principal)
    return {} if role is None else {str(tag["Key"]): str(tag["Value"]) for tag in role.tags or ()}


def caller_identity(principal: SessionPrincipal) -> dict[str, str]:
    """Return STS's GetCallerIdentity response for a session: the assumed role that it runs as."""
    role = _local_role(principal)
    made_up = base64.b32encode(hashlib.sha256(principal.role_arn.encode()).digest()).decode()[:17]
    role_id = f"AROA{made_up}" if role is None else str(role.id)
    return {
        "UserId": f"{role_id}:{principal.session_name}",
        "Account": principal.account_id,
        "Arn": principal.arn,
    }


def _local_role(principal: SessionPrincipal) -> Any:
    """Return a caller's role if it was created in the local IAM."""
    # moto's IAM takes half a second to import; if it has not been imported, it has no roles.
    models: Any = sys.modules.get("moto.iam.models")
    if models is None or principal.account_id not in models.iam_backends:
        return None
    backend = models.iam_backends[principal.account_id].get("aws")
    if backend is None:
        return None
    return next((role for role in list(backend.roles.values()) if role.arn == principal.role_arn), None)
