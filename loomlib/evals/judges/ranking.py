"""Several answers put in order by a judge, asked forwards and backwards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ..values.cases import EvalCase
from .judge import connected
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel
from .question import RATIONALE_LIMIT, AnswerForm, Question

if TYPE_CHECKING:
    from loomlib.aws import Clients

MOST_ANSWERS: Final = 20
_ORDER = (
    "Several answers to the same prompt are given, in no particular order. Put them in order, the best one first, by "
    "the rubric; without one, by how well they answer the prompt. Longer is not better."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answers from the best to the worst, by their places in what was given (from 0).

    `ranks` is the mean rank of each answer over both orders (1 is best); equal ones are ties, and stand in `order` as
    they were given. `consistency` is Kendall's tau between the two orders: 1 the same, −1 the reverse, None for one
    answer.
    """

    case_id: str
    order: tuple[int, ...]
    ranks: tuple[float, ...]
    consistency: float | None
    rationales: tuple[str, str] = field(repr=False)
    labels: tuple[str, ...] = ()
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class RankingJudge:
    """Puts up to 20 answers to a case in order.

    >>> (await RankingJudge(model=ConverseJudge(clients=bench.clients)).rank(case, ["4", "about four", "5"])).order
    (0, 1, 2)
    """

    model: JudgeModel | str = DEFAULT_MODEL
    rubric: str | None = None
    instructions: str = _ORDER

    def connected_to(self, clients: Clients) -> RankingJudge:
        """This judge with its model behind `clients`."""
        if not isinstance(self.model, str):
            return self
        model = ConverseJudge(clients=clients, model_id=self.model)
        return RankingJudge(model=model, rubric=self.rubric, instructions=self.instructions)

    async def rank(self, case: EvalCase, answers: Sequence[str]) -> Ranking:
        """The order of `answers`. Raises `JudgeFailedError` when it cannot be judged."""
        if not 2 <= len(answers) <= MOST_ANSWERS:
            raise ValueError(f"2 to {MOST_ANSWERS} answers can be put in order, not {len(answers)}")
        model = connected(self.model)
        forwards = list(range(len(answers)))
        backwards = forwards[::-1]
        there, back = await asyncio.gather(
            model.ask(self._question(case, answers, forwards)), model.ask(self._question(case, answers, backwards))
        )
        one = _ranks(there.values["ranking"], forwards)
        other = _ranks(back.values["ranking"], backwards)
        ranks = tuple((one[at] + other[at]) / 2 for at in forwards)
        return Ranking(
            case_id=case.id,
            order=tuple(sorted(forwards, key=lambda at: ranks[at])),
            ranks=ranks,
            consistency=_tau(one, other),
            rationales=(
                str(there.values["rationale"])[:RATIONALE_LIMIT],
                str(back.values["rationale"])[:RATIONALE_LIMIT],
            ),
            labels=tuple(dict.fromkeys((*there.labels, *back.labels))),
            tokens=None if there.tokens is None or back.tokens is None else there.tokens + back.tokens,
            cost=None if there.cost is None or back.cost is None else there.cost + back.cost,
        )

    def _question(self, case: EvalCase, answers: Sequence[str], shown: Sequence[int]) -> Question:
        rubric = self.rubric or "\n".join(each.text for each in case.rubrics)
        parts = [("rubric", rubric), ("prompt", case.prompt), ("golden answer", case.expected_answer or "")]
        kept = [(name, text) for name, text in parts if text]
        kept += [(f"answer {place}", answers[at]) for place, at in enumerate(shown, 1)]
        names = [str(place) for place in range(1, len(shown) + 1)]
        return Question(
            instructions=self.instructions,
            parts=tuple(kept),
            form=AnswerForm(
                name="rank_answers",
                description="Gives the order: first why, briefly, then every answer's number once, the best first.",
                properties={
                    "rationale": {"type": "string"},
                    "ranking": {"type": "array", "items": {"type": "string", "enum": names}},
                },
            ),
        )


def _ranks(ranking: Sequence[str], shown: Sequence[int]) -> dict[int, int]:
    """The rank of each answer; a judge names them by the places in which they were shown."""
    return {shown[int(name) - 1]: rank for rank, name in enumerate(ranking, 1)}


def _tau(one: dict[int, int], other: dict[int, int]) -> float | None:
    pairs = list(combinations(one, 2))
    alike = sum((one[a] - one[b]) * (other[a] - other[b]) > 0 for a, b in pairs)
    return (2 * alike - len(pairs)) / len(pairs) if pairs else None
