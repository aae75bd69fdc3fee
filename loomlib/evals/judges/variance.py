"""The same judge asked again: how much of a score is the judge's own chance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, pvariance, variance
from typing import TYPE_CHECKING, Any

from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .judge import ModelJudge

if TYPE_CHECKING:
    from loomlib.statistics import Estimate

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedVerdict:
    """One part of one case, judged several times by the same judge; `failed` counts the times it could not."""

    case_id: str
    part: str
    values: tuple[float, ...]
    passes: tuple[bool, ...]
    failed: int = 0

    @property
    def spread(self) -> float:
        """The standard deviation of the values (n − 1), 0 for fewer than two."""
        return variance(self.values) ** 0.5 if len(self.values) > 1 else 0.0

    @property
    def flips(self) -> bool:
        """Whether it passed some times and not others."""
        return len(set(self.passes)) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVariance:
    """How steady a judge is. `within` is the standard deviation of repeats of one verdict, `between` that of verdicts.

    `reliability` is the share of the variance that is not the judge's chance (one-way ICC(1) of the values); None where
    nothing varies or fewer than two verdicts were repeated. `flipping` is the share of verdicts that passed some times
    and not others.
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
        """One row a verdict, the least steady first."""
        rows = [
            {
                "case": each.case_id,
                "part": each.part,
                "mean": mean(each.values) if each.values else None,
                "sd": each.spread,
                "flips": each.flips,
                "failed": each.failed,
            }
            for each in self.verdicts
        ]
        return sorted(rows, key=lambda row: (not row["flips"], -float(row["sd"] or 0)))


async def judge_variance(
    judge: ModelJudge, items: Sequence[tuple[EvalCase, CaseAnswer]], *, repeats: int = 5
) -> JudgeVariance:
    """Asks `judge` about each answer `repeats` times. Cases that it does not apply to are left out.

    >>> items = [(run.evalset[each.case_id], each.answer) for each in run.judgements()]
    >>> await judge_variance(CorrectnessJudge().connected_to(bench.clients), items)
    """
    if repeats < 2:
        raise ValueError("a variance needs two repeats or more")
    found: dict[tuple[str, str], list[Score]] = {}
    lost = 0
    misses: dict[str, int] = {}
    for case, answer in items:
        said = await asyncio.gather(
            *(replace(judge, sample=sample).judge(case, answer) for sample in range(repeats)), return_exceptions=True
        )
        for each in said:
            if isinstance(each, JudgeFailedError):
                lost += 1
                misses[case.id] = misses.get(case.id, 0) + 1
            elif isinstance(each, BaseException):
                raise each
            elif not isinstance(each, NotApplicable):
                for score in each:
                    found.setdefault((case.id, score.part), []).append(score)
    verdicts = tuple(
        RepeatedVerdict(
            case_id=case_id,
            part=part,
            values=tuple(score.value for score in scores),
            passes=tuple(bool(score.passed) for score in scores),
            failed=misses.get(case_id, 0),
        )
        for (case_id, part), scores in found.items()
    )
    labels = tuple(dict.fromkeys(label for scores in found.values() for score in scores for label in score.labels))
    return _summary(verdicts, repeats, lost, labels)


def _summary(verdicts: tuple[RepeatedVerdict, ...], repeats: int, lost: int, labels: tuple[str, ...]) -> JudgeVariance:
    from loomlib.statistics import estimate_share

    repeated = [each.values for each in verdicts if len(each.values) > 1]
    freedom = sum(len(values) - 1 for values in repeated)
    inside = sum(pvariance(values) * len(values) for values in repeated) / freedom if freedom else None
    outside = reliability = None
    if inside is not None and len(repeated) > 1:
        size = len(repeated)
        counts = [len(values) for values in repeated]
        k = (sum(counts) - sum(count * count for count in counts) / sum(counts)) / (size - 1)
        middle = sum(map(sum, repeated)) / sum(counts)
        among = sum(count * (mean(values) - middle) ** 2 for count, values in zip(counts, repeated, strict=True))
        outside = max(0.0, (among / (size - 1) - inside) / k)
        reliability = outside / (outside + inside) if outside + inside > 0 else None
    return JudgeVariance(
        verdicts=verdicts,
        repeats=repeats,
        within=None if inside is None else inside**0.5,
        between=None if outside is None else outside**0.5,
        reliability=reliability,
        flipping=estimate_share(sum(each.flips for each in verdicts), len(verdicts)),
        failed=lost,
        labels=labels,
    )
