"""The design of an A/B test: two versions, their shares of the sessions, and how many sessions it needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..presentation.formats import exact
from ..statistics.percentiles import SMALLEST_N

CONTROL = "control"
TREATMENT = "treatment"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbArm:
    """One of the two versions.

    Attributes:
        name: "control" or "treatment".
        version: The version that it serves.
        endpoint: The endpoint that serves it.
        share: Its share of the sessions.
    """

    name: str
    version: str
    endpoint: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AbDesign:
    """Who gets which version, and when the test is over.

    Attributes:
        id: The test's id, which decides the sessions' arms together with their ids.
        endpoint: The endpoint behind which it runs.
        arms: Control and treatment.
        sessions: Number of sessions after which it is evaluated.
    """

    id: str
    endpoint: str
    arms: tuple[AbArm, AbArm]
    sessions: int

    def __post_init__(self) -> None:
        if [arm.name for arm in self.arms] != [CONTROL, TREATMENT]:
            raise ValueError("the arms of an A/B test are its control and its treatment")
        if self.arms[0].version == self.arms[1].version:
            raise ValueError(f"both arms serve version {self.arms[0].version}: an A/B test compares two versions")
        check_shares([arm.share for arm in self.arms])
        if self.sessions < 2 * SMALLEST_N:
            raise ValueError(f"plan {2 * SMALLEST_N} sessions at least: fewer give no estimate")

    @property
    def control(self) -> AbArm:
        """The version that the endpoint served before."""
        return self.arms[0]

    @property
    def treatment(self) -> AbArm:
        """The version that is tried."""
        return self.arms[1]

    def arm_of(self, session_id: str) -> AbArm:
        """Return the arm of a session: always the same one, on every machine.

        The first 8 bytes of SHA-256 of "TEST:SESSION" as a share of 2⁶⁴: below the control's share it is the control.
        """
        digest = hashlib.sha256(f"{self.id}:{session_id}".encode()).digest()
        return self.arms[0] if int.from_bytes(digest[:8], "big") / 2**64 < self.arms[0].share else self.arms[1]

    def arm(self, name: str) -> AbArm:
        """Return the arm of that name."""
        return self.arms[0] if name == CONTROL else self.arms[1]

    def summary(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        arms = [{name: getattr(arm, name) for name in AbArm.__dataclass_fields__} for arm in self.arms]
        return {"endpoint": self.endpoint, "arms": arms, "sessions": self.sessions}

    @classmethod
    def read(cls, id: str, stored: Mapping[str, Any]) -> AbDesign:
        """Return the design of a stored `summary()`."""
        control, treatment = (AbArm(**arm) for arm in stored["arms"])
        return cls(id=id, endpoint=stored["endpoint"], arms=(control, treatment), sessions=stored["sessions"])


def check_shares(shares: Sequence[float]) -> None:
    """Refuse shares that are not positive or do not add up to 1.

    Raises:
        ValueError: They are not.
    """
    if len(shares) != 2:
        raise ValueError(f"an A/B test compares two versions, not {len(shares)}")
    if not all(share > 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        shares_text = " and ".join(map(exact, shares))
        raise ValueError(f"the versions' shares must be above 0 and add up to 1, not {shares_text}")
