"""An alert rule on one metric, decided on the whole confidence interval and never on the point estimate alone.

With 2 failures in 25 invocations the error rate is 8 % with an interval from 2 to 25 %: against a limit of 5 % that is
`unclear` and no alarm. With 20 in 80 the interval is 17 to 36 %, and the rule is in alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Any, Final

from ..errors import StoreError
from ..metrics import NUMBERS, TITLES, limit_text, value_text
from ..presentation.formats import exact
from ..statistics import MISSED, PASSED, Estimate, outcome_at_least, outcome_at_most

OK: Final = "ok"
ALARM: Final = "alarm"
UNCLEAR: Final = "unclear"
NO_DATA: Final = "no data"
ALERT_STATES: Final = (OK, ALARM, UNCLEAR, NO_DATA)

MIN_N: Final = 20
"""Default of `min_n`. With fewer invocations Wilson's lower bound is too high: 1 failure in 3 would be an alarm at 5 %,
and with 3 invocations a night, that happens on about one night in seven to an agent that fails in 5 % of its
invocations."""

LONGEST_WINDOW: Final = timedelta(days=365_000)
"""A window must not begin before the year 1, the first year of a `datetime`."""

_COUNTS: Final = ("invocations", "sessions")
"""Metrics for which no observations mean 0, not unknown."""


@dataclass(frozen=True, slots=True, init=False)
class AlertRule:
    """An alarm when a metric is `above` or `below` a limit over the last `window`.

    Attributes:
        number: The metric, one of `loomlib.metrics.NUMBERS`.
        above: Alarm above this limit.
        below: Alarm below this limit; exactly one of the two is given.
        agent: The agent's name, None for all agents together.
        window: The time over which the metric is computed, at most `LONGEST_WINDOW`.
        min_n: Least number of observations; with fewer nothing is decided.
        name: The alert's name; by default its condition.
        notify: Names of the addresses to notify. Each is a URL in the environment (`LOOM_ALERT_URL_TEAM` for "team") or
            in the settings file's table `[alerts]`, never in the rule.
        remind_every: Interval of reminders while an alarm lasts, None for none.

        AlertRule("error_rate", above=0.05, agent="calculator", window=timedelta(hours=1), min_n=20, notify=["team"])
    """

    number: str
    above: float | None
    below: float | None
    agent: str | None
    window: timedelta
    min_n: int
    name: str
    notify: tuple[str, ...]
    remind_every: timedelta | None

    def __init__(
        self,
        number: str,
        *,
        above: float | None = None,
        below: float | None = None,
        agent: str | None = None,
        window: timedelta = timedelta(hours=24),
        min_n: int = MIN_N,
        name: str = "",
        notify: Sequence[str] = (),
        remind_every: timedelta | None = timedelta(hours=24),
    ) -> None:
        if number not in NUMBERS:
            raise ValueError(f"the metric must be one of {', '.join(NUMBERS)}, not {number!r}")
        limit = below if above is None else above
        if limit is None or (above is not None and below is not None):
            raise ValueError("a rule needs exactly one limit: above=… or below=…")
        if not isfinite(limit) or limit < 0:
            raise ValueError(f"a limit must be a finite number of at least 0, not {limit}")
        if NUMBERS[number] == "share" and limit > 1:
            raise ValueError(f"a share must be between 0 and 1 (write 5 % as 0.05), not {exact(limit)}")
        if window <= timedelta(0) or (remind_every is not None and remind_every <= timedelta(0)):
            raise ValueError("window and remind_every must be longer than zero")
        if window > LONGEST_WINDOW:
            raise ValueError(f"window must be at most {LONGEST_WINDOW.days} days, not {window.days}")
        if min_n < 1:
            raise ValueError(f"min_n must be at least 1, not {min_n}")
        if isinstance(notify, str):
            raise TypeError("notify must be a list of names")
        if wrong := [entry for entry in notify if "://" in entry or not entry.replace("_", "a").isalnum()]:
            # Do not repeat an invalid entry: it may be an address that contains a password.
            raise ValueError(
                f"notify takes names of letters, digits and underscores; {len(wrong)} of these are not such names. "
                "Addresses are secrets: put each into the environment as LOOM_ALERT_URL_<NAME>"
            )
        values = {
            "number": number, "above": above, "below": below, "agent": agent, "window": window, "min_n": min_n,
            "name": "", "notify": tuple(entry.lower() for entry in notify), "remind_every": remind_every,
        }  # fmt: skip
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "name", name or self.claim())

    @property
    def limit(self) -> float:
        """The limit, above or below."""
        limit = self.below if self.above is None else self.above
        assert limit is not None
        return limit

    def claim(self) -> str:
        """Return the rule's condition as text, such as `error rate of calculator above 5 %`."""
        side = "below" if self.above is None else "above"
        return f"{TITLES[self.number]} of {self.agent or 'all agents'} {side} {limit_text(self.number, self.limit)}"

    def judge(self, estimate: Estimate) -> str:
        """Return the rule's state for an estimate of its metric: one of `ALERT_STATES`."""
        if self.number not in _COUNTS:
            if estimate.n == 0:
                return NO_DATA
            if self._is_too_small(estimate) or not estimate.is_known:
                return UNCLEAR
        decide = outcome_at_least if self.above is None else outcome_at_most
        return {PASSED: OK, MISSED: ALARM}.get(decide(estimate, self.limit), UNCLEAR)

    def sentence(self, state: str, estimate: Estimate) -> str:
        """Describe the state with its evidence.

        Args:
            state: One of `ALERT_STATES`.
            estimate: The metric's value.
        """
        side = "below" if self.above is None else "above"
        number = f"{TITLES[self.number]} of {self.agent or 'all agents'}"
        limit, value = limit_text(self.number, self.limit), value_text(self.number, estimate)
        if state == NO_DATA:
            return f"{number}: no data in this period."
        value = value if estimate.is_known else f"unknown: {value}"
        evidence = f"{number} is {value}, n = {estimate.n}, limit {limit}"
        if state == ALARM:
            return f"{evidence}: the whole interval is {side} the limit."
        if state == OK:
            return f"{evidence}: within the limit."
        if self._is_too_small(estimate):
            return f"{evidence}: not decided, fewer than {self.min_n} observations."
        if not estimate.is_known:
            return f"{evidence}: not decided, there is no interval."
        if estimate.confidence == 1:
            return f"{evidence}: not decided, a part is unknown."
        return f"{evidence}: not decided, the interval includes the limit."

    def _is_too_small(self, estimate: Estimate) -> bool:
        return estimate.n < self.min_n and estimate.confidence < 1  # counts and sums are exact with any n

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON values; durations are in seconds."""
        return {
            "number": self.number,
            "above": self.above,
            "below": self.below,
            "agent": self.agent,
            "window_s": self.window.total_seconds(),
            "min_n": self.min_n,
            "name": self.name,
            "notify": list(self.notify),
            "remind_every_s": None if self.remind_every is None else self.remind_every.total_seconds(),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> AlertRule:
        """Read a rule written by `to_dict()`.

        Raises:
            StoreError: This release cannot read the rule.
        """
        try:
            remind = stored["remind_every_s"]
            return cls(
                stored["number"],
                above=stored["above"],
                below=stored["below"],
                agent=stored["agent"],
                window=timedelta(seconds=stored["window_s"]),
                min_n=stored["min_n"],
                name=stored["name"],
                notify=stored["notify"],
                remind_every=None if remind is None else timedelta(seconds=remind),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                f"The stored rule cannot be read ({type(error).__name__}: {error})",
                on=str(stored.get("name") or "an alert"),
                try_="use the release of Loom that wrote it, or remove the alert and add it again",
            ) from error
