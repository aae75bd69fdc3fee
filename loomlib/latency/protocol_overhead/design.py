"""The design of a study of protocol overhead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loomlib.agents.protocols.ways import HTTP_JSON, SERVERS
from loomlib.experiments import design_values, randomized_blocks

KIND = "protocol overhead"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolDesign:
    """The design of a study of protocol overhead.

    Attributes:
        agents: ARN and endpoint of the agent behind each server (`loomlib.agents.protocols.ways.SERVERS`).
        repeats: Calls in each way.
        prompt: Sent with every call.
        tool: The tool of the MCP servers, which takes the argument `prompt`.
        warm_ups: Untimed calls in each way before the first timed one.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds; None for the settings'.
        name: Name of the study.
    """

    agents: Mapping[str, str]
    repeats: int
    prompt: str
    tool: str = "ask"
    warm_ups: int = 2
    seed: int = 0
    timeout_s: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.agents) - set(SERVERS)):
            raise ValueError(f"servers must be among {', '.join(SERVERS)}, not {', '.join(unknown)}")
        if "HTTP" not in self.agents:
            raise ValueError(f'agents needs "HTTP": every way is compared with {HTTP_JSON}')
        if self.repeats < 1 or self.warm_ups < 1:
            raise ValueError("repeats and warm_ups must be at least 1")

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to measure, in their usual order."""
        return tuple(way for server, (_, ways) in SERVERS.items() if server in self.agents for way in ways)

    @property
    def missing(self) -> tuple[str, ...]:
        """The ways for which no agent was given."""
        return tuple(way for server, (_, ways) in SERVERS.items() if server not in self.agents for way in ways)

    def calls(self) -> list[tuple[int, str]]:
        """Return the block and way of each call, in randomized blocks."""
        return randomized_blocks(dict.fromkeys(self.ways, self.repeats), seed=self.seed)

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": KIND, **asdict(self), "agents": dict(self.agents)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> ProtocolDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        return cls(**design_values(cls, stored, kind=KIND))
