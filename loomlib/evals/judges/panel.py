"""A panel of judges: their votes on one answer, and their agreement."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.aws import Clients
from loomlib.errors import LoomError

from ..evaluators.calling import returned_by
from ..evaluators.connecting import connected
from ..values.answers import CaseAnswer, CaseFailure
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import Evaluator, NotApplicable, Score, reaches
from ..values.judge_error import JudgeFailedError
from ..values.verdicts import judged_of
from .session_spans import SessionSpanReader

if TYPE_CHECKING:
    from loomlib.statistics import Estimate


RULES: Final = ("majority", "mean", "median")


@dataclass(frozen=True, kw_only=True)
class JudgePanel:
    """Several judges asked concurrently; a rule combines their votes into one score.

    A judge that fails, or returns no verdict, is a missing vote. Where a judge has several parts of the same name, the
    second is named "<name> (2)" and so on. If a judge returns several scores without a part, their mean is its vote.

    Attributes:
        judges: The judges.
        name: Name of the score column.
        rule: "majority" scores the share of judges that pass the answer, which passes with more than half of them (a
            tie fails). "mean" and "median" combine the judges' values, and pass at `threshold`, or by majority without
            one.
        threshold: Minimum value that passes with "mean" and "median".
        quorum: Minimum number of votes; more than half of the judges by default. With fewer votes the panel fails.

    Examples:
        >>> panel = JudgePanel(judges=(CorrectnessJudge(), CorrectnessJudge(model="amazon.nova-pro-v1:0")))
        >>> agent.evaluate(evalset, panel)
    """

    judges: tuple[Evaluator, ...]
    name: str = "panel"
    rule: str = "majority"
    threshold: float | None = None
    quorum: int | None = None

    is_quick = False

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, not {self.rule!r}")
        if not self.judges:
            raise ValueError("a panel needs at least one judge")

    @property
    def level(self) -> str:
        """What is judged: the level of the first judge."""
        return self.judges[0].level

    @property
    def needs_tools(self) -> bool:
        """Whether any judge needs the trajectory."""
        return any(judge.needs_tools for judge in self.judges)

    @property
    def digest(self) -> str:
        """Hash of the rule and of all judges."""
        return digest_of(
            "Panel", self.name, self.rule, self.threshold, self.quorum, [judge.digest for judge in self.judges]
        )

    def connected_to(self, clients: Clients) -> JudgePanel:
        """Return the panel with its judges connected to their models."""
        return replace(self, judges=tuple(connected(judge, clients) for judge in self.judges))

    def with_spans(self, source: SessionSpanReader) -> JudgePanel:
        """Return the panel with its judges reading the agent's spans from `source`."""
        return replace(self, judges=tuple(_reading(judge, source) for judge in self.judges))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """Return one score for each part, with all votes in its details.

        Raises:
            JudgeFailedError: Too few judges voted ("no_quorum").
        """
        replies = await asyncio.gather(*(_ask(judge, case, answer) for judge in self.judges))
        names = _names(self.judges)
        if all(isinstance(reply, NotApplicable) for reply in replies):
            return cast("NotApplicable", replies[0])
        named_replies = list(zip(names, replies, strict=True))
        failed = {name: reply for name, reply in named_replies if isinstance(reply, JudgeFailedError)}
        if len(failed) == len(replies) and len({(error.kind, error.what) for error in failed.values()}) == 1:
            error = next(iter(failed.values()))  # all judges failed in the same way: their own error is the clearest
            error.tokens, error.cost = _spent(failed.values())
            raise error
        votes: dict[str, dict[str, Score]] = {}
        for name, reply in named_replies:
            taken: set[str] = set()
            for score in reply if isinstance(reply, list) else ():
                part, number = score.part, 1
                while part in taken:
                    number += 1
                    part = f"{score.part} ({number})"
                taken.add(part)
                votes.setdefault(part, {})[name] = score
        needed = len(self.judges) // 2 + 1 if self.quorum is None else self.quorum
        fewest = min((len(part_votes) for part_votes in votes.values()), default=0)
        if fewest < needed:
            why = "; ".join(f"{name}: {error.what}" for name, error in failed.items()) or "the others abstained"
            tokens, cost = _spent([*failed.values(), *(vote for row in votes.values() for vote in row.values())])
            raise JudgeFailedError(
                f"Only {fewest} of {len(self.judges)} judges voted; the quorum is {needed} ({why})",
                kind="no_quorum",
                tokens=tokens,
                cost=cost,
            )
        scores = [self._score(part, part_votes, failed) for part, part_votes in votes.items()]
        return [*(_with_spent(score, failed.values()) for score in scores[:1]), *scores[1:]]

    def _score(self, part: str, votes: Mapping[str, Score], failed: Mapping[str, JudgeFailedError]) -> Score:
        values = [vote.value for vote in votes.values()]
        verdicts = [vote.value >= 0.5 if vote.passed is None else vote.passed for vote in votes.values()]
        share = sum(verdicts) / len(verdicts)
        value = share if self.rule == "majority" else mean(values) if self.rule == "mean" else median(values)
        passed = share > 0.5 if self.threshold is None or self.rule == "majority" else reaches(value, self.threshold)
        details: dict[str, Any] = {
            "rule": self.rule,
            "votes": [
                {"judge": name, "value": vote.value, "passed": vote.passed, "rationale": vote.rationale}
                for name, vote in votes.items()
            ],
            "unanimous": len(set(verdicts)) == 1,
        }
        if failed:
            details["missing"] = [
                {"judge": name, "kind": error.kind, "message": error.what} for name, error in failed.items()
            ]
        return Score(
            value=value,
            passed=passed,
            rationale=f"{sum(verdicts)} of {len(verdicts)} judges passed the answer.",
            part=part,
            details=details,
            labels=tuple(dict.fromkeys(label for vote in votes.values() for label in vote.labels)),
            tokens=_total([vote.tokens for vote in votes.values()]),
            cost=_total([vote.cost for vote in votes.values()]),
        )


def panel_agreement(scores: Iterable[Score], *, of: str = "value", level: str = "interval", seed: int = 0) -> Estimate:
    """Return Krippendorff's alpha of a panel's judges; each of the panel's scores is one unit.

    Args:
        scores: Scores of a `JudgePanel`.
        of: What is compared, "value" or "passed".
        level: Level of measurement: "nominal", "ordinal" or "interval".
        seed: Seed of the bootstrap interval.
    """
    from loomlib.statistics import estimate_alpha

    units = [cast("Sequence[Mapping[str, Any]]", score.details["votes"]) for score in scores]
    names = list(dict.fromkeys(str(vote["judge"]) for unit in units for vote in unit))
    table = [{str(vote["judge"]): vote[of] for vote in unit} for unit in units]
    ratings = [[None if row.get(name) is None else float(row[name]) for row in table] for name in names]
    return estimate_alpha(ratings, level, seed=seed)


async def _ask(judge: Evaluator, case: EvalCase, answer: CaseAnswer) -> list[Score] | NotApplicable | JudgeFailedError:
    try:
        return _votes_of(await returned_by(judge, case, answer), judge)
    except JudgeFailedError as error:
        return error
    except LoomError as error:
        return JudgeFailedError(error.what, kind="exception", on=error.on)
    except Exception as error:  # noqa: BLE001 - foreign code: the judge may come from a plugin
        return JudgeFailedError(f"{type(error).__name__}: {error}", kind="exception", on=judge.name)


def _votes_of(returned: object, judge: Evaluator) -> list[Score] | NotApplicable | JudgeFailedError:
    """Return a judge's votes: one overall vote, combined from its scores without a part, and one vote for each part.

    Raises:
        TypeError: `returned` is not a verdict.
        ValueError: `returned` is not a finite number.
    """
    judged = judged_of(returned, judge.name)
    if isinstance(judged, CaseFailure):
        return JudgeFailedError(judged.message, kind=judged.kind, attempts=judged.attempts)
    if isinstance(judged, NotApplicable):
        return judged
    several = cast("Sequence[Score]", returned) if isinstance(returned, Sequence) else judged
    scores = [returned] if isinstance(returned, Score) else several
    parts = [score for score in scores if score.part]
    if len(parts) == len(scores):
        return parts
    overall = [score for score in scores if not score.part]
    tokens, cost = _total([score.tokens for score in overall]), _total([score.cost for score in overall])
    whole = cast("tuple[Score, ...]", judged_of(overall, judge.name))[0]
    return [replace(whole, tokens=tokens, cost=cost), *parts]


def _total(counts: Sequence[float | None]) -> Any:
    """Return the sum, None when one is unknown."""
    return None if None in counts else sum(count for count in counts if count is not None)


def _spent(paid: Iterable[Score | JudgeFailedError]) -> tuple[int, float]:
    """Return the known tokens and dollars of scores and failures."""
    items = list(paid)
    return sum(item.tokens or 0 for item in items), sum(item.cost or 0.0 for item in items)


def _with_spent(score: Score, failed: Iterable[JudgeFailedError]) -> Score:
    """Return a score with the tokens and dollars of the judges that failed."""
    tokens, cost = _spent(failed)
    return replace(score, tokens=_total([score.tokens, tokens]), cost=_total([score.cost, cost]))


def _reading(judge: Evaluator, source: SessionSpanReader) -> Evaluator:
    read_spans_from = getattr(judge, "with_spans", None)
    return judge if read_spans_from is None else read_spans_from(source)


def _names(judges: Sequence[Evaluator]) -> list[str]:
    """Return the judges' names, numbered where two have the same."""
    names = [judge.name for judge in judges]
    return [f"{name} {at + 1}" if names.count(name) > 1 else name for at, name in enumerate(names)]
