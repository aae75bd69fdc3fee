"""The design of a study of gateways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from loomlib.experiments import design_values, randomized_blocks

from .catalogue import ToolQuestion, generate_catalogue, generate_questions

KIND: Final = "gateway"
DIRECT, THROUGH, FIND, ALL, SEARCH = "direct", "gateway", "find", "all", "search"

CALLS: Final[dict[str, str]] = {DIRECT: "direct call", THROUGH: "through the gateway"}
SEARCHES: Final[dict[str, str]] = {FIND: "search alone"}
CHOICES: Final[dict[str, str]] = {ALL: "all in the prompt", SEARCH: "search first"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayDesign:
    """The design of a study of gateways.

    Attributes:
        gateways: ARN of the gateway in front of each catalogue, by the number of its tools.
        calls: Direct calls of one tool, and the same number through the gateway of the smallest catalogue.
        searches: Questions put to the search of each gateway, without a model.
        questions: Questions to each catalogue, asked with all tools in the prompt and with search first.
        model: Id of the model that chooses a tool.
        warm_ups: Untimed calls in each way before the first timed one.
        seed: Seed of the catalogues and of the order of the calls.
        timeout_s: Limit of each call, in seconds; None for the settings'.
        name: Name of the study.
    """

    gateways: Mapping[int, str]
    calls: int
    searches: int
    questions: int
    model: str
    warm_ups: int = 3
    seed: int = 0
    timeout_s: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.gateways:
            raise ValueError("gateways needs at least one catalogue")
        if min(self.gateways) < 2:
            raise ValueError("a catalogue needs at least 2 tools, or there is nothing to choose")
        counts = (self.calls, self.searches, self.questions)
        if min(counts) < 0 or not any(counts):
            raise ValueError("calls, searches and questions must be 0 or more, and not all 0")
        if self.warm_ups < 1:
            raise ValueError("warm_ups must be at least 1")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of tools, the smallest first."""
        return tuple(sorted(self.gateways))

    def questions_for(self, tools: int, count: int | None = None) -> tuple[ToolQuestion, ...]:
        """Return the questions for the catalogue of a size.

        Args:
            tools: The size.
            count: Number of questions; by default, those that are put to the model.
        """
        question_count = self.questions if count is None else count
        return generate_questions(generate_catalogue(tools, seed=self.seed), question_count)

    def units(self) -> list[tuple[int, str]]:
        """Return block and scenario of each unit: calls, then searches, then questions, each in randomized blocks.

        A call's block holds both ways; question k of every catalogue is in block k, both ways.
        """
        calls = randomized_blocks(dict.fromkeys(CALLS, self.calls), seed=self.seed)
        searches = randomized_blocks(
            {f"{tools} {FIND}": len(self.questions_for(tools, self.searches)) for tools in self.sizes}, seed=self.seed
        )
        questions = randomized_blocks(
            {f"{tools} {way}": len(self.questions_for(tools)) for tools in self.sizes for way in CHOICES},
            seed=self.seed,
        )
        return [*calls, *searches, *questions]

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": KIND, **asdict(self), "gateways": {str(tools): self.gateways[tools] for tools in self.sizes}}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> GatewayDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        values = design_values(cls, stored, kind=KIND)
        values["gateways"] = {int(tools): arn for tools, arn in values["gateways"].items()}
        return cls(**values)


def scenario_of(scenario: str) -> tuple[int, str]:
    """Return the number of tools and the way of a scenario; 0 tools for a call."""
    tools, _, way = scenario.rpartition(" ")
    return int(tools or 0), way
