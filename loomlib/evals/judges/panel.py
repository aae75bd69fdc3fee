"""A panel: several judges of one answer, their votes, and how far they agree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.errors import LoomError

from ..evaluators.connecting import connected
from ..values.digests import digest_of
from ..values.evaluator import Evaluator, NotApplicable, Score
from ..values.judge_error import JudgeFailedError

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.statistics import Estimate

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase
    from .session_spans import SpanSource

RULES: Final = ("majority", "mean", "median")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Several judges, asked side by side; the panel's score is made of their votes by a rule.

    majority: the share of judges that let it pass; it passes with more than half of them (a tie does not). mean and
    median: of the judges' values, passing at `threshold` where there is one, else by the majority. A judge that fails
    is a vote missing; with fewer votes than `quorum` (more than half of the judges when None) the panel fails.

    >>> agent.evaluate(evalset, Panel(judges=(CorrectnessJudge(), CorrectnessJudge(model="amazon.nova-pro-v1:0"))))
    """

    judges: tuple[Evaluator, ...]
    name: str = "panel"
    rule: str = "majority"
    threshold: float | None = None
    quorum: int | None = None

    is_quick = False

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"a panel's rule is one of {', '.join(RULES)}, not {self.rule!r}")
        if not self.judges:
            raise ValueError("a panel has judges")

    @property
    def level(self) -> str:
        return self.judges[0].level

    @property
    def needs_tools(self) -> bool:
        return any(each.needs_tools for each in self.judges)

    @property
    def digest(self) -> str:
        return digest_of(
            "Panel", self.name, self.rule, self.threshold, self.quorum, [each.digest for each in self.judges]
        )

    def connected_to(self, clients: Clients) -> Panel:
        """The panel with every judge that can be connected, connected."""
        return replace(self, judges=tuple(connected(each, clients) for each in self.judges))

    def with_spans(self, source: SpanSource) -> Panel:
        """The panel with every judge that reads an agent's spans reading them from `source`."""
        return replace(self, judges=tuple(_reading(each, source) for each in self.judges))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """One score a part, with all votes in its details. Raises `JudgeFailedError` ("no_quorum")."""
        said = await asyncio.gather(*(_ask(each, case, answer) for each in self.judges))
        names = _names(self.judges)
        if all(isinstance(each, NotApplicable) for each in said):
            return cast("NotApplicable", said[0])
        failed = {name: each for name, each in zip(names, said, strict=True) if isinstance(each, JudgeFailedError)}
        if len(failed) == len(said) and len({(each.kind, each.what) for each in failed.values()}) == 1:
            raise next(iter(failed.values()))  # nothing that a panel could say better
        votes: dict[str, dict[str, Score]] = {}
        for name, each in zip(names, said, strict=True):
            for score in each if isinstance(each, list) else ():
                votes.setdefault(score.part, {})[name] = score
        needed = len(self.judges) // 2 + 1 if self.quorum is None else self.quorum
        fewest = min((len(each) for each in votes.values()), default=0)
        if fewest < needed:
            why = "; ".join(f"{name}: {each.what}" for name, each in failed.items()) or "the others abstained"
            raise JudgeFailedError(
                f"{fewest} of {len(self.judges)} judges voted, {needed} are needed ({why})", kind="no_quorum"
            )
        return [self._score(part, given, failed) for part, given in votes.items()]

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
                {"judge": name, "kind": each.kind, "message": each.what} for name, each in failed.items()
            ]
        return Score(
            value=value,
            passed=passed,
            rationale=f"{sum(verdicts)} of {len(verdicts)} judges let it pass.",
            part=part,
            details=details,
            labels=tuple(dict.fromkeys(label for vote in votes.values() for label in vote.labels)),
            tokens=None if None in tokens else sum(each for each in tokens if each is not None),
            cost=None if None in costs else sum(each for each in costs if each is not None),
        )


def panel_agreement(scores: Iterable[Score], *, of: str = "value", level: str = "interval", seed: int = 0) -> Estimate:
    """Krippendorff's alpha of a panel's judges over many of its scores, each a unit.

    `of` is "value" or "passed"; `level` is nominal, ordinal or interval.
    """
    from loomlib.statistics import estimate_alpha

    units = [cast("Sequence[Mapping[str, Any]]", score.details["votes"]) for score in scores]
    names = list(dict.fromkeys(str(vote["judge"]) for unit in units for vote in unit))
    table = [{str(vote["judge"]): vote[of] for vote in unit} for unit in units]
    ratings = [[None if row.get(name) is None else float(row[name]) for row in table] for name in names]
    return estimate_alpha(ratings, level, seed=seed)


async def _ask(judge: Evaluator, case: EvalCase, answer: CaseAnswer) -> list[Score] | NotApplicable | JudgeFailedError:
    try:
        said: Any = judge.judge(case, answer)
        if hasattr(said, "__await__"):
            said = await said
    except JudgeFailedError as error:
        return error
    except LoomError as error:
        return JudgeFailedError(error.what, kind="exception", on=error.on)
    except Exception as error:  # noqa: BLE001 - foreign code: a judge of a plugin's
        return JudgeFailedError(f"{type(error).__name__}: {error}", kind="exception", on=judge.name)
    if isinstance(said, (NotApplicable, JudgeFailedError)):
        return said
    if isinstance(said, bool):
        return [Score(value=float(said), passed=said)]
    if isinstance(said, (int, float)):
        return [Score(value=float(said))]
    return [said] if isinstance(said, Score) else list(cast("Sequence[Score]", said))


def _reading(judge: Evaluator, source: SpanSource) -> Evaluator:
    give = getattr(judge, "with_spans", None)
    return judge if give is None else give(source)


def _names(judges: Sequence[Evaluator]) -> list[str]:
    """Each judge's name, numbered where two have one."""
    names = [each.name for each in judges]
    return [f"{name} {at + 1}" if names.count(name) > 1 else name for at, name in enumerate(names)]
