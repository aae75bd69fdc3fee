"""Tags of AgentCore's resources and of buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlib.errors import AwsError

from .connection import Clients
from .errors import translated


def read_tags(clients: Clients, arn: str, *, region: str | None = None) -> dict[str, str]:
    """Return the tags of a runtime, an endpoint or another resource of AgentCore."""
    with translated("Reading the tags", on=arn):
        answer: dict[str, Any] = clients.control(region).list_tags_for_resource(resourceArn=arn)
    tags: Mapping[str, Any] = answer.get("tags") or {}
    return {name: str(value) for name, value in tags.items()}


def write_tags(clients: Clients, arn: str, tags: Mapping[str, str], *, region: str | None = None) -> None:
    """Add tags to a resource of AgentCore, or change them."""
    with translated("Tagging", on=arn):
        clients.control(region).tag_resource(resourceArn=arn, tags=dict(tags))


def remove_tags(clients: Clients, arn: str, names: list[str], *, region: str | None = None) -> None:
    """Remove tags from an AgentCore resource."""
    with translated("Removing tags", on=arn):
        clients.control(region).untag_resource(resourceArn=arn, tagKeys=names)


def read_bucket_tags(clients: Clients, bucket: str) -> dict[str, str]:
    """Return the tags of a bucket of this account."""
    try:
        with translated("Reading the tags", on=bucket):
            answer: dict[str, Any] = clients.s3().get_bucket_tagging(
                Bucket=bucket, ExpectedBucketOwner=clients.account_id()
            )
    except AwsError as error:
        if error.code in ("NoSuchTagSet", "NoSuchBucket"):
            return {}
        raise
    return {str(tag["Key"]): str(tag["Value"]) for tag in answer.get("TagSet") or ()}


def write_bucket_tags(clients: Clients, bucket: str, tags: Mapping[str, str]) -> None:
    """Replace the tags of a bucket of this account."""
    with translated("Tagging", on=bucket):
        clients.s3().put_bucket_tagging(
            Bucket=bucket,
            Tagging={"TagSet": [{"Key": key, "Value": value} for key, value in tags.items()]},
            ExpectedBucketOwner=clients.account_id(),
        )
