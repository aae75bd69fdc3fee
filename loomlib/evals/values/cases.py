"""Eval cases: the requests to an agent, the expected behavior, and the hashes that identify a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Final

from .digests import canonical_text, digest_of_text
from .tool_use import ExpectedTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """A criterion that a judge scores.

    Attributes:
        text: The criterion as a sentence.
        id: Its id in the file it was read from.
        kind: ADK's rubric type; "" for a rubric about the answer.
    """

    text: str
    id: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request of a case and the expected response.

    Attributes:
        prompt: The text sent to the agent.
        payload: The JSON body sent instead of `{"prompt": prompt}`.
        expected_answer: The reference answer; None when any answer will do.
        expected_tools: The expected tool calls in order. None means no expectation; an empty tuple means that no tool
            call is expected.
        expected_texts: Texts expected before the final answer.
        rubrics: Criteria for a judge of this turn.
    """

    prompt: str
    payload: Mapping[str, Any] | None = None
    expected_answer: str | None = None
    expected_tools: tuple[ExpectedTool, ...] | None = None
    expected_texts: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScenario:
    """A conversation that a simulated user leads instead of fixed turns (ADK's conversation scenario)."""

    starting_prompt: str
    plan: str
    persona: str | None = None
    max_turns: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorChoice:
    """An evaluator that a case or a set specifies: its name, options and passing threshold."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvalCase:
    """One case of an eval set, with either fixed `turns` or a `scenario`.

    Attributes:
        id: Unique within its set.
        turns: The requests in order.
        scenario: The conversation that a simulated user leads.
        assertions: Sentences that are true of a good conversation as a whole.
        rubrics: Criteria for a judge of the whole case.
        tags: Labels to select and compare cases by.
        initial_state: Sent with the first turn's payload as `"state"` unless empty.
        final_state: The session state expected at the end; None means no expectation.
        forbidden_tools: Tools that must not be called.
        reference_tokens: Model tokens, both directions, that efficiency is measured against.
        reference_steps: Tool calls that efficiency is measured against; None uses the expected ones.
        evaluators: Evaluators of this case, in addition to those of the set and the run.
        session_tools: Tools expected of the whole conversation, for a case that does not assign them to turns
            (AgentCore datasets); None means no expectation.
        expected_interactions: strands_evals' expected interactions, as read.
        metadata: Any other data about the case, as plain values.
        source: Where the case was read or captured from. Not part of its hash.
    """

    id: str
    turns: tuple[Turn, ...] = ()
    scenario: UserScenario | None = None
    assertions: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    tags: tuple[str, ...] = ()
    initial_state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    final_state: Mapping[str, Any] | None = None
    forbidden_tools: tuple[str, ...] = ()
    reference_tokens: int | None = None
    reference_steps: int | None = None
    evaluators: tuple[EvaluatorChoice, ...] = ()
    session_tools: tuple[ExpectedTool, ...] | None = None
    expected_interactions: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: str = ""

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise ValueError("A case needs an id")
        if bool(self.turns) == (self.scenario is not None):
            raise ValueError(f"Case {self.id!r} needs either turns or a scenario")

    @property
    def prompt(self) -> str:
        """The first message sent to the agent."""
        return self.turns[0].prompt if self.turns else self.scenario.starting_prompt if self.scenario else ""

    @property
    def expected_answer(self) -> str | None:
        """The reference answer of the last turn."""
        return self.turns[-1].expected_answer if self.turns else None

    @property
    def expected_tools(self) -> tuple[ExpectedTool, ...] | None:
        """The tool calls expected of the conversation, else of all turns in order; None means no expectation."""
        if self.session_tools is not None:
            return self.session_tools
        turn_tools = [turn.expected_tools for turn in self.turns if turn.expected_tools is not None]
        return tuple(tool for tools in turn_tools for tool in tools) if turn_tools else None

    @property
    def has_session_tools_only(self) -> bool:
        """Whether tools are expected for the conversation but not for any turn, so that turns cannot be compared."""
        return self.session_tools is not None and all(turn.expected_tools is None for turn in self.turns)

    @cached_property
    def asked_digest(self) -> str:
        """Hash of what is sent to the agent. When it changes, stored answers to the case are not reused."""
        return digest_of_text(canonical_text(_request_parts(self)))

    # Not a cached_property, which would give each of 100,000 cases a dictionary of its own.
    _digest: ClassVar[str | None] = None

    @property
    def digest(self) -> str:
        """Hash of everything but `source`. When it changes, stored scores of the case are not reused."""
        if self._digest is None:
            self.remember_digest(canonical_text(case_to_dict(self)))
        assert self._digest is not None
        return self._digest

    @property
    def has_digest(self) -> bool:
        """Whether `digest` has been computed."""
        return self._digest is not None

    def remember_digest(self, text: str) -> None:
        """Store the hash of `text`, which must be the canonical text of this case."""
        object.__setattr__(self, "_digest", digest_of_text(text))


# The canonical form. A field at its default is left out, so a field added by a later release changes no existing hash.

_NAMES: Final = ("assertions", "tags", "initial_state", "forbidden_tools", "expected_interactions", "metadata")
_OPTIONAL: Final = attrgetter(
    "scenario", "rubrics", "evaluators", "session_tools", "final_state", "reference_tokens", "reference_steps", *_NAMES
)
_DEFAULTS: Final[tuple[object, ...]] = (None, (), (), None, None, None, None, (), (), {}, (), (), {})


def case_to_dict(case: EvalCase) -> dict[str, Any]:
    """Return the case as plain values, without `source` and without fields at their defaults."""
    plain: dict[str, Any] = {"id": case.id}
    if case.turns:
        plain["turns"] = [_turn_to_dict(turn) for turn in case.turns]
    if _OPTIONAL(case) == _DEFAULTS:  # true of most cases; one comparison is faster than thirteen
        return plain
    if case.scenario is not None:
        plain["scenario"] = scenario_to_dict(case.scenario)
    if case.rubrics:
        plain["rubrics"] = [_rubric_to_plain(rubric) for rubric in case.rubrics]
    if case.evaluators:
        plain["evaluators"] = [choice_to_dict(choice) for choice in case.evaluators]
    if case.session_tools is not None:
        plain["session_tools"] = [_tool_to_dict(tool) for tool in case.session_tools]
    if case.final_state is not None:
        plain["final_state"] = case.final_state
    if case.reference_tokens is not None:
        plain["reference_tokens"] = case.reference_tokens
    if case.reference_steps is not None:
        plain["reference_steps"] = case.reference_steps
    for name in _NAMES:
        if value := getattr(case, name):
            plain[name] = value
    return plain


def choice_to_dict(choice: EvaluatorChoice) -> dict[str, Any]:
    """Return an evaluator choice as plain values."""
    plain: dict[str, Any] = {"name": choice.name}
    if choice.options:
        plain["options"] = choice.options
    if choice.threshold is not None:
        plain["threshold"] = choice.threshold
    return plain


def _request_parts(case: EvalCase) -> list[Any]:
    return [
        [[turn.prompt, turn.payload] if turn.payload is not None else turn.prompt for turn in case.turns],
        None if case.scenario is None else scenario_to_dict(case.scenario),
        case.initial_state or None,
    ]


def scenario_to_dict(scenario: UserScenario) -> dict[str, Any]:
    """Return a scenario as plain values."""
    plain: dict[str, Any] = {"starting_prompt": scenario.starting_prompt, "plan": scenario.plan}
    if scenario.persona is not None:
        plain["persona"] = scenario.persona
    if scenario.max_turns != 10:
        plain["max_turns"] = scenario.max_turns
    return plain


def _turn_to_dict(turn: Turn) -> dict[str, Any]:
    plain: dict[str, Any] = {"prompt": turn.prompt}
    if turn.payload is not None:
        plain["payload"] = turn.payload
    if turn.expected_answer is not None:
        plain["answer"] = turn.expected_answer
    if turn.expected_tools is not None:
        plain["tools"] = [_tool_to_dict(tool) for tool in turn.expected_tools]
    if turn.expected_texts:
        plain["texts"] = turn.expected_texts
    if turn.rubrics:
        plain["rubrics"] = [_rubric_to_plain(rubric) for rubric in turn.rubrics]
    return plain


def _tool_to_dict(tool: ExpectedTool) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": tool.name}
    if tool.arguments is not None:
        plain["arguments"] = tool.arguments
    if tool.matchers:
        plain["matchers"] = tool.matchers
    if tool.result is not None:
        plain["result"] = tool.result
    return plain


def _rubric_to_plain(rubric: Rubric) -> Any:
    if not rubric.id and not rubric.kind:
        return rubric.text
    return {"text": rubric.text, "id": rubric.id, "kind": rubric.kind}
