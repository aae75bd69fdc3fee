"""What a run needs from the outside: something to ask, and somebody who is told how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..answers import CaseFailure, TurnAnswer
from ..cases import Turn, UserScenario

if TYPE_CHECKING:
    from loomlib.store import Store

    from .progress import Snapshot


@runtime_checkable
class Target(Protocol):
    """What is evaluated: an agent, a prompt variant, a function.

    `key` is the identity that answers are kept under: whatever can change them belongs in it (ARN, version, endpoint,
    prompt, model). Answers of an empty key are used by their own run only. `concurrency` is how many cases may be asked
    at once. `labels` stay beside every number ("local AgentCore").

    `ask` asks one turn and returns its answer, or raises or returns why there is none: an exception with the attribute
    `failure` (a class of `loomlib.agents.FAILURES`) is kept under that class, any other as "exception". Only
    "throttle" and "transport" are tried again, after `retry_after_s` where the exception has it. `state` is sent with
    the first turn of a case that has one. `collect_tools` adds to answers what traces tell (tools, tokens, cost): many
    at once, and only when somebody needs it. `end` ends a session that will not be used again.

    A target may have a method `connected(evaluator) -> Evaluator`, which gives a judge that was chosen by name the
    connection to its model (`loomlib.evals.connecting`).
    """

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def concurrency(self) -> int: ...

    def new_session(self) -> str: ...
    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure: ...
    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]: ...
    async def end(self, session_id: str) -> None: ...


class Lead(Protocol):
    """A user in the middle of one conversation."""

    async def say(self, answer: str) -> str | None:
        """What the user says to the agent's answer; None when there is nothing more to say."""
        ...


class User(Protocol):
    """Whoever leads the conversations of cases that have a scenario. A target has it as its attribute `user`.

    `key` belongs into the target's key, `labels` into its labels (`loomlib.evals.sources.accompanied` sees to it).
    """

    @property
    def key(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...

    def begin(self, scenario: UserScenario) -> Lead: ...


class Evaluable(Protocol):
    """Something that makes a target of itself: `loomlib.workbench.Agent` does. Its store is where the run is kept."""

    @property
    def store(self) -> Store: ...

    def eval_target(self) -> Target: ...


class Progress(Protocol):
    """Somebody who is told how far a run is. `update` is called in the thread that started the run."""

    def update(self, snapshot: Snapshot) -> None: ...
    def finish(self, snapshot: Snapshot) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may take: US dollars, model tokens (both directions), seconds. None is no limit.

    Judges' tokens and dollars count too, and are foreseen by what judging took so far. What an answer took is often
    known only after it (from its trace), so a run asks in growing groups, waits for what is said of each, and never
    asks more than the rest of the budget should allow by the answers so far; it can end above the limit by what one
    group differs from that. Seconds end asking; what is under way is waited for.
    """

    money: float | None = None
    tokens: int | None = None
    time_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("money", "tokens", "time_s"):
            value: float | None = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"a budget's {name} must be above zero, not {value}")

    @property
    def is_metered(self) -> bool:
        """Whether it needs to know what each answer took."""
        return self.money is not None or self.tokens is not None
