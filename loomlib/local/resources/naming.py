"""Ids and partitions in AWS's form."""

from __future__ import annotations

import secrets
import string

_ALPHANUMERIC = string.ascii_letters + string.digits


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
