"""Timestamps as Unix nanoseconds, from every form in spans; integers only, since floats lose 100 ns."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite

MAX_NS = 1 << 63
"""Upper bound of a timestamp: OTLP has 64 bits, of which SQLite and others need one for the sign."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"\.(\d{6})(\d{1,3})\d*")


def unix_ns(value: object) -> int | None:
    """Return nanoseconds since 1970, or None for an absent, zero, negative or infinite time, or one past the year 2262.

    Integers and digits are nanoseconds; other text is ISO 8601 (UTC without an offset), exact to the nanosecond.
    """
    if type(value) is int:
        return value if 0 < value < MAX_NS else None
    if type(value) is str:
        if value.isdigit() and value.isascii():
            moment = int(value) if len(value) < 20 else 0
            return moment if 0 < moment < MAX_NS else None
        return _from_iso(value)
    if type(value) is float:
        return unix_ns(int(value)) if isfinite(value) else None
    if isinstance(value, datetime):
        return _from_datetime(value)
    return None


def _from_iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds_ns = _from_datetime(moment)
    fraction = _FRACTION.search(text)
    return seconds_ns if fraction is None or seconds_ns is None else seconds_ns + int(fraction[2].ljust(3, "0"))


def _from_datetime(moment: datetime) -> int | None:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        since = aware - _EPOCH
    except OverflowError:
        return None
    return unix_ns((since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000)
