"""The design of a latency study: the calls of each scenario, the prompt, and the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loomlib.experiments import design_values, randomized_blocks
from loomlib.statistics.stopping import StoppingRule

from .scenarios import Scenario

DEFAULT_PROMPT = "What is 2 + 2?"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One timed call: its position in the order, its block, and its number within the scenario, each from 0."""

    position: int
    block: int
    scenario: Scenario
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDesign:
    """The design of a latency study.

    Attributes:
        cold: Timed calls that are the first of a new session.
        warm: Timed calls that are the second of a new session.
        sticky: Timed calls in one long-lived session.
        prompt: Sent with every call.
        seed: Seed of the order.
        sticky_length: Timed calls in one long-lived session before another is opened; None for all.
        timeout_s: Limit of each call in seconds; None for the agent's own setting.
        find_starts: Whether to read from the logs when the agent started.
        name: Name of the study.
        until: When to stop before the last planned call, such as "p90 within 10 %"; every scenario must meet it, each
            with an interval that is valid at every look (see `loomlib.statistics.sequential`). None for all calls.
    """

    cold: int = 20
    warm: int = 20
    sticky: int = 20
    prompt: str = DEFAULT_PROMPT
    seed: int = 0
    sticky_length: int | None = None
    timeout_s: float | None = None
    find_starts: bool = True
    name: str = ""
    until: str | None = None

    def __post_init__(self) -> None:
        if self.sticky_length is not None and self.sticky_length < 1:
            raise ValueError(f"sticky_length must be at least 1, not {self.sticky_length}")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise ValueError(f"timeout_s must be above 0, not {self.timeout_s}")
        if not self.prompt:
            raise ValueError("a study needs a prompt")
        if negative := [f"{scenario}={count}" for scenario, count in self.counts.items() if count < 0]:
            raise ValueError(f"a scenario cannot have fewer than 0 calls: {', '.join(negative)}")
        if not any(self.counts.values()):
            raise ValueError("a study needs at least one call: set cold, warm or sticky above 0")
        _ = self.stopping_rule

    @property
    def counts(self) -> dict[Scenario, int]:
        """Timed calls of each scenario."""
        return {Scenario.COLD: self.cold, Scenario.WARM: self.warm, Scenario.STICKY: self.sticky}

    @property
    def stopping_rule(self) -> StoppingRule | None:
        """The rule that `until` states."""
        return None if self.until is None else StoppingRule.parse(self.until)

    def calls(self) -> tuple[PlannedCall, ...]:
        """Return every timed call in order: randomized complete blocks (see `randomized_blocks`)."""
        return tuple(
            PlannedCall(position=position, block=block, scenario=scenario, index=block)
            for position, (block, scenario) in enumerate(randomized_blocks(self.counts, seed=self.seed))
        )

    def session_plan(self, call: PlannedCall) -> str:
        """Return the session of a call: a new one, a new one that is opened first, or the n-th long-lived one."""
        if call.scenario is Scenario.COLD:
            return "new"
        if call.scenario is Scenario.WARM:
            return "new, opened by an untimed call"
        return f"long-lived {call.index // self.sticky_length if self.sticky_length else 0}"

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": "latency", **asdict(self)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StudyDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        return cls(**design_values(cls, stored, kind="latency"))
