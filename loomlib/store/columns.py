"""Column types that mean the same on every database."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from sqlalchemy import DateTime, Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

Json: TypeAlias = Any
"""What `json` reads and writes; a column can promise no more."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with NUL shown as ␀ and lone surrogates as � : neither is text to PostgreSQL, nor the latter to UTF-8."""
    if text.isprintable():  # the common case, decided at C speed
        return text
    return _UNSTORABLE.sub(lambda found: "␀" if found.group() == "\x00" else "\ufffd", text)


class AgentText(TypeDecorator[str]):
    """Text that somebody else wrote: whatever it holds can be stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class JsonText(TypeDecorator[Json]):
    """JSON kept as text, which every database has and every `sqlite3` shell shows; lists come back as tuples."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Json, dialect: Dialect) -> str | None:
        # `default=str`: AWS's descriptions hold datetimes, and a description is kept for reading, not for arithmetic.
        return None if value is None else json.dumps(value, default=str, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Json:
        if value is None:
            return None
        found: Json = json.loads(value)
        return tuple(cast("list[Json]", found)) if isinstance(found, list) else found


class CompressedTexts(TypeDecorator[Sequence[str]]):
    """A list of texts as compressed JSON (RFC 1950); it comes back as a tuple. Spans shrink to about a tenth."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, level: int = -1) -> None:
        super().__init__()
        self.level = level

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(json.dumps(list(value)).encode("ascii"), self.level)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Sequence[str] | None:
        return None if value is None else tuple(json.loads(zlib.decompress(value)))


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored and returned in UTC. SQLite has no time zones, so the zone is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a time zone cannot be stored: {value}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
