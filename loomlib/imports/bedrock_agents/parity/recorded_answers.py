"""Recorded answers as the target of an evaluation: they are judged without asking the agents again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

from loomlib.evals.values.answers import CaseFailure, TurnAnswer
from loomlib.evals.values.cases import Turn
from loomlib.evals.values.evaluator import Evaluator

from .pairs import PAIR, AnswerPair


class RecordedAnswers:
    """The successor's answers in pairs, as a `Target` for cases from `AnswerPair.expecting`.

    Args:
        pairs: The pairs; both agents answered each.
        name: The name shown in summaries.
        labels: Provenance labels.
        connect: Connects a judge that was given by name to its model.
    """

    concurrency = 16

    def __init__(
        self,
        pairs: Sequence[AnswerPair],
        *,
        name: str,
        labels: Sequence[str] = (),
        connect: Callable[[Evaluator], Evaluator] | None = None,
    ) -> None:
        self.name, self.labels, self._connect = name, tuple(labels), connect
        self._answers = {pair.id: pair.new for pair in pairs}
        digest = sha256()
        for pair in pairs:
            digest.update(repr((pair.id, [(turn.text, turn.tools) for turn in pair.new.turns])).encode())
        self.key = f"recorded answers {digest.hexdigest()[:24]}"
        self._numbers = count()
        self._sessions: dict[str, tuple[str, int]] = {}

    def new_session(self) -> str:
        """Return a new session id."""
        return f"recorded-{next(self._numbers)}"

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Return the recorded answer to the turn."""
        id, number = (str(state[PAIR]), 0) if state else self._sessions[session_id]
        self._sessions[session_id] = (id, number + 1)
        return self._answers[id].turns[number]

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers unchanged."""
        return answers

    async def end(self, session_id: str) -> None:
        """Forget the session."""
        self._sessions.pop(session_id, None)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator, connected to its model if it uses one."""
        return evaluator if self._connect is None else self._connect(evaluator)
