"""Operations behind the methods of boto3's resources (`boto3.resource`), whose names differ from the operations.

Source: boto3's resource models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OF_TABLES: Final = {
    "get_item": "GetItem",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "query": "Query",
    "scan": "Scan",
    "batch_writer": "BatchWriteItem",
    "load": "DescribeTable",
}

ACTIONS_OF_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    **{f"dynamodb.Table.{method}": (operation,) for method, operation in _OF_TABLES.items()},
    "s3.Bucket.upload_file": ("PutObject",),
    "s3.Bucket.upload_fileobj": ("PutObject",),
    "s3.Bucket.put_object": ("PutObject",),
    "s3.Bucket.download_file": ("GetObject",),
    "s3.Bucket.objects.all": ("ListObjectsV2",),
    "s3.Bucket.objects.filter": ("ListObjectsV2",),
    "s3.Bucket.objects.limit": ("ListObjectsV2",),
    "s3.Object.get": ("GetObject",),
    "s3.Object.load": ("HeadObject",),
    "s3.Object.put": ("PutObject",),
    "s3.Object.delete": ("DeleteObject",),
    "s3.Object.upload_file": ("PutObject",),
    "s3.Object.upload_fileobj": ("PutObject",),
    "s3.Object.download_file": ("GetObject",),
    "s3.Object.download_fileobj": ("GetObject",),
    "sqs.Queue.send_message": ("SendMessage",),
    "sqs.Queue.receive_messages": ("ReceiveMessage",),
    "sns.Topic.publish": ("Publish",),
}
"""`service.Class.method` with the operations that it calls."""

BOUND_PARAMETERS: Final[Mapping[str, str]] = {
    "dynamodb.Table.0": "TableName",
    "s3.Bucket.0": "Bucket",
    "s3.Object.0": "Bucket",
    "s3.Object.1": "Key",
    "sqs.Queue.0": "QueueUrl",
    "sns.Topic.0": "TopicArn",
}
"""`service.Class.position` with the parameter that the class's argument at this position sets."""
