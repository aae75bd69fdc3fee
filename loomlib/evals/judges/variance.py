"""Repeat a judge's verdicts to measure how much of a score is the judge's own randomness."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import mean, pvariance, variance
from typing import TYPE_CHECKING, Any

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .judge import ModelJudge

if TYPE_CHECKING:
    from loomlib.statistics import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedVerdict:
    """One part of one answer, judged several times by the same judge.

    Attributes:
        case_id: The case.
        part: The part, "" for the whole answer.
        values: The values of the repeats.
        passes: Whether each repeat passed.
        failed: Repeats that could not be judged.
    """

    case_id: str
    part: str
    values: tuple[float, ...]
    passes: tuple[bool, ...]
    failed: int = 0

    @property
    def spread(self) -> float:
        """Standard deviation of the values (n − 1), 0 for fewer than two."""
        return variance(self.values) ** 0.5 if len(self.values) > 1 else 0.0

    @property
    def flips(self) -> bool:
        """Whether some repeats passed and others did not."""
        return len(set(self.passes)) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVariance:
    """How consistent a judge is.

    Attributes:
        verdicts: The repeated verdicts.
        repeats: How many times each verdict was requested.
        within: Standard deviation between repeats of one verdict.
        between: Standard deviation between verdicts.
        reliability: Share of the variance that is not the judge's randomness (one-way ICC(1) of the values); None when
            nothing varies or fewer than two verdicts were repeated.
        flipping: Share of the verdicts with two or more repeats in which some repeats passed and others did not.
        failed: Repeats that could not be judged.
        labels: Provenance labels.
    """

    verdicts: tuple[RepeatedVerdict, ...]
    repeats: int
    within: float | None
    between: float | None
    reliability: float | None
    flipping: Estimate
    failed: int
    labels: tuple[str, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each verdict, the least consistent first."""
        rows = [
            {
                "case": verdict.case_id,
                "part": verdict.part,
                "mean": mean(verdict.values) if verdict.values else None,
                "sd": verdict.spread,
                "flips": verdict.flips,
                "failed": verdict.failed,
            }
            for verdict in self.verdicts
        ]
        return sorted(rows, key=lambda row: (not row["flips"], -float(row["sd"] or 0)))


async def judge_variance(
    judge: ModelJudge, items: Sequence[tuple[EvalCase, CaseAnswer]], *, repeats: int = 5
) -> JudgeVariance:
    """Ask a judge about each answer several times; cases to which it does not apply are left out.

    Each of several answers to one case is a verdict of its own.

    Args:
        judge: The judge, connected to its model.
        items: Cases with their answers.
        repeats: How many times each is judged, at least 2.

    Examples:
        >>> items = [(run.evalset[judged.case_id], judged.answer) for judged in run.judgements()]
        >>> await judge_variance(CorrectnessJudge().connected_to(bench.clients), items)
    """
    if repeats < 2:
        raise ValueError("repeats must be at least 2")
    scores_by_part: dict[tuple[int, int], list[Score]] = {}  # by the positions of the item and of the score
    failed_by_item: Counter[int] = Counter()
    for item, (case, answer) in enumerate(items):
        replies = await asyncio.gather(
            *(replace(judge, sample=sample).judge(case, answer) for sample in range(repeats)), return_exceptions=True
        )
        for reply in replies:
            if isinstance(reply, JudgeFailedError):
                failed_by_item[item] += 1
            elif isinstance(reply, BaseException):
                raise reply
            elif not isinstance(reply, NotApplicable):
                for position, score in enumerate(reply):
                    scores_by_part.setdefault((item, position), []).append(score)
    verdicts = tuple(
        RepeatedVerdict(
            case_id=items[item][0].id,
            part=scores[0].part,
            values=tuple(score.value for score in scores),
            passes=tuple(bool(score.passed) for score in scores),
            failed=failed_by_item[item],
        )
        for (item, _), scores in scores_by_part.items()
    )
    labels = tuple(
        dict.fromkeys(label for scores in scores_by_part.values() for score in scores for label in score.labels)
    )
    return _summary(verdicts, repeats, failed_by_item.total(), labels)


def _summary(
    verdicts: tuple[RepeatedVerdict, ...], repeats: int, failed: int, labels: tuple[str, ...]
) -> JudgeVariance:
    from loomlib.statistics import estimate_share

    repeated = [verdict.values for verdict in verdicts if len(verdict.values) > 1]
    freedom = sum(len(values) - 1 for values in repeated)
    inside = sum(pvariance(values) * len(values) for values in repeated) / freedom if freedom else None
    outside = reliability = None
    if inside is not None and len(repeated) > 1:
        size = len(repeated)
        counts = [len(values) for values in repeated]
        k = (sum(counts) - sum(count * count for count in counts) / sum(counts)) / (size - 1)
        middle = mean(chain.from_iterable(repeated))  # exact where nothing varies, unlike a sum of floats
        among = sum(count * (mean(values) - middle) ** 2 for count, values in zip(counts, repeated, strict=True))
        outside = max(0.0, (among / (size - 1) - inside) / k)
        reliability = outside / (outside + inside) if outside + inside > 0 else None
    flipping = estimate_share(sum(verdict.flips for verdict in verdicts), len(repeated))
    return JudgeVariance(
        verdicts=verdicts,
        repeats=repeats,
        within=None if inside is None else inside**0.5,
        between=None if outside is None else outside**0.5,
        reliability=reliability,
        flipping=flipping if repeated else replace(flipping, reason="no verdict was repeated"),
        failed=failed,
        labels=labels,
    )
