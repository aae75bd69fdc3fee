"""One question of a study and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .arms import Arm
from .life import IDLE, Probe
from .scoring import Score

PLANNED, RUNNING, DONE, FAILED = "planned", "running", "done", "failed"
OWED: Final = (PLANNED, RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, as it is stored now. Durations are milliseconds.

    `extracted` says whether any record of the actor held the answer when it was asked (None: not looked). `shown` are
    the first records, or the agent's answer: strangers' text.
    """

    position: int
    arm: Arm
    probe: Probe
    state: str
    duration_ms: float | None = None
    failure: str | None = None
    error_message: str | None = None
    score: Score | None = None
    extracted: bool | None = None
    searches: int = 0
    model_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    shown: tuple[str, ...] = ()
    invocation_id: int | None = None
    session_id: str | None = None

    @property
    def is_done(self) -> bool:
        """Answered, rightly or not."""
        return self.state == DONE

    @property
    def is_failed(self) -> bool:
        """It came to no answer."""
        return self.state not in (DONE, *OWED)

    @property
    def is_owed(self) -> bool:
        """Still to be asked."""
        return self.state in OWED

    @property
    def needs_memory(self) -> bool:
        """Whether it asks for something told."""
        return self.probe.kind != IDLE

    @property
    def case(self) -> str:
        """The fact of one life: what is asked again at another session is no new case."""
        return f"{self.probe.life}/{self.probe.fact or self.probe.index}"

    @property
    def verdict(self) -> str:
        """What came of it in a word: recalled, recalled beside a former value, stale, missed, nothing (rightly) …"""
        if self.score is None:
            return self.failure or "failed" if self.is_failed else self.state
        if not self.needs_memory:
            return "no memory needed"
        if not self.probe.expected:
            return "stale" if self.score.is_stale else "rightly nothing"
        if self.score.is_recalled:
            return "recalled beside a former value" if self.score.is_stale else "recalled"
        return "stale" if self.score.is_stale else "missed"
