"""What a study is asked to do, as a value that can be stored and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from loomlib.errors import StudyError

from .plan import PlannedCall, plan_calls
from .scenarios import Scenario

DEFAULT_PROMPT = "What is 2 + 2?"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDesign:
    """How many calls of each scenario, with which prompt, in which order.

    `sticky_length` is how many timed calls one long-lived session takes before another is opened (None: all of them).
    `timeout_s` bounds each call (None: the agent's own setting). `find_starts` asks the logs when the agent started.
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

    def __post_init__(self) -> None:
        if self.sticky_length is not None and self.sticky_length < 1:
            raise ValueError(f"sticky_length is at least 1, not {self.sticky_length}")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise ValueError(f"timeout_s is above 0, not {self.timeout_s}")
        if not self.prompt:
            raise ValueError("a study needs a prompt")
        self.calls()

    @property
    def counts(self) -> dict[Scenario, int]:
        """How many timed calls each scenario has."""
        return {Scenario.COLD: self.cold, Scenario.WARM: self.warm, Scenario.STICKY: self.sticky}

    def calls(self) -> tuple[PlannedCall, ...]:
        """Every timed call in the order it will be made; `ValueError` when there is none."""
        return plan_calls(self.counts, seed=self.seed)

    def session_plan(self, call: PlannedCall) -> str:
        """Which session a call uses: a new one, a new one that is opened first, or the n-th long-lived one."""
        if call.scenario is Scenario.COLD:
            return "new"
        if call.scenario is Scenario.WARM:
            return "new, opened by an untimed call"
        return f"long-lived {call.index // self.sticky_length if self.sticky_length else 0}"

    def stored(self) -> dict[str, Any]:
        """The design as JSON-ready values."""
        return {"kind": "latency", **asdict(self)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StudyDesign:
        """The design from its stored form; a field that a later release added is refused, not ignored."""
        given = {name: value for name, value in stored.items() if name != "kind"}
        known = {field.name for field in fields(cls)}
        if stored.get("kind") != "latency" or set(given) - known:
            raise StudyError(
                "The stored study is not one that this release can run",
                on=", ".join(sorted(set(given) - known)) or f"kind {stored.get('kind')!r}",
                try_="upgrade loomlib",
            )
        return cls(**given)
