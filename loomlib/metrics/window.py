"""A stretch of time that numbers are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From `since` on (None: from the beginning), before `until` (None: to the end). Aware times."""

    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"{name} needs a time zone: {moment} could be anywhere")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError(f"the time from {self.since} to {self.until} is empty")

    @classmethod
    def of(
        cls,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        now: datetime | None = None,
    ) -> Window:
        """A `timedelta` counts back from now.

        >>> Window.of(timedelta(hours=1))
        """
        at = now or datetime.now(UTC)
        back = [at - each if isinstance(each, timedelta) else each for each in (since, until)]
        return cls(since=back[0], until=back[1])

    def __str__(self) -> str:
        """`since 21 Nov 2026 21:30 UTC`, `all time`."""
        parts = [
            f"{word} {moment.astimezone(UTC):%d %b %Y %H:%M} UTC"
            for word, moment in (("since", self.since), ("until", self.until))
            if moment is not None
        ]
        return " ".join(parts) or "all time"
