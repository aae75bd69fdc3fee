"""A panel of judges: their votes on one answer, and their agreement."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.aws import Clients
from loomlib.errors import LoomError

from ..evaluators.connecting import connected
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import Evaluator, NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .session_spans import SessionSpanReader

if TYPE_CHECKING:
    from loomlib.statistics import Estimate


RULES: Final = ("majority", "mean", "median")


@dataclass(frozen=True, kw_only=True)
class JudgePanel:
    """Several judges asked concurrently; a rule combines their votes into one score.

    A judge that fails is a missing vote.

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
            raise next(iter(failed.values()))  # all judges failed in the same way: their own error is the clearest
        votes: dict[str, dict[str, Score]] = {}
        for name, reply in named_replies:
            for score in reply if isinstance(reply, list) else ():
                votes.setdefault(score.part, {})[name] = score
        needed = len(self.judges) // 2 + 1 if self.quorum is None else self.quorum
        fewest = min((len(part_votes) for part_votes in votes.values()), default=0)
        if fewest < needed:
            why = "; ".join(f"{name}: {error.what}" for name, error in failed.items()) or "the others abstained"
            raise JudgeFailedError(
                f"Only {fewest} of {len(self.judges)} judges voted; the quorum is {needed} ({why})", kind="no_quorum"
            )
        return [self._score(part, part_votes, failed) for part, part_votes in votes.items()]

    def _score(self, part: str, votes: Mapping[str, Score], failed: Mapping[str, JudgeFailedError]) -> Score:
        values = [vote.value for vote in votes.values()]
        verdicts = [vote.value >= 0.5 if vote.passed is None else vote.passed for vote in votes.values()]
        share = sum(verdicts) / len(verdicts)
        value = share if self.rule == "majority" else mean(values) if self.rule == "mean" else median(values)
        passed = share > 0.5 if self.threshold is None or self.rule == "majority" else value >= self.threshold
        tokens, costs = [vote.tokens for vote in votes.values()], [vote.cost for vote in votes.values()]
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
            tokens=None if None in tokens else sum(count for count in tokens if count is not None),
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        )


def panel_agreement(scores: Iterable[Score], *, of: str = "value", level: str = "interval", seed: int = 0) -> Estimate:
    """Return Krippendorff's alpha of a panel's judges over many of its scores, each a unit.

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
        reply: Any = judge.judge(case, answer)
        if hasattr(reply, "__await__"):
            reply = await reply
    except JudgeFailedError as error:
        return error
    except LoomError as error:
        return JudgeFailedError(error.what, kind="exception", on=error.on)
    except Exception as error:  # noqa: BLE001 - foreign code: the judge may come from a plugin
        return JudgeFailedError(f"{type(error).__name__}: {error}", kind="exception", on=judge.name)
    if isinstance(reply, (NotApplicable, JudgeFailedError)):
        return reply
    if isinstance(reply, bool):
        return [Score(value=float(reply), passed=reply)]
    if isinstance(reply, (int, float)):
        return [Score(value=float(reply))]
    return [reply] if isinstance(reply, Score) else list(cast("Sequence[Score]", reply))


def _reading(judge: Evaluator, source: SessionSpanReader) -> Evaluator:
    read_spans_from = getattr(judge, "with_spans", None)
    return judge if read_spans_from is None else read_spans_from(source)


def _names(judges: Sequence[Evaluator]) -> list[str]:
    """Return the judges' names, numbered where two have the same."""
    names = [judge.name for judge in judges]
    return [f"{name} {at + 1}" if names.count(name) > 1 else name for at, name in enumerate(names)]
