"""Ids and partitions in AWS's form."""

from __future__ import annotations

import secrets
import string
from typing import NamedTuple

_ALPHANUMERIC = string.ascii_letters + string.digits


class Place(NamedTuple):
    """The location of a resource, or the scope of a caller: a region of an account."""

    region: str
    account_id: str


def place_of(arn: str) -> Place:
    """Return the place that an ARN names."""
    parts = arn.split(":")
    return Place(parts[3], parts[4]) if len(parts) > 5 else Place("", "")


def new_id(name: str) -> str:
    """Return an id in AgentCore's form: the name, a hyphen, ten random letters or digits."""
    return f"{name}-{new_suffix()}"


def new_suffix() -> str:
    """Return ten random letters or digits."""
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(10))


def partition_of(region: str) -> str:
    """Return the AWS partition of a region: `aws`, `aws-cn` or `aws-us-gov`."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
