"""Reading a target's schema: inline text, or an object in the local S3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place
from .tools import TargetError

_LARGEST_BYTES: Final = 10_000_000  # AgentCore developer guide, "Quotas": OpenAPI schema in S3


def schema_text(member: Mapping[str, Any], place: Place) -> str:
    """Return the text of a schema.

    Args:
        member: A member `inlinePayload` or `s3` of a target's configuration.
        place: Region and account of the gateway.

    Raises:
        TargetError: The object in S3 cannot be read.
    """
    if "inlinePayload" in member:
        return str(member["inlinePayload"])
    source: Mapping[str, Any] = member.get("s3") or {}
    where = str(source.get("uri", ""))
    content = object_bytes(where, place, account_id=source.get("bucketOwnerAccountId") or "")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TargetError(f"{where} is not UTF-8") from error


def object_bytes(uri: str, place: Place, *, account_id: str = "", largest: int = _LARGEST_BYTES) -> bytes:
    """Return the content of an object in the local S3.

    Args:
        uri: `s3://BUCKET/KEY`.
        place: Region and account of the reader.
        account_id: The account that owns the bucket, if it is not the reader's.
        largest: The maximum size, in bytes.

    Raises:
        TargetError: The object cannot be read, or is larger.
    """
    from moto.core.exceptions import ServiceException
    from moto.s3.models import s3_backends
    from moto.utilities.utils import get_partition

    bucket, _, key = uri.removeprefix("s3://").partition("/")
    try:
        stored: Any = s3_backends[account_id or place.account_id][get_partition(place.region)].get_object(bucket, key)
    except ServiceException as error:
        raise TargetError(f"{uri} cannot be read: {error}") from error
    if stored is None:
        raise TargetError(f"{uri} does not exist")
    if stored.size > largest:
        raise TargetError(f"{uri} is larger than {largest:,} bytes")
    return bytes(stored.value)
