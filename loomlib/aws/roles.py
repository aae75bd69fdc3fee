"""IAM roles with one inline policy: read, create, change and delete them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import unquote

from loomlib.errors import ResourceNotFoundError

from .connection import Clients
from .errors import translated

POLICY_NAME: Final = "loom"
"""The name of the inline policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDescription:
    """A role.

    Attributes:
        name: Its name.
        arn: Its ARN.
        trust: Its trust policy.
        policy: Its inline policy named `POLICY_NAME`; empty if it has none.
        tags: Its tags.
    """

    name: str
    arn: str
    trust: Mapping[str, Any] = field(default_factory=dict[str, Any])
    policy: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


def describe_role(clients: Clients, name: str) -> RoleDescription | None:
    """Return a role; None if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        name: The role's name.
    """
    iam = clients.client("iam")
    try:
        with translated("Reading the role", on=name):
            shape: Mapping[str, Any] = iam.get_role(RoleName=name)["Role"]
    except ResourceNotFoundError:
        return None
    try:
        with translated("Reading the role's policy", on=name):
            policy: object = iam.get_role_policy(RoleName=name, PolicyName=POLICY_NAME)["PolicyDocument"]
    except ResourceNotFoundError:
        policy = {}
    return RoleDescription(
        name=name,
        arn=str(shape["Arn"]),
        trust=_document(shape.get("AssumeRolePolicyDocument")),
        policy=_document(policy),
        tags={str(tag["Key"]): str(tag["Value"]) for tag in shape.get("Tags") or ()},
    )


def create_role(
    clients: Clients, name: str, *, trust: Mapping[str, Any], description: str = "", tags: Mapping[str, str]
) -> str:
    """Create a role without permissions and return its ARN.

    Args:
        clients: The AWS clients of a connection.
        name: The role's name.
        trust: Its trust policy.
        description: Its description.
        tags: Its tags.

    Raises:
        ConflictError: The account already has a role with that name.
        AwsError: IAM rejects it.
    """
    request: dict[str, Any] = {"RoleName": name, "AssumeRolePolicyDocument": json.dumps(trust)}
    if description:
        request["Description"] = description
    if tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    with translated("Creating the role", on=name):
        return str(clients.client("iam").create_role(**request)["Role"]["Arn"])


def put_role_trust(clients: Clients, name: str, trust: Mapping[str, Any]) -> None:
    """Replace a role's trust policy."""
    with translated("Changing the role's trust policy", on=name):
        clients.client("iam").update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))


def put_role_policy(clients: Clients, name: str, policy: Mapping[str, Any]) -> None:
    """Replace a role's inline policy; an empty one deletes it.

    Args:
        clients: The AWS clients of a connection.
        name: The role's name.
        policy: The policy.
    """
    iam = clients.client("iam")
    if policy:
        with translated("Writing the role's policy", on=name):
            iam.put_role_policy(RoleName=name, PolicyName=POLICY_NAME, PolicyDocument=json.dumps(policy))
        return
    try:
        with translated("Deleting the role's policy", on=name):
            iam.delete_role_policy(RoleName=name, PolicyName=POLICY_NAME)
    except ResourceNotFoundError:
        return


def tag_role(clients: Clients, name: str, tags: Mapping[str, str]) -> None:
    """Add tags to a role, or change them."""
    with translated("Tagging the role", on=name):
        clients.client("iam").tag_role(
            RoleName=name, Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
        )


def delete_role(clients: Clients, name: str) -> None:
    """Delete a role with its inline policies; no error if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        name: The role's name.

    Raises:
        ConflictError: Something else still uses it, such as a policy that is attached to it.
    """
    iam = clients.client("iam")
    try:
        with translated("Deleting the role", on=name):
            for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
                iam.delete_role_policy(RoleName=name, PolicyName=policy)
            iam.delete_role(RoleName=name)
    except ResourceNotFoundError:
        return


def _document(value: object) -> dict[str, Any]:
    """Return a policy document, whether or not boto3 has parsed it."""
    parsed = json.loads(unquote(value)) if isinstance(value, str) else value
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
