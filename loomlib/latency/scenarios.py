"""The scenarios of a latency study: cold, warm and sticky calls."""

from __future__ import annotations

from enum import StrEnum


class Scenario(StrEnum):
    """State of the session in which a call is timed.

    Attributes:
        COLD: The first call of a new session.
        WARM: The first timed call of a session that an untimed call opened just before.
        STICKY: Any later timed call of one long-lived session, which an untimed call opened too.
    """

    COLD = "cold"
    WARM = "warm"
    STICKY = "sticky"

    @property
    def meaning(self) -> str:
        """Definition of the scenario, for a legend or a note."""
        return _MEANINGS[self]


_MEANINGS = {
    Scenario.COLD: "the first call of a new session",
    Scenario.WARM: "the first timed call of a session that an untimed call opened",
    Scenario.STICKY: "the later timed calls of one long-lived session, opened by an untimed call",
}
