"""The design of a study of session starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from loomlib.experiments import design_values, randomized_blocks

PLATFORMS: Final = ("V1", "V2")

PROCESS: Final = "process"
"""The condition in which the agent's process is started directly."""

LABELS: Final = {"V1": "V1", "V2": "V2", PROCESS: "python agent.py"}
"""The label of each condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUpDesign:
    """The design of a study of session starts.

    Attributes:
        sessions: Sessions started on each platform, and starts of the process.
        later_calls: Calls in each session after its first one, which is compared with their median.
        prompt: Sent with every call.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds; None for the agent's own setting.
        name: Name of the study.
        source: The agent's folder or file, whose process is also started directly; "" for none.
    """

    sessions: int
    prompt: str
    later_calls: int = 3
    seed: int = 0
    timeout_s: float | None = None
    name: str = ""
    source: str = ""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The platforms, and `PROCESS` where the agent's code is known."""
        return (*PLATFORMS, PROCESS) if self.source else PLATFORMS

    def __post_init__(self) -> None:
        if min(self.sessions, self.later_calls) < 1:
            raise ValueError(f"sessions and later_calls must be at least 1, not {self.sessions}, {self.later_calls}")

    def order(self) -> list[tuple[int, str]]:
        """Return the block and the condition of each session, in randomized blocks."""
        return randomized_blocks(dict.fromkeys(self.conditions, self.sessions), seed=self.seed)

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": "start_up", **asdict(self)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StartUpDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        return cls(**design_values(cls, stored, kind="start_up"))
