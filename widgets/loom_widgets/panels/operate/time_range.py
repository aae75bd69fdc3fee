"""The panel's time range, read from the form and written as code."""

# pyright: basic

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from loomlib.errors import LoomError

from ...kit import Form

ALL: Final = "all"
BETWEEN: Final = "between"
RANGES: Final = {
    "15m": ("the last 15 minutes", timedelta(minutes=15), "timedelta(minutes=15)"),
    "1h": ("the last hour", timedelta(hours=1), "timedelta(hours=1)"),
    "24h": ("the last 24 hours", timedelta(hours=24), "timedelta(hours=24)"),
    "7d": ("the last 7 days", timedelta(days=7), "timedelta(days=7)"),
    "30d": ("the last 30 days", timedelta(days=30), "timedelta(days=30)"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A time range: `since` and `until` for the workbench, and the same as arguments (and an import) of Python code."""

    since: datetime | timedelta | None = None
    until: datetime | None = None
    arguments: str = ""
    needs: str = ""


def time_range_of(form: Form) -> TimeRange:
    """Read the form's `range`.

    It is a name of `RANGES`, `ALL` for all time, or a range between two times (ISO 8601 with a zone).
    """
    name = form.text("range", ALL) or ALL
    if name == ALL:
        return TimeRange()
    if name in RANGES:
        _, back, code = RANGES[name]
        return TimeRange(since=back, arguments=f"since={code}", needs="from datetime import timedelta\n")
    if name != BETWEEN:
        raise LoomError("Unknown time range", on=name[:40], try_=", ".join((*RANGES, ALL, BETWEEN)))
    since, until = _moment(form, "since"), _moment(form, "until")
    if since is not None and until is not None and since >= until:
        raise LoomError("The time range is empty", on=f"from {since} until {until}", try_="an end after the start")
    arguments = [
        f"{key}=datetime.fromisoformat({at.isoformat()!r})" for key, at in (("since", since), ("until", until)) if at
    ]
    return TimeRange(
        since=since,
        until=until,
        arguments=", ".join(arguments),
        needs="from datetime import datetime\n" if arguments else "",
    )


def _moment(form: Form, name: str) -> datetime | None:
    text = form.text(name)
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise LoomError("Not a valid time", on=f"{name}: {text[:40]}", try_="2026-11-22T05:00:00+00:00") from None
    if parsed.tzinfo is None:
        raise LoomError("A time needs a time zone", on=f"{name}: {text[:40]}", try_="2026-11-22T05:00:00+00:00")
    return parsed
