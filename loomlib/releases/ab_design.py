"""The design of an A/B test: two versions, their shares of the sessions, and the number of sessions."""

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
    """The assignment of sessions to versions, and the size of the test.

    Attributes:
        id: The test's id, which together with a session's id determines its arm.
        endpoint: The endpoint that is tested.
        arms: Control and treatment.
        sessions: Number of sessions after which the test is evaluated.
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
            raise ValueError(f"plan at least {2 * SMALLEST_N} sessions: fewer do not give an estimate")

    @property
    def control(self) -> AbArm:
        """The arm with the version that the endpoint served before."""
        return self.arms[0]

    @property
    def treatment(self) -> AbArm:
        """The arm with the new version."""
        return self.arms[1]

    def arm_of(self, session_id: str) -> AbArm:
        """Return the arm of a session: deterministic, on every machine.

        The first 8 bytes of the SHA-256 of "TEST:SESSION", divided by 2⁶⁴, select the control if below its share.
        """
        digest = hashlib.sha256(f"{self.id}:{session_id}".encode()).digest()
        return self.arms[0] if int.from_bytes(digest[:8], "big") / 2**64 < self.arms[0].share else self.arms[1]

    def arm(self, name: str) -> AbArm:
        """Return the arm with a name."""
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
    """Reject shares that are not positive or do not add up to 1.

    Raises:
        ValueError: The shares are invalid, or there are not two.
    """
    if len(shares) != 2:
        raise ValueError(f"an A/B test compares two versions, not {len(shares)}")
    if not all(share > 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        shares_text = " and ".join(map(exact, shares))
        raise ValueError(f"the versions' shares must be above 0 and add up to 1, not {shares_text}")
