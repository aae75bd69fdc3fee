"""What an agent is asked and what is expected of it: one case, its turns, its rubrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from .digests import canonical_text, digest_of_text
from .tool_use import ExpectedTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """A criterion for a judge, in words. `kind` says what it is about (ADK's rubric type), "" for the answer."""

    text: str
    id: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said to the agent, and what is expected in return.

    `payload` is sent instead of `{"prompt": prompt}` when it is given. `expected_tools` None expects nothing of the
    tools; an empty tuple expects that none is used. `expected_texts` are answers expected on the way to the last one.
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
    """An evaluator by name with its options, and the score that passes, as a case or a set asks for it."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvalCase:
    """One case of an eval set. Either `turns` or a `scenario`, never both.

    `assertions` are sentences that hold of a good conversation as a whole. `initial_state` is sent with the first
    turn's payload as `"state"` where it is not empty; `final_state` is what the session should end with.
    `forbidden_tools` may not be called. `reference_tokens` (model tokens, both directions) and `reference_steps` (tool
    calls; the expected ones when None) are what efficiency is measured against. `evaluators` are asked for this case
    beside the set's and the run's. `session_tools` are the tools expected of the whole conversation, for a case that
    does not say which turn needs which (AgentCore's datasets); None expects nothing. `source` says where it was read or
    captured from.
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
            raise ValueError("a case has an id")
        if bool(self.turns) == (self.scenario is not None):
            raise ValueError(f"case {self.id!r} has either turns or a scenario")

    @property
    def prompt(self) -> str:
        """The first thing the agent is told."""
        return self.turns[0].prompt if self.turns else self.scenario.starting_prompt if self.scenario else ""

    @property
    def expected_answer(self) -> str | None:
        """What the last turn should be answered with."""
        return self.turns[-1].expected_answer if self.turns else None

    @property
    def expected_tools(self) -> tuple[ExpectedTool, ...] | None:
        """Those of the whole conversation, else of all turns in order; None when nothing is expected of the tools."""
        if self.session_tools is not None:
            return self.session_tools
        known = [turn.expected_tools for turn in self.turns if turn.expected_tools is not None]
        return tuple(tool for tools in known for tool in tools) if known else None

    @property
    def has_session_tools_only(self) -> bool:
        """Whether tools are expected of the whole conversation and of no turn: no turn can be compared alone."""
        return self.session_tools is not None and all(turn.expected_tools is None for turn in self.turns)

    @cached_property
    def asked_digest(self) -> str:
        """A hash of what the agent is told and nothing else: another one asks the agent again."""
        from .canonical import words_asked

        return digest_of_text(canonical_text(words_asked(self)))

    # No cached_property, which would give each of 100,000 cases a dictionary of its own.
    _digest: ClassVar[str | None] = None

    @property
    def digest(self) -> str:
        """A hash of all that the case says (not of where it came from): another one is judged again."""
        if self._digest is None:
            from .canonical import texts_of_cases

            texts_of_cases((self,))
        assert self._digest is not None
        return self._digest

    @property
    def is_digested(self) -> bool:
        """Whether its hash is known already."""
        return self._digest is not None

    def digested(self, text: str) -> None:
        """Its hash is that of `text`, which is what `text_of_case` makes of it."""
        object.__setattr__(self, "_digest", digest_of_text(text))
