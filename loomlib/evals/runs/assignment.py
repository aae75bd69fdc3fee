"""The evaluators of each case: those of the run, of the set and of the case itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomlib.errors import EvalError

from ..registry import Choice, make_evaluator
from ..values.cases import EvaluatorChoice, choice_to_dict
from ..values.digests import canonical_text, digest_of
from ..values.eval_set import EvalSet
from ..values.evaluator import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedEvaluator:
    """An evaluator as stored with a run: the values that identify its scores.

    Attributes:
        name: The evaluator's name.
        level: What it judges, one of `LEVELS`.
        digest: Hash of the name and the evaluator's own digest, so that two evaluators that accidentally have the same
            digest stay distinct.
    """

    name: str
    level: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorAssignment:
    """The evaluators of each case, by their index in `evaluators`.

    Attributes:
        evaluators: All evaluators of the run.
        common: The evaluators of every case that is not in `by_position`.
        by_position: All evaluators of each case that has its own, by the case's position in the set.
    """

    evaluators: tuple[AssignedEvaluator, ...]
    common: tuple[int, ...]
    by_position: Mapping[int, tuple[int, ...]]

    def of(self, position: int) -> tuple[int, ...]:
        """Return the evaluators of the case at a position in the set."""
        return self.by_position.get(position, self.common) if self.by_position else self.common

    def stored(self) -> dict[str, Any]:
        """Return the assignment as plain values."""
        return {
            "evaluators": [[evaluator.name, evaluator.level, evaluator.digest] for evaluator in self.evaluators],
            "common": list(self.common),
            "by_place": {str(position): list(indexes) for position, indexes in self.by_position.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> EvaluatorAssignment:
        """Return the assignment that `stored` wrote."""
        return cls(
            evaluators=tuple(
                AssignedEvaluator(name=name, level=level, digest=digest)
                for name, level, digest in stored.get("evaluators", ())
            ),
            common=tuple(stored.get("common", ())),
            by_position={int(at): tuple(indexes) for at, indexes in stored.get("by_place", {}).items()},
        )


class RunEvaluators:
    """The evaluators of a run, each constructed once, with their assignment to cases.

    A case's own evaluator replaces the set's evaluator of the same name, which replaces the run's.

    Args:
        evalset: The set to score.
        choices: The run's evaluators.
        connect: Connects a judge to its model.

    Raises:
        EvalError: No evaluator is specified, or two different evaluators of one list have the same name.
    """

    def __init__(
        self, evalset: EvalSet, choices: Sequence[Choice], *, connect: Callable[[Evaluator], Evaluator] | None = None
    ) -> None:
        self._connect = connect
        self.evaluators: list[Evaluator] = []
        self._indexes: dict[tuple[str, str], int] = {}
        self._constructed: dict[str, int] = {}
        common = self._by_name(choices) | self._by_name(evalset.evaluators)
        by_position: dict[int, tuple[int, ...]] = {}
        for position, case in enumerate(evalset.cases):
            if case.evaluators:
                by_position[position] = tuple((common | self._by_name(case.evaluators)).values())
        if not self.evaluators:
            raise EvalError(
                "Neither the run nor the set nor a case names an evaluator",
                on=evalset.name,
                try_='evaluators=["exact", "trajectory"]; `loom plugins` lists all',
            )
        self.assignment = EvaluatorAssignment(
            evaluators=tuple(
                AssignedEvaluator(
                    name=evaluator.name, level=evaluator.level, digest=digest_of(evaluator.name, evaluator.digest)
                )
                for evaluator in self.evaluators
            ),
            common=tuple(common.values()),
            by_position=by_position,
        )

    @property
    def needs_tools(self) -> bool:
        """Whether an evaluator needs the trajectory."""
        return any(evaluator.needs_tools for evaluator in self.evaluators)

    @property
    def timed(self) -> tuple[str, ...]:
        """The evaluators that judge durations: those with a time limit."""
        limits = [(evaluator.name, getattr(evaluator, "time_limit_ms", None)) for evaluator in self.evaluators]
        return tuple(name for name, limit in limits if limit is not None)

    def _by_name(self, choices: Sequence[Choice]) -> dict[str, int]:
        indexes: dict[str, int] = {}
        for choice in choices:
            index = self._index(choice)
            name = self.evaluators[index].name
            if indexes.setdefault(name, index) != index:
                raise EvalError(
                    "Two different evaluators have the same name",
                    on=name,
                    try_="the option name= for one of them, or FunctionEvaluator(function=…, name=…)",
                )
        return indexes

    def _index(self, choice: Choice) -> int:
        key = canonical_text(choice_to_dict(choice)) if isinstance(choice, EvaluatorChoice) else None
        if key is not None and key in self._constructed:
            return self._constructed[key]
        evaluator = make_evaluator(choice)
        if self._connect is not None:
            evaluator = self._connect(evaluator)
        identity = (evaluator.name, evaluator.digest)
        if identity not in self._indexes:
            self._indexes[identity] = len(self.evaluators)
            self.evaluators.append(evaluator)
        if key is not None:
            self._constructed[key] = self._indexes[identity]
        return self._indexes[identity]
