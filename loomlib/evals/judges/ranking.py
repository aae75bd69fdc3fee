"""Rank several answers, asked in forward and reverse order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from loomlib.aws import Clients

from ..values.cases import EvalCase
from .judge import connected
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel, all_replies
from .question import RATIONALE_LIMIT, Question, ReplyForm

MOST_ANSWERS: Final = 20
_ORDER = (
    "Several answers to the same prompt are given, in no particular order. Put them in order, the best one first, by "
    "the rubric; without one, by how well they answer the prompt. Longer is not better."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Answers ranked from best to worst, by their index in the given answers (from 0).

    Attributes:
        case_id: The case.
        order: Indices from best to worst; ties keep the given order.
        ranks: Mean rank of each answer over both orders; 1 is best.
        consistency: Kendall's tau between the two orders: 1 identical, −1 reversed, None for one answer.
        rationales: The rationale of each order.
        labels: Provenance labels.
        tokens: Tokens used, None when unknown.
        cost: US dollars, None when unknown.
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
    """Ranks up to 20 answers to a case.

    Examples:
        >>> (await RankingJudge(model=ConverseJudge(clients=bench.clients)).rank(case, ["4", "about four", "5"])).order
        (0, 1, 2)
    """

    model: JudgeModel | str = DEFAULT_MODEL
    rubric: str | None = None
    instructions: str = _ORDER

    def connected_to(self, clients: Clients) -> RankingJudge:
        """Return this judge with a connection to its model; itself when it has a model already."""
        if not isinstance(self.model, str):
            return self
        model = ConverseJudge(clients=clients, model_id=self.model)
        return RankingJudge(model=model, rubric=self.rubric, instructions=self.instructions)

    async def rank(self, case: EvalCase, answers: Sequence[str]) -> Ranking:
        """Rank `answers`.

        Raises:
            ValueError: There are fewer than 2 or more than 20 answers.
            JudgeFailedError: Either order cannot be judged.
        """
        if not 2 <= len(answers) <= MOST_ANSWERS:
            raise ValueError(f"a ranking takes 2 to {MOST_ANSWERS} answers, not {len(answers)}")
        model = connected(self.model)
        forwards = list(range(len(answers)))
        backwards = forwards[::-1]
        forward, reverse = await all_replies(
            model.ask(self._question(case, answers, forwards)), model.ask(self._question(case, answers, backwards))
        )
        forward_ranks = _ranks(forward.values["ranking"], forwards)
        reverse_ranks = _ranks(reverse.values["ranking"], backwards)
        ranks = tuple((forward_ranks[index] + reverse_ranks[index]) / 2 for index in forwards)
        return Ranking(
            case_id=case.id,
            order=tuple(sorted(forwards, key=lambda index: ranks[index])),
            ranks=ranks,
            consistency=_tau(forward_ranks, reverse_ranks),
            rationales=(
                str(forward.values["rationale"])[:RATIONALE_LIMIT],
                str(reverse.values["rationale"])[:RATIONALE_LIMIT],
            ),
            labels=tuple(dict.fromkeys((*forward.labels, *reverse.labels))),
            tokens=None if forward.tokens is None or reverse.tokens is None else forward.tokens + reverse.tokens,
            cost=None if forward.cost is None or reverse.cost is None else forward.cost + reverse.cost,
        )

    def _question(self, case: EvalCase, answers: Sequence[str], order: Sequence[int]) -> Question:
        rubric = self.rubric or "\n".join(item.text for item in case.rubrics)
        prompt = "\n".join(turn.prompt for turn in case.turns) or case.prompt
        parts = [("rubric", rubric), ("prompt", prompt), ("golden answer", case.expected_answer or "")]
        present = [(name, text) for name, text in parts if text]
        present += [(f"answer {number}", answers[index]) for number, index in enumerate(order, 1)]
        names = [str(number) for number in range(1, len(order) + 1)]
        return Question(
            instructions=self.instructions,
            parts=tuple(present),
            form=ReplyForm(
                name="rank_answers",
                description="Gives the order: first why, briefly, then every answer's number once, the best first.",
                properties={
                    "rationale": {"type": "string"},
                    "ranking": {"type": "array", "items": {"type": "string", "enum": names}},
                },
            ),
        )


def _ranks(ranking: Sequence[str], order: Sequence[int]) -> dict[int, int]:
    """Return the rank of each answer; the judge names answers by the positions in which they were shown."""
    return {order[int(name) - 1]: rank for rank, name in enumerate(ranking, 1)}


def _tau(one: dict[int, int], other: dict[int, int]) -> float | None:
    pairs = list(combinations(one, 2))
    alike = sum((one[a] - one[b]) * (other[a] - other[b]) > 0 for a, b in pairs)
    return (2 * alike - len(pairs)) / len(pairs) if pairs else None
