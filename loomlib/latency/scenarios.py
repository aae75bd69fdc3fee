"""What a call of a study stands for: cold, warm or sticky."""

from __future__ import annotations

from enum import StrEnum


class Scenario(StrEnum):
    """The three situations in which a session's call is timed.

    `COLD` is the first call of a new session. `WARM` is the first timed call of a session that an untimed call opened
    just before. `STICKY` is any later timed call of one long-lived session, which an untimed call opened too.
    """

    COLD = "cold"
    WARM = "warm"
    STICKY = "sticky"

    @property
    def meaning(self) -> str:
        """One line for a legend or a table's note."""
        return _MEANINGS[self]


_MEANINGS = {
    Scenario.COLD: "the first call of a new session",
    Scenario.WARM: "the first timed call of a session that an untimed call opened",
    Scenario.STICKY: "the later timed calls of one long-lived session, opened by an untimed call",
}
