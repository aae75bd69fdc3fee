"""Compare two answers in both orders, so that a judge's position bias cannot decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loomlib.aws import Clients
from loomlib.presentation.formats import percent

from ..values.cases import EvalCase
from .judge import connected
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel, JudgeReply, all_replies
from .question import RATIONALE_LIMIT, Question, ReplyForm

if TYPE_CHECKING:
    from loomlib.statistics import Estimate

WINNERS: Final = ("first", "second", "tie")
_BETTER = (
    "Two answers to the same prompt are given, in no particular order. Judge which of them is better by the rubric; "
    "without one, by how well it answers the prompt. Longer is not better. Say tie when neither is."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """Which of two answers is better, asked in both orders.

    Attributes:
        case_id: The case.
        winner: "first", "second" or "tie"; "tie" when the two orders disagree.
        votes: The vote of each order ("first", "second" or "tie").
        rationales: The rationale of each order.
        favoured: "shown first" or "shown second" when the same position won both times, else None.
        labels: Provenance labels.
        tokens: Tokens used, None when unknown.
        cost: US dollars, None when unknown.
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
        """Whether both orders gave the same vote."""
        return self.votes[0] == self.votes[1]


@dataclass(frozen=True, kw_only=True)
class PairwiseJudge:
    """Compares two answers to a case.

    Examples:
        >>> verdict = await PairwiseJudge(model=ConverseJudge(clients=bench.clients)).compare(case, old, new)
        >>> verdict.winner
        'second'
    """

    model: JudgeModel | str = DEFAULT_MODEL
    rubric: str | None = None
    instructions: str = _BETTER

    def connected_to(self, clients: Clients) -> PairwiseJudge:
        """Return this judge with a connection to its model; itself when it has a model already."""
        if not isinstance(self.model, str):
            return self
        model = ConverseJudge(clients=clients, model_id=self.model)
        return PairwiseJudge(model=model, rubric=self.rubric, instructions=self.instructions)

    async def compare(self, case: EvalCase, first: str, second: str) -> PairVerdict:
        """Judge which of two answers is better.

        Args:
            case: The case that both answer.
            first: One answer.
            second: The other answer.

        Raises:
            JudgeFailedError: Either order cannot be judged.
        """
        model = connected(self.model)
        forward, reverse = await all_replies(
            model.ask(self._question(case, first, second)), model.ask(self._question(case, second, first))
        )
        votes = (_vote(forward, "first", "second"), _vote(reverse, "second", "first"))
        positions = (str(forward.values["winner"]), str(reverse.values["winner"]))
        favoured = {"A": "shown first", "B": "shown second"}.get(positions[0]) if positions[0] == positions[1] else None
        return PairVerdict(
            case_id=case.id,
            winner=votes[0] if votes[0] == votes[1] else "tie",
            votes=votes,
            rationales=(
                str(forward.values["rationale"])[:RATIONALE_LIMIT],
                str(reverse.values["rationale"])[:RATIONALE_LIMIT],
            ),
            favoured=favoured,
            labels=tuple(dict.fromkeys((*forward.labels, *reverse.labels))),
            tokens=None if forward.tokens is None or reverse.tokens is None else forward.tokens + reverse.tokens,
            cost=None if forward.cost is None or reverse.cost is None else forward.cost + reverse.cost,
        )

    def _question(self, case: EvalCase, shown_first: str, shown_second: str) -> Question:
        rubric = self.rubric or "\n".join(item.text for item in case.rubrics)
        parts = [("rubric", rubric), ("prompt", "\n".join(turn.prompt for turn in case.turns) or case.prompt)]
        if case.expected_answer is not None:
            parts.append(("golden answer", case.expected_answer))
        parts += [("answer A", shown_first), ("answer B", shown_second)]
        return Question(
            instructions=self.instructions,
            parts=tuple((name, text) for name, text in parts if text or name.startswith("answer")),
            form=ReplyForm(
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
    """Summary of many comparisons.

    Attributes:
        n: Number of comparisons.
        wins: Comparisons won by "first", "second", and ties.
        second_better: Share of comparisons won by the second, with ties counted half; it has no interval.
        first_wins: Share of comparisons that the first won.
        second_wins: Share of comparisons that the second won.
        inconsistent: Share of comparisons in which the two orders disagreed.
        position_bias: Share of comparisons in which the same position won both times.
        favoured: Comparisons by the position that won both times.
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
        """Summarize the comparisons in one sentence."""
        if not self.n:
            return "There are no comparisons."
        won = ", ".join(f"{side} {self.wins[side]}" for side in WINNERS)
        share = self.position_bias.value or 0.0
        return f"{won} of {self.n}; the order decided {percent(share)} of the comparisons (counted as ties)."


def summarize_pairs(verdicts: Sequence[PairVerdict]) -> PairwiseSummary:
    """Summarize comparisons; shares have Wilson's interval."""
    from loomlib.statistics import estimate_share

    n = len(verdicts)
    wins = Counter(verdict.winner for verdict in verdicts)
    favoured = Counter(verdict.favoured for verdict in verdicts if verdict.favoured is not None)
    return PairwiseSummary(
        n=n,
        wins={side: wins[side] for side in WINNERS},
        second_better=(wins["second"] + wins["tie"] / 2) / n if n else None,
        first_wins=estimate_share(wins["first"], n),
        second_wins=estimate_share(wins["second"], n),
        inconsistent=estimate_share(sum(not verdict.is_consistent for verdict in verdicts), n),
        position_bias=estimate_share(sum(favoured.values()), n),
        favoured={position: favoured[position] for position in ("shown first", "shown second")},
    )


def _vote(reply: JudgeReply, shown_first: str, shown_second: str) -> str:
    return {"A": shown_first, "B": shown_second, "tie": "tie"}[str(reply.values["winner"])]
