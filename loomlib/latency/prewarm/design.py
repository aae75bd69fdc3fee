"""The design of a study of pre-warmed sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loomlib.experiments import design_values, randomized_blocks
from loomlib.presentation.formats import time_limit

NO_PING = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrewarmDesign:
    """The design of a study of pre-warmed sessions.

    Attributes:
        gaps: Idle gaps measured in each arm.
        gap_s: Length of a gap: seconds from the session's last answer to the call that is timed.
        ping_every_s: The arms: seconds between pings during the gap; 0 for no ping. The first arm is the baseline.
        idle_timeout_s: The runtime's idle time-out, in seconds.
        prompt: Sent with the timed call and the one that opens the session.
        ping_prompt: Sent with each ping.
        memory_gb: Memory of a session, for its price.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds; None for the agent's own setting.
        name: Name of the study.
    """

    gaps: int
    gap_s: float
    ping_every_s: tuple[float, ...]
    idle_timeout_s: float
    prompt: str
    ping_prompt: str = "ping"
    memory_gb: float = 0.5
    seed: int = 0
    timeout_s: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.gaps < 1:
            raise ValueError(f"gaps must be at least 1, not {self.gaps}")
        if min(self.gap_s, self.idle_timeout_s, self.memory_gb) <= 0:
            raise ValueError("gap_s, idle_timeout_s and memory_gb must be above 0")
        if not self.ping_every_s or len(set(self.ping_every_s)) < len(self.ping_every_s):
            raise ValueError("ping_every_s must name each arm once")
        if any(every < 0 or every >= self.gap_s for every in self.ping_every_s):
            raise ValueError(f"ping_every_s must be 0 (no pings) or less than gap_s, which is {time_limit(self.gap_s)}")

    @property
    def is_scaled(self) -> bool:
        """Whether the idle timeout is below AgentCore's minimum (60 s), so that seconds stand for minutes."""
        return self.idle_timeout_s < 60

    def calls(self) -> list[tuple[int, str]]:
        """Return the block and arm of each gap, in randomized blocks."""
        return randomized_blocks({arm_key(every): self.gaps for every in self.ping_every_s}, seed=self.seed)

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": "prewarm", **asdict(self), "ping_every_s": list(self.ping_every_s)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> PrewarmDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        values = design_values(cls, stored, kind="prewarm")
        values["ping_every_s"] = tuple(values["ping_every_s"])
        return cls(**values)


def arm_key(ping_every_s: float) -> str:
    """Return an arm's name: `no ping`, or `ping every 0.5 s`."""
    return f"ping every {ping_every_s:g} s" if ping_every_s else "no ping"
