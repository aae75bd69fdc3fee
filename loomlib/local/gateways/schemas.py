"""The text of a target's schema: inline, or an object in the local S3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place
from .tools import TargetError

_LARGEST_BYTES: Final = 10_000_000  # AgentCore developer guide, "Quotas": OpenAPI schema in S3


def schema_text(given: Mapping[str, Any], place: Place) -> str:
    """Return the text of a schema.

    Args:
        given: A member `inlinePayload` or `s3` of a target's configuration.
        place: Region and account of the gateway.

    Raises:
        TargetError: The object in S3 cannot be read.
    """
    if "inlinePayload" in given:
        return str(given["inlinePayload"])
    from moto.core.exceptions import ServiceException
    from moto.s3.models import s3_backends
    from moto.utilities.utils import get_partition

    source: Mapping[str, Any] = given.get("s3") or {}
    where = str(source.get("uri", ""))
    bucket, _, key = where.removeprefix("s3://").partition("/")
    account: str = source.get("bucketOwnerAccountId") or place.account_id
    try:
        stored: Any = s3_backends[account][get_partition(place.region)].get_object(bucket, key)
    except ServiceException as error:
        raise TargetError(f"{where} cannot be read: {error}") from error
    if stored is None:
        raise TargetError(f"{where} does not exist")
    if stored.size > _LARGEST_BYTES:
        raise TargetError(f"{where} is larger than {_LARGEST_BYTES:,} bytes")
    content: bytes = stored.value
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TargetError(f"{where} is not UTF-8") from error
