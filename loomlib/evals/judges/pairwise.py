"""Two answers against each other, asked in both orders, so that a judge's love of a place decides nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..values.cases import EvalCase
from .judge import connected
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel, JudgeReply
from .question import RATIONALE_LIMIT, AnswerForm, Question

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.statistics import Estimate

WINNERS: Final = ("first", "second", "tie")
_BETTER = (
    "Two answers to the same prompt are given, in no particular order. Judge which of them is better by the rubric; "
    "without one, by how well it answers the prompt. Longer is not better. Say tie when neither is."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """Who is better, asked twice. `votes` are what each order said of the answers ("first", "second", "tie").

    Where the orders differ the winner is "tie" and `is_consistent` is False. `favoured` is the place that then won
    both times ("shown first", "shown second"), None when one of the votes was a tie.
    """

    case_id: str
    winner: str
    votes: tuple[str, str]
    rationales: tuple[str, str] = field(repr=False)
    favoured: str | None = None
    labels: tuple[str, ...] = ()
    tokens: int | None = None
    cost: float | None = None

    @property
    def is_consistent(self) -> bool:
        return self.votes[0] == self.votes[1]


@dataclass(frozen=True, kw_only=True)
class PairwiseJudge:
    """Compares two answers to a case.

    >>> verdict = await PairwiseJudge(model=ConverseJudge(clients=bench.clients)).compare(case, old, new)
    >>> verdict.winner
    'second'
    """

    model: JudgeModel | str = DEFAULT_MODEL
    rubric: str | None = None
    instructions: str = _BETTER

    def connected_to(self, clients: Clients) -> PairwiseJudge:
        """This judge with its model behind `clients`."""
        if not isinstance(self.model, str):
            return self
        model = ConverseJudge(clients=clients, model_id=self.model)
        return PairwiseJudge(model=model, rubric=self.rubric, instructions=self.instructions)

    async def compare(self, case: EvalCase, first: str, second: str) -> PairVerdict:
        """Which of two answers is better. Raises `JudgeFailedError` when either order cannot be judged."""
        model = connected(self.model)
        there, back = await asyncio.gather(
            model.ask(self._question(case, first, second)), model.ask(self._question(case, second, first))
        )
        votes = (_vote(there, "first", "second"), _vote(back, "second", "first"))
        seats = (str(there.values["winner"]), str(back.values["winner"]))
        favoured = {"A": "shown first", "B": "shown second"}.get(seats[0]) if seats[0] == seats[1] else None
        return PairVerdict(
            case_id=case.id,
            winner=votes[0] if votes[0] == votes[1] else "tie",
            votes=votes,
            rationales=(
                str(there.values["rationale"])[:RATIONALE_LIMIT],
                str(back.values["rationale"])[:RATIONALE_LIMIT],
            ),
            favoured=favoured,
            labels=tuple(dict.fromkeys((*there.labels, *back.labels))),
            tokens=None if there.tokens is None or back.tokens is None else there.tokens + back.tokens,
            cost=None if there.cost is None or back.cost is None else there.cost + back.cost,
        )

    def _question(self, case: EvalCase, shown_first: str, shown_second: str) -> Question:
        rubric = self.rubric or "\n".join(each.text for each in case.rubrics)
        parts = [("rubric", rubric), ("prompt", "\n".join(turn.prompt for turn in case.turns) or case.prompt)]
        if case.expected_answer is not None:
            parts.append(("golden answer", case.expected_answer))
        parts += [("answer A", shown_first), ("answer B", shown_second)]
        return Question(
            instructions=self.instructions,
            parts=tuple((name, text) for name, text in parts if text or name.startswith("answer")),
            form=AnswerForm(
                name="compare_answers",
                description="Says which answer is better: first why, in one to three sentences, then which.",
                properties={
                    "rationale": {"type": "string"},
                    "winner": {"type": "string", "enum": ["A", "B", "tie"]},
                },
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseSummary:
    """Many comparisons: how often each side won, and how often the order decided.

    `second_better` is the second's share of all comparisons, a tie counted as half of one (so without an interval).
    `inconsistent` is the share of comparisons in which both orders did not agree; `position_bias` that in which the
    same place won both times, which is what a judge does who looks at places.
    """

    n: int
    wins: dict[str, int]
    second_better: float | None
    first_wins: Estimate
    second_wins: Estimate
    inconsistent: Estimate
    position_bias: Estimate
    favoured: dict[str, int]

    def sentence(self) -> str:
        """The outcome in words."""
        if not self.n:
            return "Nothing was compared."
        won = ", ".join(f"{side} {self.wins[side]}" for side in WINNERS)
        share = self.position_bias.value or 0.0
        return f"{won} of {self.n}; the order decided in {share:.0%} (counted as ties)."


def summarize_pairs(verdicts: Sequence[PairVerdict]) -> PairwiseSummary:
    """The summary of comparisons; shares have Wilson's interval."""
    from loomlib.statistics import estimate_share

    n = len(verdicts)
    wins = Counter(each.winner for each in verdicts)
    favoured = Counter(each.favoured for each in verdicts if each.favoured is not None)
    return PairwiseSummary(
        n=n,
        wins={side: wins[side] for side in WINNERS},
        second_better=(wins["second"] + wins["tie"] / 2) / n if n else None,
        first_wins=estimate_share(wins["first"], n),
        second_wins=estimate_share(wins["second"], n),
        inconsistent=estimate_share(sum(not each.is_consistent for each in verdicts), n),
        position_bias=estimate_share(sum(favoured.values()), n),
        favoured={place: favoured[place] for place in ("shown first", "shown second")},
    )


def _vote(reply: JudgeReply, shown_first: str, shown_second: str) -> str:
    return {"A": shown_first, "B": shown_second, "tie": "tie"}[str(reply.values["winner"])]
