"""S3 buckets and objects of deployments: only those of this account, never another account's with the same name."""

from __future__ import annotations

from loomlib.errors import AwsError, ResourceNotFoundError

from .connection import Clients
from .errors import translated


def has_bucket(clients: Clients, bucket: str) -> bool:
    """Return whether this account has the bucket (HeadBucket).

    Raises:
        AccessDeniedError: Another account has it.
    """
    try:
        with translated("Looking for the bucket", on=bucket):
            clients.s3().head_bucket(Bucket=bucket, ExpectedBucketOwner=clients.account_id())
    except ResourceNotFoundError:
        return False
    return True


def has_object(clients: Clients, bucket: str, key: str) -> bool:
    """Return whether the bucket has the object (HeadObject)."""
    try:
        with translated("Looking for the object", on=f"s3://{bucket}/{key}"):
            clients.s3().head_object(Bucket=bucket, Key=key, ExpectedBucketOwner=clients.account_id())
    except ResourceNotFoundError:
        return False
    return True


def delete_object(clients: Clients, bucket: str, key: str) -> None:
    """Delete an object; no error if the object or its bucket does not exist."""
    try:
        with translated("Deleting the object", on=f"s3://{bucket}/{key}"):
            clients.s3().delete_object(Bucket=bucket, Key=key, ExpectedBucketOwner=clients.account_id())
    except ResourceNotFoundError:
        return


def delete_empty_bucket(clients: Clients, bucket: str) -> bool:
    """Delete a bucket if it is empty; return whether it is gone."""
    try:
        with translated("Deleting the bucket", on=bucket):
            clients.s3().delete_bucket(Bucket=bucket, ExpectedBucketOwner=clients.account_id())
    except ResourceNotFoundError:
        return True
    except AwsError as error:
        if error.code == "BucketNotEmpty":
            return False
        raise
    return True
