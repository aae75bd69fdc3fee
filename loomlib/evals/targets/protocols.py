"""Protocols of the targets of an evaluation, and of the simulated users that lead conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from loomlib.jobs.dask import WorkerReference

from ..values.answers import CaseFailure, TurnAnswer
from ..values.cases import Turn, UserScenario
from .functions import CallableTarget


@runtime_checkable
class Target(Protocol):
    """The target of an evaluation: an agent, a variant of a prompt, a function.

    A target may also have a method `connected(evaluator) -> Evaluator`, which connects a judge that was chosen by name
    to its model, and an attribute `user`, the `UserSimulator` for cases with a scenario.
    """

    @property
    def name(self) -> str:
        """The name shown in summaries."""
        ...

    @property
    def key(self) -> str:
        """Identity for reusing answers: ARN, version, endpoint, prompt, model and all else that can change an answer.

        With an empty key only the run itself uses its answers.
        """
        ...

    @property
    def labels(self) -> Sequence[str]:
        """Provenance labels shown beside every number, such as `local AgentCore`."""
        ...

    @property
    def concurrency(self) -> int:
        """Maximum number of cases that run at once."""
        ...

    def new_session(self) -> str:
        """Return the id of a new session."""
        ...

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Send one turn.

        A failure is returned, or raised as an exception. An exception with an attribute `failure` (a class of
        `loomlib.agents.FAILURES`) is stored under that class, any other as "exception". Only "throttle" and
        "transport" are retried, after `retry_after_s` seconds where the exception has that attribute.

        Args:
            turn: The turn to send.
            session_id: The session of the case.
            timeout_s: Time limit in seconds; None for no limit.
            state: The initial state of the case, sent with its first turn.
        """
        ...

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers with the tools, tokens and costs that their traces contain."""
        ...

    async def end(self, session_id: str) -> None:
        """End a session that will not be used again."""
        ...


@runtime_checkable
class TargetOfWorkers(Protocol):
    """A target that the workers of a Dask cluster can create."""

    def for_workers(self) -> WorkerReference:
        """Return how a worker creates this target: an importable function, and JSON values without secrets."""
        ...


class UserConversation(Protocol):
    """A simulated user's side of one conversation."""

    async def reply(self, answer: str) -> str | None:
        """Return the user's reply to the agent's answer; None ends the conversation."""
        ...


class UserSimulator(Protocol):
    """Leads the conversations of cases with a scenario; see `loomlib.evals.sources.with_simulated_user`."""

    @property
    def key(self) -> str:
        """Identity for reusing answers; part of the target's key."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """Provenance labels; added to the target's labels."""
        ...

    def begin(self, scenario: UserScenario) -> UserConversation:
        """Start a conversation."""
        ...


def as_target(source: Any) -> Target:
    """Return the target of an agent, a function or a target.

    Raises:
        TypeError: `source` is none of these.
    """
    if callable(make := getattr(getattr(source, "targets", source), "eval_target", None)):
        return cast("Target", make())
    if isinstance(source, Target):
        return source
    if callable(source):
        return CallableTarget(cast("Callable[..., Any]", source))
    raise TypeError(f"An agent, a function or a Target can be evaluated, not {type(source).__name__}")
