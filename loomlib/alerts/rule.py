"""A rule on one number of operations, and how it is decided: on the whole interval, never on the point alone.

With 2 failures in 25 calls the error rate is 8 %, and its interval reaches from 2 to 25 %: against a limit of 5 % that
is `unclear`, no alarm. With 20 in 80 it reaches from 17 to 36 %, and the rule is in alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Any, Final

from ..errors import StoreError
from ..metrics import NUMBERS, TITLES, said, said_limit
from ..statistics import MISSED, PASSED, Estimate, outcome_at_least, outcome_at_most

OK: Final = "ok"
ALARM: Final = "alarm"
UNCLEAR: Final = "unclear"
NO_DATA: Final = "no data"
ALERT_STATES: Final = (OK, ALARM, UNCLEAR, NO_DATA)

MIN_N: Final = 20
"""Unless a rule says otherwise: of fewer calls, Wilson's interval is too short at its lower end (1 failure in 3 calls
would be an alarm at 5 %, and happens in every seventh night of an agent that fails in 5 % of its calls)."""

_COUNTS: Final = ("invocations", "sessions")
"""Of these nothing is a number too."""


@dataclass(frozen=True, slots=True, init=False)
class AlertRule:
    """An alarm when `number` (of `loomlib.metrics.NUMBERS`) is `above` or `below` a limit over the last `window`.

    Of the agent named `agent`, or of all together. Below `min_n` observations nothing is decided. `notify` names the
    addresses to tell: each is a URL in the environment (`LOOM_ALERT_URL_TEAM` for "team") or in the settings file's
    table `[alerts]`, never in the rule. An alarm that lasts is told again every `remind_every` (None: never).

        Rule("error_rate", above=0.05, agent="calculator", window=timedelta(hours=1), min_n=20, notify=["team"])
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
            raise ValueError(f"a rule is on one of {', '.join(NUMBERS)}, not on {number!r}")
        limit = below if above is None else above
        if limit is None or (above is not None and below is not None):
            raise ValueError("a rule has one limit: above=… or below=…")
        if not isfinite(limit) or limit < 0:
            raise ValueError(f"a limit is a number from 0 on, not {limit}")
        if NUMBERS[number] == "share" and limit > 1:
            raise ValueError(f"a share lies between 0 and 1: write 5 % as 0.05, not {limit:g}")
        if window <= timedelta(0) or (remind_every is not None and remind_every <= timedelta(0)):
            raise ValueError("a window and a time between reminders are longer than nothing")
        if min_n < 1:
            raise ValueError(f"min_n is 1 or more, not {min_n}")
        if isinstance(notify, str):
            raise TypeError("notify takes a list of names")
        if wrong := [each for each in notify if "://" in each or not each.replace("_", "a").isalnum()]:
            # The wrong one may be an address with a password in it: it is not repeated.
            raise ValueError(
                f"notify takes names of letters, digits and underscores; {len(wrong)} of these are none. "
                "Addresses are secrets: put each into the environment as LOOM_ALERT_URL_<NAME>"
            )
        values = {
            "number": number, "above": above, "below": below, "agent": agent, "window": window, "min_n": min_n,
            "name": "", "notify": tuple(each.lower() for each in notify), "remind_every": remind_every,
        }  # fmt: skip
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "name", name or self.claim())

    @property
    def limit(self) -> float:
        """The limit, whichever it is."""
        found = self.below if self.above is None else self.above
        assert found is not None
        return found

    def claim(self) -> str:
        """What the rule is about: `error rate of calculator above 5 %`."""
        side = "below" if self.above is None else "above"
        return f"{TITLES[self.number]} of {self.agent or 'all agents'} {side} {said_limit(self.number, self.limit)}"

    def judge(self, estimate: Estimate) -> str:
        """How the rule stands by a number: one of `ALERT_STATES`."""
        if self.number not in _COUNTS:
            if estimate.n == 0:
                return NO_DATA
            if self._is_too_small(estimate) or not estimate.is_known:
                return UNCLEAR
        decide = outcome_at_least if self.above is None else outcome_at_most
        return {PASSED: OK, MISSED: ALARM}.get(decide(estimate, self.limit), UNCLEAR)

    def sentence(self, state: str, estimate: Estimate) -> str:
        """How it stands, with the number behind it."""
        side = "below" if self.above is None else "above"
        number = f"{TITLES[self.number]} of {self.agent or 'all agents'}"
        limit, value = said_limit(self.number, self.limit), said(self.number, estimate)
        if state == NO_DATA:
            return f"{number}: nothing to judge in this time."
        told = f"{number} is {value}, n = {estimate.n}, limit {limit}"
        if state == ALARM:
            return f"{told}: {side} the limit beyond doubt."
        if state == OK:
            return f"{told}: within the limit."
        if self._is_too_small(estimate):
            return f"{told}: fewer than the {self.min_n} wanted, not decided."
        return f"{told}: too few to tell, not decided."

    def _is_too_small(self, estimate: Estimate) -> bool:
        return estimate.n < self.min_n and estimate.confidence < 1  # a sum is what it is, however few it adds up

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain values, ready for JSON; times in seconds."""
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
        """The rule that `to_dict()` wrote down. `StoreError` where it is none that this release knows."""
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
                try_="the release of Loom that wrote it, or remove the alert and add it again",
            ) from error
