"""Resource-based policies of runtimes, endpoints, gateways and memories: storage, retrieval and evaluation.

Source: AgentCore developer guide, "Resource-based policies". A call of a runtime is decided by the policies of the
runtime and of its endpoint. A deny in either refuses it. A signed caller whose role does not allow the call needs an
allow in both. A caller with a token has no role: where a policy is attached, it has to allow the principal `*`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from ..resources import ResourceRecord
from ..resources.naming import Place
from ..resources.store import ResourceStore
from ..tenancy import sees_resource
from ..wire import invalid, not_found
from .conditions import holds, unknown_operators
from .errors import refusal
from .keys import SessionPrincipal
from .permissions import identity_decision, require
from .policies import PolicyStatement, names_action, read_statements, texts

KIND: Final = "ResourcePolicy"
POLICY_OPERATIONS: Final = frozenset({"PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy"})
_SERVICE: Final = "bedrock-agentcore"
_KINDS: Final = ("AgentRuntime", "AgentRuntimeEndpoint", "Gateway", "Memory")
_VERSIONS: Final = ("2012-10-17", "2008-10-17")


@dataclass(frozen=True, slots=True)
class PolicyCaller:
    """A caller as the principals of a policy name it.

    Attributes:
        account_id: The account; empty for a caller with a token.
        arns: The ARNs that name it.
        name: Its name in AWS's errors.
    """

    account_id: str = ""
    arns: tuple[str, ...] = ()
    name: str = "anonymous"

    @classmethod
    def of(cls, principal: SessionPrincipal | None, account_id: str) -> PolicyCaller:
        """Return a signed caller: a session or an assumed role, or the account's owner."""
        if principal is None:
            root = f"arn:aws:iam::{account_id}:root"
            return cls(account_id, (root,), root)
        return cls(principal.account_id, (principal.role_arn, principal.arn), principal.arn)

    @property
    def context(self) -> dict[str, str]:
        """Its condition keys, and those of every request on this machine."""
        # AWS's endpoints require TLS; loopback counts as equivalent.
        keys = {"aws:sourceip": "127.0.0.1", "aws:securetransport": "true", "aws:viaawsservice": "false"}
        if self.account_id:
            keys |= {"aws:principalarn": self.arns[0], "aws:principalaccount": self.account_id}
        return keys


class ResourcePolicies:
    """The policies of one home folder; its public coroutines are the control plane's operations.

    Args:
        store: The resources; a policy is stored with its resource and deleted with it.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def put_resource_policy(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any]:
        """PutResourcePolicy."""
        resource, policy = self._resource(parameters, place), str(parameters["policy"])
        _check(policy, resource.arn)
        former, now = self._stored(resource.arn), datetime.now(UTC)
        self._store.put(
            [
                ResourceRecord(
                    kind=KIND,
                    region=resource.region,
                    parent=resource.arn,
                    id=resource.arn,
                    name=resource.arn,
                    arn=f"{resource.arn}/resource-policy",
                    document={"policy": policy},
                    created_at=former.created_at if former else now,
                    updated_at=now,
                    number=former.number if former else 0,
                )
            ]
        )
        return {"policy": policy}

    async def get_resource_policy(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any]:
        """GetResourcePolicy; the response has no policy if none is attached."""
        stored = self._stored(self._resource(parameters, place).arn)
        return {"policy": stored.document["policy"]} if stored else {}

    async def delete_resource_policy(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any]:
        """DeleteResourcePolicy."""
        resource = self._resource(parameters, place)
        stored = self._stored(resource.arn)
        if stored is None:
            raise not_found(f"No resource policy is attached to {resource.arn}")
        self._store.remove(stored)
        return {}

    def has(self, arn: str) -> bool:
        """Return whether a policy is attached to a resource."""
        return self._stored(arn) is not None

    def require(
        self,
        principal: SessionPrincipal | None,
        action: str,
        arns: Sequence[str],
        account_id: str,
        service: str,
        *,
        below: Sequence[str] = (),
    ) -> None:
        """Refuse an action that neither a signed caller's role nor these resources' policies allow.

        Args:
            principal: The session that calls; None for the owner.
            action: IAM's name of the action.
            arns: The resources that it touches, each of which may have a policy.
            account_id: The owner's account.
            service: The service that the request is signed for.
            below: Resources whose resource-based policies are also evaluated, but not the role's policies for them.

        Raises:
            RefusedError: The action is not allowed, or a policy denies it.
        """
        caller = PolicyCaller.of(principal, account_id)
        decided = {arn: self._decide(caller, action, arn) for arn in (*arns, *below)}
        if denying := next((arn for arn, decision in decided.items() if decision is False), None):
            raise _denied(caller, action, denying, "of an explicit deny in a resource-based policy")
        granted = all(decided.values()) and identity_decision(principal, action, arns) is None
        if not granted:
            require(principal, action, arns, service)

    def require_for_token(self, action: str, arns: Sequence[str]) -> None:
        """Refuse a call with a bearer token that these resources' policies deny or do not allow.

        Raises:
            RefusedError: A policy denies it, or does not allow it.
        """
        caller = PolicyCaller()
        for arn in arns:
            decided = self._decide(caller, action, arn)
            if decided is False:
                raise _denied(caller, action, arn, "of an explicit deny in a resource-based policy")
            if decided is None and self.has(arn):
                raise _denied(caller, action, arn, f"no resource-based policy allows the {action} action")

    def _decide(self, caller: PolicyCaller, action: str, arn: str) -> bool | None:
        stored = self._stored(arn)
        allowed: bool | None = None
        for statement in read_statements(stored.document["policy"]) if stored else ():
            allows = statement["Effect"] == "Allow"
            if not names_action(statement, action) or not _names(statement["Principal"], caller, allows=allows):
                continue
            if holds(statement.get("Condition") or {}, caller.context):
                if not allows:
                    return False
                allowed = True
        return allowed

    def _resource(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord:
        arn = str(parameters["resourceArn"])
        record = self._store.of_arn(arn)
        if record is None or record.kind == KIND or record.place != place or not sees_resource(record.tenant):
            raise not_found(f"Resource not found: {arn}")
        if record.kind not in _KINDS:
            raise invalid(f"Resource policies are for {', '.join(_KINDS)}; {arn} is a {record.kind}")
        return record

    def _stored(self, arn: str) -> ResourceRecord | None:
        return self._store.of_arn(f"{arn}/resource-policy")


def _names(principal: object, caller: PolicyCaller, *, allows: bool) -> bool:
    """Return whether a principal matches a caller; an account matches its root user (Allow) or all users (Deny)."""
    principals = (
        texts(cast("Mapping[str, Any]", principal).get("AWS")) if isinstance(principal, Mapping) else [principal]
    )
    if "*" in principals:
        return True
    account = {caller.account_id, f"arn:aws:iam::{caller.account_id}:root"} if caller.account_id else set[str]()
    return any(name in caller.arns or (name in account and (not allows or name in caller.arns)) for name in principals)


def _check(policy: str, arn: str) -> None:
    """Refuse a document that AWS refuses, or that cannot be evaluated here."""
    try:
        document: object = json.loads(policy)
    except ValueError as error:
        raise invalid(f"The policy is not JSON: {error}") from error
    if not isinstance(document, dict) or cast("dict[str, Any]", document).get("Version") not in _VERSIONS:
        raise invalid(f'The policy must be an object with "Version": "{_VERSIONS[0]}"')
    statements = read_statements(policy)
    if not statements or len(statements) != len(_listed(cast("dict[str, Any]", document).get("Statement"))):
        raise invalid("The policy must have a Statement: an object or a list of objects")
    for number, statement in enumerate(statements, 1):
        if reason := _reason(statement, arn):
            raise invalid(f"Statement {number} of the policy {reason}")


def _reason(statement: PolicyStatement, arn: str) -> str:
    """Return why a statement is refused; empty if it is not."""
    unknown = set(statement) - {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}
    principal, condition = statement.get("Principal"), statement.get("Condition", {})
    actions = texts(statement.get("Action"))
    if unknown:
        return f"has {', '.join(sorted(unknown))}, which resource policies do not support"
    if statement.get("Effect") not in ("Allow", "Deny"):
        return "must have the Effect Allow or Deny"
    if principal != "*" and not (isinstance(principal, dict) and principal):
        return 'must have a Principal: "*" or an object such as {"AWS": "arn:aws:iam::123456789012:role/name"}'
    if not actions or not all(name == "*" or name.lower().startswith(f"{_SERVICE}:") for name in actions):
        return f"must have Actions of {_SERVICE}"
    if texts(statement.get("Resource")) != [arn]:
        return f"must contain exactly one resource ARN that matches {arn}"
    if not isinstance(condition, dict) or not all(isinstance(pairs, dict) for pairs in condition.values()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return "has a Condition that is not an object of objects"
    if operators := unknown_operators(cast("dict[str, Any]", condition)):
        return f"has the condition operator {operators[0]}, which the local AgentCore does not evaluate"
    return ""


def _denied(caller: PolicyCaller, action: str, arn: str, why: str) -> Exception:
    who = f"User: {caller.name} is not authorized to perform: {action} on resource: {arn}"
    return refusal("denied", _SERVICE, f"{who} because {why}")


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]
