"""Moments as Unix nanoseconds, from each form in which spans carry them. Integers all the way: floats lose 100 ns."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite

LAST_NS = 1 << 63
"""No moment is this late: OTLP has 64 bits, of which SQLite and others keep one for the sign."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINE = re.compile(r"\.(\d{6})(\d{1,3})\d*")


def unix_ns(value: object) -> int | None:
    """Nanoseconds since 1970, or None for what is no moment: absent, zero, negative, not finite, past the year 2262.

    Integers and digits are nanoseconds; other text is ISO 8601 (without a zone: UTC), up to nanoseconds exactly.
    """
    if type(value) is int:
        return value if 0 < value < LAST_NS else None
    if type(value) is str:
        if value.isdigit() and value.isascii():
            moment = int(value) if len(value) < 20 else 0
            return moment if 0 < moment < LAST_NS else None
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
    whole = _from_datetime(moment)
    fine = _FINE.search(text)
    return whole if fine is None or whole is None else whole + int(fine[2].ljust(3, "0"))


def _from_datetime(moment: datetime) -> int | None:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        since = aware - _EPOCH
    except OverflowError:
        return None
    return unix_ns((since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000)
