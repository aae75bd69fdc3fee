"""The design of a comparison of agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loomlib.experiments import design_values, randomized_blocks

KIND = "comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDesign:
    """The design of a comparison of agents.

    Attributes:
        agents: ARN and endpoint of each agent, by its label; the others are compared with the first.
        calls: Timed calls of each agent.
        prompt: Sent with every call.
        new_sessions: Whether each timed call is the first of a new session; else the calls of an agent share one
            session, which an untimed call opens.
        seed: Seed of the order and of the permutations.
        timeout_s: Limit of each call in seconds; None for the agent's own setting.
        name: Name of the study.
    """

    agents: Mapping[str, str]
    calls: int = 20
    prompt: str
    new_sessions: bool = False
    seed: int = 0
    timeout_s: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.agents) < 2:
            raise ValueError(f"a comparison needs two agents or more, not {len(self.agents)}")
        if self.calls < 1:
            raise ValueError(f"calls must be at least 1, not {self.calls}")
        if not self.prompt:
            raise ValueError("a comparison needs a prompt")

    def order(self) -> list[tuple[int, str]]:
        """Return the block and the agent's label of each call, in randomized blocks."""
        return randomized_blocks(dict.fromkeys(self.agents, self.calls), seed=self.seed)

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": KIND, **asdict(self), "agents": dict(self.agents)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> ComparisonDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        return cls(**design_values(cls, stored, kind=KIND))
