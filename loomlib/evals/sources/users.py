"""Simulated users: one that follows a plan step by step, and one that a model plays."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import EvalError

from ..judges.model import ConverseJudge
from ..judges.strands_judges import load_strands_evals
from ..judges.strands_model import StrandsModel
from ..values.cases import UserScenario
from ..values.digests import digest_of

SIMULATED_USER: Final = "simulated user"
_STEP: Final = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+", re.MULTILINE)
_MAX_CALLS: Final = 6
_ASKS_ITS_TOOL: Final = "Use get_conversation_goal_completion tool to check if your User Goal is met. When your"
_TOOL: Final = "get_conversation_goal_completion"


@dataclass(frozen=True, slots=True)
class PlannedUser:
    """Sends the steps of the scenario's plan in order, whatever the agent answers. No model is called.

    The steps are the plan's list items, or its lines where it has no list.
    """

    key: str = "planned"
    labels: tuple[str, ...] = (SIMULATED_USER,)

    def begin(self, scenario: UserScenario) -> PlannedSteps:
        """Start a conversation."""
        pieces = _STEP.split(scenario.plan)[1:] if _STEP.search(scenario.plan) else scenario.plan.splitlines()
        return PlannedSteps([" ".join(piece.split()) for piece in pieces if piece.strip()])


class PlannedSteps:
    """The remaining steps of a plan."""

    def __init__(self, steps: list[str]) -> None:
        self._steps = steps

    async def reply(self, answer: str) -> str | None:
        """Return the next step."""
        return self._steps.pop(0) if self._steps else None


@dataclass(frozen=True, kw_only=True)
class SimulatedUser:
    """strands_evals' ActorSimulator: a model plays a scenario's persona and follows its plan until the goal is reached.

    Two features of the library are not used because both call its default model on AWS, whatever model is passed: the
    tool that judges whether the goal is met, and the generation of a profile (the scenario is the profile).

    Attributes:
        model: The model that plays the user.
        template: Another system prompt that contains `{actor_profile}`. "gradual_escalation" is strands_evals'
            attacker, which comes closer to its goal with each turn. Its other attack strategies rewind the target,
            which an AgentCore session does not allow.

    Examples:
        >>> SimulatedUser(model=ConverseJudge(clients=bench.clients))
    """

    model: ConverseJudge
    template: str | None = None

    @property
    def key(self) -> str:
        """Identity for reusing answers: the model and the template."""
        return digest_of("SimulatedUser", self.model.key, self.template)

    @property
    def labels(self) -> tuple[str, ...]:
        """The provenance label `simulated user`."""
        return (SIMULATED_USER,)

    def begin(self, scenario: UserScenario) -> Actor:
        """Start a conversation."""
        return Actor(self, scenario)


class BoundedModel(StrandsModel):
    """A model with a limit on calls per reply; strands retries without limit until a reply has the required form."""

    calls_left = 0

    async def stream(self, *args: Any, **options: Any) -> AsyncGenerator[dict[str, Any]]:
        """Stream one answer; raise `EvalError` past the limit on calls."""
        self.calls_left -= 1
        if self.calls_left < 0:
            raise EvalError(
                f"The simulated user's model returned no reply in the required form in {_MAX_CALLS} calls",
                on=str(self.config["model_id"]),
                try_="another model",
            )
        async for event in super().stream(*args, **options):
            yield event


def _form() -> Any:
    """Return the reply's schema: simpler than the library's, whose unions small models get wrong."""
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
        self._model = BoundedModel(user.model)

    async def reply(self, answer: str) -> str | None:
        """Return the actor's next message; None when it stops."""
        return await asyncio.to_thread(self._reply, answer)

    def _reply(self, answer: str) -> str | None:
        if self._actor is None:
            self._actor = self._construct()
        self._model.calls_left = _MAX_CALLS
        reply: Any = self._actor.act(answer or "(no answer)").structured_output
        if reply is None:
            raise EvalError(
                "The simulated user returned no reply in the required form",
                on=self._user.model.model_id,
                try_="another model",
            )
        return None if reply.stop or not isinstance(reply.message, str) or not reply.message.strip() else reply.message

    def _construct(self) -> Any:
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
        # The library picks a random greeting; a fixed one makes conversations repeatable.
        actor.agent.messages[0]["content"][0]["text"] = actor.INITIAL_GREETINGS[0]
        return actor


def load_module(name: str) -> Any:
    """Return a module of strands_evals without changing the root logger."""
    load_strands_evals()
    root = logging.getLogger()
    level = root.level
    try:
        return importlib.import_module(f"strands_evals.{name}")
    finally:
        root.setLevel(level)
