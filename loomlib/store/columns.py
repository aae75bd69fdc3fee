"""Column types that behave the same on every database."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from sqlalchemy import Column, DateTime, Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

Json: TypeAlias = Any
"""Any value that `json` reads and writes."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace NUL by ␀ and lone surrogates by �: PostgreSQL stores neither, and UTF-8 cannot encode the latter."""
    if text.isprintable():  # the common case, fast
        return text
    return _UNSTORABLE.sub(lambda match: "␀" if match.group() == "\x00" else "\ufffd", text)


class AgentText(TypeDecorator[str]):
    """Untrusted text: any content can be stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text as the database can store it."""
        return None if value is None else storable(value)


class JsonText(TypeDecorator[Json]):
    """JSON stored as text; lists are read as tuples."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Json, dialect: Dialect) -> str | None:
        # `default=str`: AWS's descriptions contain datetimes, and a stored description is only displayed.
        """Serialize the value."""
        return None if value is None else json.dumps(value, default=str, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Json:
        """Parse the stored text; a list becomes a tuple."""
        if value is None:
            return None
        content: Json = json.loads(value)
        return tuple(cast("list[Json]", content)) if isinstance(content, list) else content


class CompressedTexts(TypeDecorator[Sequence[str]]):
    """A list of texts as compressed JSON (zlib, RFC 1950), read as a tuple. Spans shrink to about a tenth."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, level: int = -1) -> None:
        super().__init__()
        self.level = level

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> bytes | None:
        """Compress the texts."""
        return None if value is None else zlib.compress(json.dumps(list(value)).encode("ascii"), self.level)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Sequence[str] | None:
        """Decompress the texts."""
        return None if value is None else tuple(json.loads(zlib.decompress(value)))


class UtcDateTime(TypeDecorator[datetime]):
    """A timezone-aware time, stored and returned in UTC. SQLite has no time zones: reading adds the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert the time to UTC.

        Raises:
            ValueError: The time has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a time zone cannot be stored: {value}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def tenant_column() -> Column[str]:
    """Return the column that names the tenant whose row it is (`tenancy`)."""
    return Column("tenant", Text, nullable=False)


def user_column() -> Column[str]:
    """Return the column that names the user who wrote the row; NULL if unknown."""
    return Column("user_id", Text)
