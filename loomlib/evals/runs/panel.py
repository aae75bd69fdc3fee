"""Who judges which case: a run's evaluators, the set's and the case's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from loomlib.errors import EvalError

from ..values.cases import EvaluatorChoice, choice_to_dict
from ..values.digests import canonical_text, digest_of
from ..values.eval_set import EvalSet
from ..values.evaluator import Evaluator

Choice: TypeAlias = "str | EvaluatorChoice | Evaluator | Callable[..., Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCard:
    """What is stored of an evaluator: enough to find its scores.

    `digest` is of its name and its own digest: two that were carelessly given the same digest are still two.
    """

    name: str
    level: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Which evaluators judge which case, by number. Most cases have the `common` ones."""

    cards: tuple[JudgeCard, ...]
    common: tuple[int, ...]
    by_place: Mapping[int, tuple[int, ...]]

    def of(self, place: int) -> tuple[int, ...]:
        """The numbers of the evaluators for the case at that place of the set."""
        return self.by_place.get(place, self.common) if self.by_place else self.common

    def stored(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "evaluators": [[each.name, each.level, each.digest] for each in self.cards],
            "common": list(self.common),
            "by_place": {str(place): list(numbers) for place, numbers in self.by_place.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Bench:
        """The bench that `stored` wrote."""
        return cls(
            cards=tuple(JudgeCard(name=n, level=level, digest=d) for n, level, d in stored.get("evaluators", ())),
            common=tuple(stored.get("common", ())),
            by_place={int(place): tuple(numbers) for place, numbers in stored.get("by_place", {}).items()},
        )


class Panel:
    """The evaluators themselves, each made once, and the bench that says where they sit.

    A case's own evaluator takes the place of one of the same name that the set asks for, and that of the run's.
    `connect` gives judges their connection. `EvalError` when nobody is to judge.
    """

    def __init__(
        self, evalset: EvalSet, chosen: Sequence[Choice], *, connect: Callable[[Evaluator], Evaluator] | None = None
    ) -> None:
        self._connect = connect
        self.evaluators: list[Evaluator] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._made: dict[str, int] = {}
        common = self._named([*chosen, *evalset.evaluators])
        by_place: dict[int, tuple[int, ...]] = {}
        for place, case in enumerate(evalset.cases):
            if case.evaluators:
                by_place[place] = tuple((common | self._named(case.evaluators)).values())
        if not self.evaluators:
            raise EvalError(
                "No evaluator is named, by the run, by the set or by a case",
                on=evalset.name,
                try_='evaluators=["exact", "trajectory"]; loom plugins lists what there is',
            )
        self.bench = Bench(
            cards=tuple(
                JudgeCard(name=e.name, level=e.level, digest=digest_of(e.name, e.digest)) for e in self.evaluators
            ),
            common=tuple(common.values()),
            by_place=by_place,
        )

    @property
    def needs_tools(self) -> bool:
        """Whether somebody cannot judge without a trajectory."""
        return any(each.needs_tools for each in self.evaluators)

    def _named(self, choices: Sequence[Choice]) -> dict[str, int]:
        found: dict[str, int] = {}
        for choice in choices:
            number = self._number(choice)
            found[self.evaluators[number].name] = number
        return found

    def _number(self, choice: Choice) -> int:
        known = canonical_text(choice_to_dict(choice)) if isinstance(choice, EvaluatorChoice) else None
        if known is not None and known in self._made:
            return self._made[known]
        evaluator = _made(choice)
        if self._connect is not None:
            evaluator = self._connect(evaluator)
        at = (evaluator.name, evaluator.digest)
        if at not in self._numbers:
            self._numbers[at] = len(self.evaluators)
            self.evaluators.append(evaluator)
        if known is not None:
            self._made[known] = self._numbers[at]
        return self._numbers[at]


def _made(choice: Choice) -> Evaluator:
    if not isinstance(choice, (str, EvaluatorChoice, type)) and isinstance(choice, Evaluator):
        return choice
    from ..registry import make_evaluator

    return make_evaluator(choice)
