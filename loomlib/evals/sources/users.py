"""Users who are none: one that follows its plan word by word, one that a model plays."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import EvalError

from ..judges.strands_judges import load_strands_evals
from ..judges.strands_model import StrandsModel
from ..values.digests import digest_of

if TYPE_CHECKING:
    from ..judges.model import ConverseJudge
    from ..values.cases import UserScenario

SIMULATED_USER: Final = "simulated user"
_STEP: Final = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+", re.MULTILINE)
_MOST_CALLS: Final = 6
_ASKS_ITS_TOOL: Final = "Use get_conversation_goal_completion tool to check if your User Goal is met. When your"
_TOOL: Final = "get_conversation_goal_completion"


@dataclass(frozen=True, slots=True)
class PlannedUser:
    """Says the steps of the scenario's plan one after the other, whatever the agent answers. Asks no model.

    Steps are the plan's list items, or its lines where it has none.
    """

    key: str = "planned"
    labels: tuple[str, ...] = (SIMULATED_USER,)

    def begin(self, scenario: UserScenario) -> Script:
        pieces = _STEP.split(scenario.plan)[1:] if _STEP.search(scenario.plan) else scenario.plan.splitlines()
        return Script([" ".join(piece.split()) for piece in pieces if piece.strip()])


class Script:
    """What is left to say."""

    def __init__(self, steps: list[str]) -> None:
        self._steps = steps

    async def reply(self, answer: str) -> str | None:
        """The next step."""
        return self._steps.pop(0) if self._steps else None


@dataclass(frozen=True, kw_only=True)
class SimulatedUser:
    """strands_evals' ActorSimulator: a model plays the persona of a scenario and follows its plan until it has what it
    wants.

        SimulatedUser(model=ConverseJudge(clients=bench.clients))

    Two things of the library are not used, for both ask its default model on AWS whatever model is given: the tool by
    which the actor judges whether its goal is met, and the making of a profile; the scenario is the profile. `template`
    is another system prompt with `{actor_profile}` in it; "gradual_escalation" is strands_evals' attacker, who comes
    nearer to its goal with each turn. Its other strategies of attack turn the target back to an earlier moment, which
    a session of AgentCore cannot do.
    """

    model: ConverseJudge
    template: str | None = None

    @property
    def key(self) -> str:
        """What its words depend on."""
        return digest_of("SimulatedUser", self.model.key, self.template)

    @property
    def labels(self) -> tuple[str, ...]:
        """It is simulated, whichever model plays it."""
        return (SIMULATED_USER,)

    def begin(self, scenario: UserScenario) -> Actor:
        return Actor(self, scenario)


class PatientModel(StrandsModel):
    """A model that is asked a bounded number of times for what is said next: strands itself would try for ever to get
    an answer in its form."""

    left = 0

    async def stream(self, *args: Any, **options: Any) -> AsyncGenerator[dict[str, Any]]:
        """One answer. Raises `EvalError` when it has been asked too often."""
        self.left -= 1
        if self.left < 0:
            raise EvalError(
                f"The simulated user's model gave no answer in its form in {_MOST_CALLS} calls",
                on=str(self.config["model_id"]),
                try_="another model",
            )
        async for event in super().stream(*args, **options):
            yield event


def _form() -> Any:
    """What the actor fills in: simpler than the library's own form, whose unions small models do not get right."""
    pydantic: Any = importlib.import_module("pydantic")
    return pydantic.create_model(
        "UserSays",
        __doc__="What the user says next to the assistant.",
        reasoning=(str, ...),
        stop=(bool, False),
        message=(str, ""),
    )


class Actor:
    """One conversation of a `SimulatedUser`."""

    def __init__(self, user: SimulatedUser, scenario: UserScenario) -> None:
        self._user, self._scenario = user, scenario
        self._actor: Any = None
        self._model = PatientModel(user.model)

    async def reply(self, answer: str) -> str | None:
        """The actor's next words; None when it stops. Raises what its model raises."""
        return await asyncio.to_thread(self._say, answer)

    def _say(self, answer: str) -> str | None:
        if self._actor is None:
            self._actor = self._made()
        self._model.left = _MOST_CALLS
        said: Any = self._actor.act(answer or "(no answer)").structured_output
        if said is None:
            raise EvalError("The simulated user said nothing in its form", on=self._user.model.model_id)
        return None if said.stop or not isinstance(said.message, str) or not said.message.strip() else said.message

    def _made(self) -> Any:
        simulation, types = load_module("simulation"), load_module("types.simulation")
        template = self._user.template or simulation.DEFAULT_USER_SIMULATOR_PROMPT_TEMPLATE
        if template == "gradual_escalation":
            attack: Any = load_module("redteam.strategies.prompt_strategy.gradual_escalation").get_template()
            template = attack.SYSTEM_PROMPT_TEMPLATE.replace("{max_turns}", str(self._scenario.max_turns))
        actor: Any = simulation.ActorSimulator(
            actor_profile=types.ActorProfile(
                traits={"persona": self._scenario.persona} if self._scenario.persona else {},
                context=self._scenario.persona or "A user of the agent.",
                actor_goal=self._scenario.plan,
            ),
            initial_query=self._scenario.starting_prompt,
            system_prompt_template=template.replace(_ASKS_ITS_TOOL, "When your"),
            model=self._model,
            max_turns=self._scenario.max_turns,
            structured_output_model=_form(),
        )
        actor.agent.tool_registry.registry.pop(_TOOL, None)
        # The greeting is drawn by chance: the same scenario begins the same way each time.
        actor.agent.messages[0]["content"][0]["text"] = actor.INITIAL_GREETINGS[0]
        return actor


def load_module(name: str) -> Any:
    """A module of strands_evals, the root logger left as it was."""
    load_strands_evals()
    root = logging.getLogger()
    level = root.level
    try:
        return importlib.import_module(f"strands_evals.{name}")
    finally:
        root.setLevel(level)
