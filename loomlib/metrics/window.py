"""A time window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from loomlib.presentation.formats import date_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time from `since` (None: the beginning) up to but excluding `until` (None: the end), with time zones."""

    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"{name} needs a time zone: {moment}")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError(f"since must be before until: {self.since} to {self.until}")

    @classmethod
    def of(
        cls,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        now: datetime | None = None,
    ) -> Window:
        """Return a window from times or durations.

        Args:
            since: The start; a `timedelta` counts back from now.
            until: The end; a `timedelta` counts back from now.
            now: The current time, for tests.

        Raises:
            ValueError: A duration reaches back before the year 1.

        Examples:
            >>> Window.of(timedelta(hours=1))
        """
        at = now or datetime.now(UTC)
        try:
            bounds = [at - bound if isinstance(bound, timedelta) else bound for bound in (since, until)]
        except OverflowError as error:
            durations = " and ".join(f"{bound.days} days" for bound in (since, until) if isinstance(bound, timedelta))
            raise ValueError(f"a window must not begin or end before the year 1: {durations} before {at}") from error
        return cls(since=bounds[0], until=bounds[1])

    def __str__(self) -> str:
        """Return text such as `since 21 Nov 2026 21:30 UTC` or `all time`."""
        parts = [
            f"{word} {date_time(moment.astimezone(UTC))}"
            for word, moment in (("since", self.since), ("until", self.until))
            if moment is not None
        ]
        return " ".join(parts) or "all time"
