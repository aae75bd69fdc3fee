"""ADK's criteria by name ("adk:final_response_match_v2"), for eval sets that come with a `test_config.json`.

| criterion | judged by |
|---|---|
| `tool_trajectory_avg_score`, `response_match_score` | `trajectory`, `rouge1`: the same figures, nobody is asked |
| `final_response_match_v2` | each turn's answer against the expected one |
| `rubric_based_final_response_quality_v1`, `rubric_based_tool_use_quality_v1` | each turn by each rubric of that type |
| `rubric_based_multi_turn_trajectory_quality_v1` | the conversation by each rubric of that type |
| `hallucinations_v1` | each turn: what share of its claims the steps bear out, in one verdict (ADK: each sentence) |
| `safety_v1` | each turn: harmless or not (ADK asks Vertex AI) |
| `response_evaluation_score` | each turn's coherence on five steps (ADK asks Vertex AI; its 1…5 are 0…1 here) |
| `multi_turn_task_success_v1`, `…_trajectory_quality_v1`, `…_tool_use_quality_v1` | the conversation |

What ADK asks its judging model `num_samples` times is asked so often here too: each part by majority, a tie against
the agent, and the mean of the parts against the threshold. A judging model that Bedrock does not have (Gemini) is
replaced by Loom's, which a label says. `judge_model_config` and `parallelism_limit` are Gemini's own and not used; a
run has `judge_concurrency`. The criteria without a counterpart (the user simulator's quality, counts without a bar)
apply to no case and say why; a criterion that nobody knows is an `EvalError`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.errors import EvalError

from ..evaluators.builtins import MAKERS
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase, Rubric
from ..values.digests import digest_of
from ..values.evaluator import Evaluator, NotApplicable, Score
from .adk_kinds import ASKED_ONCE, EXACT, JUDGES, WITHOUT_COUNTERPART
from .judge import ModelJudge
from .model import DEFAULT_MODEL
from .panel import Panel
from .turn_judges import TurnRubricJudge

if TYPE_CHECKING:
    from loomlib.aws import Clients

ADK_SAMPLES: Final = 5
OTHER_MODEL: Final = "another judge than ADK's"
"""The label of verdicts by Loom's judging model where the criterion names one that Bedrock does not have."""
_PREFIX: Final = "adk:"
_OF_BEDROCK: Final = re.compile(r"arn:|(?:[a-z-]{2,10}\.)?[a-z][a-z0-9]*\.[a-z]")
_NOT_USED: Final = ("judge_model_config", "parallelism_limit")


@dataclass(frozen=True, kw_only=True)
class AdkJudge:
    """A criterion of ADK: `judge` asked `samples` times; passes where the mean of the parts reaches `threshold`."""

    criterion: str
    judge_of: ModelJudge
    samples: int = ADK_SAMPLES
    threshold: float = 0.5
    with_texts: bool = False
    asked_for: str = ""

    is_quick = False

    @property
    def name(self) -> str:
        return _PREFIX + self.criterion

    @property
    def level(self) -> str:
        return self.judge_of.level

    @property
    def needs_tools(self) -> bool:
        return self.judge_of.needs_tools

    @property
    def digest(self) -> str:
        return digest_of(
            "AdkJudge", self.criterion, self.judge_of.digest, self.samples, self.threshold, self.with_texts,
            self.asked_for,
        )  # fmt: skip

    def connected_to(self, clients: Clients) -> AdkJudge:
        """This judge with its model behind `clients`."""
        return replace(self, judge_of=self.judge_of.connected_to(clients))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """The mean of the parts first, then each. Raises `JudgeFailedError`."""
        if self.with_texts:
            case, answer = _with_texts(case, answer)
        judges = tuple(replace(self.judge_of, sample=sample) for sample in range(self.samples))
        said = await Panel(judges=judges, rule=_rule(self.judge_of)).judge(case, answer)
        if isinstance(said, NotApplicable):
            return said
        parts = [self._part(each) for each in said]
        value = sum(each.value for each in parts) / len(parts)
        passed = value >= self.threshold
        if len(parts) == 1:
            return [replace(parts[0], passed=passed, part="")]
        labels = tuple(dict.fromkeys(label for each in parts for label in each.labels))
        low = [each.part for each in parts if not each.passed]
        rationale = f"mean of {len(parts)} parts" + (f"; not passed: {', '.join(low)}" if low else "")
        return [Score(value=value, passed=passed, rationale=rationale, labels=labels), *parts]

    def _part(self, score: Score) -> Score:
        graded = _rule(self.judge_of) != "majority"
        votes = cast("Sequence[Mapping[str, Any]]", score.details["votes"])
        passed = score.value >= self.threshold if graded else bool(score.passed)
        why = next((vote["rationale"] for vote in votes if bool(vote["passed"]) == bool(score.passed)), "")
        details: dict[str, Any] = {**score.details}
        if self.asked_for:
            details["asked_for"] = self.asked_for
        return replace(
            score,
            value=score.value if graded else float(passed),
            passed=passed,
            rationale=f"{score.rationale} {why}".strip(),
            details=details,
            labels=(*score.labels, OTHER_MODEL) if self.asked_for else score.labels,
        )


@dataclass(frozen=True, kw_only=True)
class NoCounterpart:
    """A criterion of ADK that nothing here answers to: it applies to no case, and says why."""

    criterion: str
    reason: str

    level = "session"
    needs_tools = False
    is_quick = True

    @property
    def name(self) -> str:
        return _PREFIX + self.criterion

    @property
    def digest(self) -> str:
        return digest_of("NoCounterpart", self.criterion, self.reason)

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> NotApplicable:
        """Why there is no score."""
        return NotApplicable(self.reason)


def make_adk(criterion: str, **options: Any) -> Evaluator:
    """The evaluator for a criterion with the options of ADK's config, in either spelling."""
    said = {_snake(name): value for name, value in options.items()}
    threshold = said.pop("threshold", None)
    if criterion in EXACT:
        return _exact(criterion, said, threshold)
    if criterion in WITHOUT_COUNTERPART:
        return NoCounterpart(criterion=criterion, reason=WITHOUT_COUNTERPART[criterion])
    if criterion not in JUDGES:
        raise unknown(criterion)
    judge = JUDGES[criterion]
    models = {_snake(name): value for name, value in dict(said.pop("judge_model_options", None) or {}).items()}
    model, asked_for = _model(str(models.pop("judge_model", "") or ""))
    samples = models.pop("num_samples", 1 if criterion in ASKED_ONCE else ADK_SAMPLES)
    if not isinstance(samples, int) or samples < 1:
        raise EvalError("num_samples is a whole number of at least 1", on=f"{_PREFIX}{criterion}: {samples!r}")
    rubrics = said.pop("rubrics", ())
    with_texts = [said.pop(each, False) for each in _WITH_TEXTS]
    left = [each for each in (*said, *models) if each not in (*_NOT_USED, "stop_signal")]
    if left:
        raise EvalError(f"Loom knows no option {', '.join(left)} of this criterion", on=_PREFIX + criterion)
    if isinstance(judge, TurnRubricJudge):
        judge = replace(judge, rubrics=tuple(_rubric(each, criterion) for each in rubrics))
    bar = 0.5 if threshold is None else float(threshold)
    if criterion == "response_evaluation_score" and threshold is not None:
        bar = max(0.0, (bar - 1) / 4)
    return AdkJudge(
        criterion=criterion,
        judge_of=replace(judge, model=model),
        samples=samples,
        threshold=bar,
        with_texts=any(with_texts),
        asked_for=asked_for,
    )


def unknown(criterion: str) -> EvalError:
    """The error for a criterion that ADK does not have: a custom metric's name, or a slip of the pen."""
    near = difflib.get_close_matches(criterion, [*EXACT, *JUDGES, *WITHOUT_COUNTERPART], n=1)
    return EvalError(
        "ADK has no such criterion, and Loom runs no custom metric of ADK's",
        on=_PREFIX + criterion,
        try_=f"{_PREFIX}{near[0]}" if near else "the metric as a function in evaluators=[…], or a plugin of that name",
    )


def _exact(criterion: str, said: dict[str, Any], threshold: float | None) -> Evaluator:
    """The two criteria that ask nobody, with ADK's options."""
    options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    if criterion == "tool_trajectory_avg_score":
        said.pop("include_intermediate_responses_in_final", None)  # of every criterion, though tools have no texts
        if (match := said.pop("match_type", None)) is not None:
            options["match"] = match
        options["arguments"] = not said.pop("ignore_args", False)
    elif not said.get("include_intermediate_responses_in_final", True):
        said.clear()
    if said:
        raise EvalError(f"Loom knows no option {', '.join(said)} of this criterion", on=_PREFIX + criterion)
    return cast("Evaluator", MAKERS[EXACT[criterion]](name=_PREFIX + criterion, **options))


_WITH_TEXTS: Final = ("include_intermediate_responses_in_final", "evaluate_intermediate_nl_responses")


def _rule(judge: ModelJudge) -> str:
    """Graded verdicts by their mean, the others by majority."""
    return "majority" if len(judge.scale.steps) < 4 else "mean"


def _model(said: str) -> tuple[str, str]:
    """A model's id at Bedrock, and the name that was asked for where it is another."""
    name = said.removeprefix("bedrock/").removeprefix("converse/")
    if not name:
        return DEFAULT_MODEL, ""
    return (name, "") if _OF_BEDROCK.match(name) else (DEFAULT_MODEL, said)


def _rubric(value: object, criterion: str) -> Rubric:
    if isinstance(value, Rubric):
        return value
    if isinstance(value, str):
        return Rubric(text=value)
    if isinstance(value, Mapping):
        value = cast("Mapping[str, Any]", value)
        said = {_snake(str(k)): each for k, each in value.items()}
        content = said.get("rubric_content")
        if isinstance(content, Mapping):
            texts = {_snake(str(k)): each for k, each in cast("Mapping[str, Any]", content).items()}
            content = texts.get("text_property")
        if isinstance(content, str):
            return Rubric(text=content, id=str(said.get("rubric_id") or ""), kind=str(said.get("type") or ""))
    raise EvalError("This is no rubric", on=f"{_PREFIX}{criterion}: {str(value)[:80]}", try_='"rubric_content"')


def _with_texts(case: EvalCase, answer: CaseAnswer) -> tuple[EvalCase, CaseAnswer]:
    """Both with the texts on the way as part of the answers."""
    turns = tuple(
        turn
        if turn.expected_answer is None
        else replace(turn, expected_answer="\n".join((*turn.expected_texts, turn.expected_answer)))
        for turn in case.turns
    )
    said = tuple(replace(turn, text="\n".join((*turn.texts, turn.text))) for turn in answer.turns)
    return replace(case, turns=turns), replace(answer, turns=said)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
