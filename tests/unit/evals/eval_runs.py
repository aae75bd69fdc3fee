"""Sets, functions and evaluators for tests of runs, without a service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from loomlib.evals import CaseAnswer, EvalCase, EvalSet, Turn


def sums(count: int, *, name: str = "sums") -> EvalSet:
    """`count` cases of one turn: "1+1" and what comes of it."""
    return EvalSet(name=name, cases=tuple(case_of(place) for place in range(count)))


def case_of(place: int, expected: str | None = None, prompt: str | None = None) -> EvalCase:
    """One sum."""
    turn_prompt = f"{place}+{place}" if prompt is None else prompt
    return EvalCase(
        id=f"sum {place}",
        turns=(Turn(prompt=turn_prompt, expected_answer=str(2 * place) if expected is None else expected),),
    )


class Adder:
    """Adds, and counts what it was asked; asked to, it fails by the classes of failures given, then answers."""

    def __init__(self, failures: Sequence[str] = ()) -> None:
        self.asked: Counter[str] = Counter()
        self._failures = list(failures)

    def __call__(self, prompt: str) -> str:
        self.asked[prompt] += 1
        if self._failures:
            raise FailingTargetError(self._failures.pop(0))
        return str(sum(int(term) for term in prompt.split("+")))


class FailingTargetError(Exception):
    """A failure of a class of `loomlib.agents.FAILURES`."""

    def __init__(self, failure: str) -> None:
        super().__init__(f"planned: {failure}")
        self.failure, self.retry_after_s = failure, 0.01


class Says:
    """An evaluator with a fixed verdict that counts what it judged."""

    level, needs_tools = "answer", False

    def __init__(self, name: str = "says", verdict: Any = None, *, digest: str = "1", is_quick: bool = True) -> None:
        self.name, self.digest, self.is_quick, self._verdict = name, digest, is_quick, verdict
        self.judged: Counter[str] = Counter()

    def judge(self, case: EvalCase, answer: CaseAnswer) -> Any:
        self.judged[case.id] += 1
        if self._verdict is None:
            return answer.text == case.expected_answer
        verdict = self._verdict(case, answer) if callable(self._verdict) else self._verdict
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict


class SaysLater(Says):
    """The same, asynchronously."""

    async def judge(self, case: EvalCase, answer: CaseAnswer) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().judge(case, answer)
