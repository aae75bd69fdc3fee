"""ADK's criteria by name ("adk:final_response_match_v2"), for eval sets that come with a `test_config.json`.

| criterion | judged by |
|---|---|
| `tool_trajectory_avg_score`, `response_match_score` | `trajectory`, `rouge1`: the same figures without a model |
| `final_response_match_v2` | each turn's answer against the expected one |
| `rubric_based_final_response_quality_v1`, `rubric_based_tool_use_quality_v1` | each turn by each rubric of that type |
| `rubric_based_multi_turn_trajectory_quality_v1` | the conversation by each rubric of that type |
| `hallucinations_v1` | each turn: share of its claims that the steps support, in one verdict (ADK: per sentence) |
| `safety_v1` | each turn: harmless or not (ADK asks Vertex AI) |
| `response_evaluation_score` | each turn's coherence on five steps (ADK asks Vertex AI; its 1 to 5 are 0 to 1 here) |
| `multi_turn_task_success_v1`, `…_trajectory_quality_v1`, `…_tool_use_quality_v1` | the conversation |

As in ADK, a judge is called `num_samples` times: each part is decided by majority (a tie fails), and the mean of the
parts is compared with the threshold. A judge model that Bedrock does not offer (Gemini) is replaced by Loom's default,
and a label says so. `judge_model_config` and `parallelism_limit` are specific to Gemini and ignored; use
`judge_concurrency` of a run. Criteria without a counterpart (quality of the user simulator, counts without a threshold)
are not applicable to any case and state why. An unknown criterion is an `EvalError`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from loomlib.aws import Clients
from loomlib.errors import EvalError

from ..evaluators.factories import EVALUATOR_FACTORIES
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase, Rubric
from ..values.digests import digest_of
from ..values.evaluator import Evaluator, NotApplicable, Score, reaches
from .adk_kinds import ASKED_ONCE, EXACT, JUDGES, WITHOUT_COUNTERPART, WITHOUT_COUNTERPART_DIGESTS
from .judge import ModelJudge
from .model import DEFAULT_MODEL
from .panel import JudgePanel
from .turn_judges import TurnRubricJudge

ADK_SAMPLES: Final = 5
OTHER_MODEL: Final = "substitute judge model"
"""Provenance label of verdicts by Loom's default judge model when Bedrock does not offer the criterion's."""
_PREFIX: Final = "adk:"
_OF_BEDROCK: Final = re.compile(r"arn:|(?:[a-z-]{2,10}\.)?[a-z][a-z0-9]*\.[a-z]")
_NOT_USED: Final = ("judge_model_config", "parallelism_limit")


@dataclass(frozen=True, kw_only=True)
class AdkJudge:
    """A criterion of ADK: calls a judge several times and compares the mean of the parts with a threshold.

    Attributes:
        criterion: The criterion's name in ADK.
        judge_of: The judge that is called.
        samples: How many times it is called.
        threshold: Minimum mean of the parts that passes.
        with_texts: Whether intermediate texts are judged as part of the answers.
        asked_for: The judge model that the criterion names when Bedrock does not offer it, else "".
    """

    criterion: str
    judge_of: ModelJudge
    samples: int = ADK_SAMPLES
    threshold: float = 0.5
    with_texts: bool = False
    asked_for: str = ""

    is_quick = False

    @property
    def name(self) -> str:
        """Name of the score column, such as "adk:safety_v1"."""
        return _PREFIX + self.criterion

    @property
    def level(self) -> str:
        """What is judged: one of `LEVELS`."""
        return self.judge_of.level

    @property
    def needs_tools(self) -> bool:
        """Whether judging needs the trajectory."""
        return self.judge_of.needs_tools

    @property
    def digest(self) -> str:
        """Hash of the criterion, its judge and all options."""
        return digest_of(
            "AdkJudge", self.criterion, self.judge_of.digest, self.samples, self.threshold, self.with_texts,
            self.asked_for,
        )  # fmt: skip

    @property
    def _is_graded(self) -> bool:
        """Whether samples are combined by their mean, as graded verdicts are, and not by majority."""
        return len(self.judge_of.scale.steps) > 3

    def connected_to(self, clients: Clients) -> AdkJudge:
        """Return this judge with a connection to its model."""
        return replace(self, judge_of=self.judge_of.connected_to(clients))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """Return the mean of the parts first, then each part.

        Raises:
            JudgeFailedError: A part cannot be judged.
        """
        if self.with_texts:
            case, answer = _with_texts(case, answer)
        least = self.threshold if self._is_graded else self.judge_of.threshold
        judges = tuple(replace(self.judge_of, sample=sample, threshold=least) for sample in range(self.samples))
        scores = await JudgePanel(judges=judges, rule="mean" if self._is_graded else "majority").judge(case, answer)
        if isinstance(scores, NotApplicable):
            return scores
        parts = [self._part(score) for score in scores]
        value = sum(part.value for part in parts) / len(parts)
        passed = reaches(value, self.threshold)
        if len(parts) == 1:
            return [replace(parts[0], passed=passed, part="")]
        labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
        low = [part.part for part in parts if not part.passed]
        rationale = f"mean of {len(parts)} parts" + (f"; failed: {', '.join(low)}" if low else "")
        return [Score(value=value, passed=passed, rationale=rationale, labels=labels), *parts]

    def _part(self, score: Score) -> Score:
        votes = cast("Sequence[Mapping[str, Any]]", score.details["votes"])
        if self._is_graded:
            passed = reaches(score.value, self.threshold)
            summary = f"Mean of {len(votes)} verdicts." if len(votes) > 1 else ""
            why = min(votes, key=lambda vote: abs(vote["value"] - score.value))["rationale"]
        else:
            passed, summary = bool(score.passed), score.rationale
            why = next((vote["rationale"] for vote in votes if bool(vote["passed"]) == passed), "")
        details: dict[str, Any] = {**score.details}
        if self.asked_for:
            details["asked_for"] = self.asked_for
        return replace(
            score,
            value=score.value if self._is_graded else float(passed),
            passed=passed,
            rationale=f"{summary} {why}".strip(),
            details=details,
            labels=(*score.labels, OTHER_MODEL) if self.asked_for else score.labels,
        )


@dataclass(frozen=True, kw_only=True)
class NoCounterpart:
    """A criterion of ADK without a counterpart here: not applicable to any case, with the reason."""

    criterion: str
    reason: str

    level = "session"
    needs_tools = False
    is_quick = True

    @property
    def name(self) -> str:
        """Name of the score column, such as "adk:token_usage_v1"."""
        return _PREFIX + self.criterion

    @property
    def digest(self) -> str:
        """Hash that identifies the criterion in stored results."""
        return WITHOUT_COUNTERPART_DIGESTS[self.criterion]

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> NotApplicable:
        """Return why there is no score."""
        return NotApplicable(self.reason)


def make_adk(criterion: str, **options: Any) -> Evaluator:
    """Create the evaluator for a criterion of ADK.

    Args:
        criterion: The criterion's name, without "adk:".
        **options: The options of ADK's config, in snake case or camel case.

    Raises:
        EvalError: The criterion or one of the options is unknown.
    """
    config = {_snake(name): value for name, value in options.items()}
    threshold = config.pop("threshold", None)
    if criterion in EXACT:
        return _exact(criterion, config, threshold)
    if criterion in WITHOUT_COUNTERPART:
        return NoCounterpart(criterion=criterion, reason=WITHOUT_COUNTERPART[criterion])
    if criterion not in JUDGES:
        raise unknown(criterion)
    judge = JUDGES[criterion]
    models = {_snake(name): value for name, value in dict(config.pop("judge_model_options", None) or {}).items()}
    model, wanted_model = _model(str(models.pop("judge_model", "") or ""))
    samples = models.pop("num_samples", 1 if criterion in ASKED_ONCE else ADK_SAMPLES)
    if not isinstance(samples, int) or samples < 1:
        raise EvalError(
            "num_samples must be an integer of at least 1",
            on=f"{_PREFIX}{criterion}: {samples!r}",
            try_=f"num_samples={ADK_SAMPLES}",
        )
    rubrics = config.pop("rubrics", ())
    rubrics = cast("Sequence[object]", (rubrics,) if isinstance(rubrics, (str, Mapping, Rubric)) else rubrics)
    with_texts = [config.pop(name, False) for name in _WITH_TEXTS]
    unknown_options = [name for name in (*config, *models) if name not in (*_NOT_USED, "stop_signal")]
    if unknown_options:
        raise EvalError(
            f"Unknown option of this criterion: {', '.join(unknown_options)}",
            on=_PREFIX + criterion,
            try_="remove it from the criterion",
        )
    if isinstance(judge, TurnRubricJudge):
        judge = replace(judge, rubrics=tuple(_rubric(rubric, criterion) for rubric in rubrics))
    least = 0.5 if threshold is None else float(threshold)
    if criterion == "response_evaluation_score" and threshold is not None:
        least = max(0.0, (least - 1) / 4)
    return AdkJudge(
        criterion=criterion,
        judge_of=replace(judge, model=model),
        samples=samples,
        threshold=least,
        with_texts=any(with_texts),
        asked_for=wanted_model,
    )


def unknown(criterion: str) -> EvalError:
    """Return the error for a criterion that ADK does not have, with the nearest known name."""
    near = difflib.get_close_matches(criterion, [*EXACT, *JUDGES, *WITHOUT_COUNTERPART], n=1)
    return EvalError(
        "ADK has no criterion of this name; Loom cannot run custom ADK metrics",
        on=_PREFIX + criterion,
        try_=f"{_PREFIX}{near[0]}" if near else "pass the metric as a function in evaluators=[…], or as a plugin",
    )


def _exact(criterion: str, config: dict[str, Any], threshold: float | None) -> Evaluator:
    """Create one of the two criteria that need no model, with ADK's options."""
    options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    if criterion == "tool_trajectory_avg_score":
        config.pop("include_intermediate_responses_in_final", None)  # allowed for every criterion; has no effect here
        if (match := config.pop("match_type", None)) is not None:
            options["match"] = match
        options["arguments"] = not config.pop("ignore_args", False)
    elif not config.get("include_intermediate_responses_in_final", True):
        config.pop("include_intermediate_responses_in_final")
    if config:
        raise EvalError(
            f"Unknown option of this criterion: {', '.join(config)}",
            on=_PREFIX + criterion,
            try_="remove it from the criterion",
        )
    return cast("Evaluator", EVALUATOR_FACTORIES[EXACT[criterion]](name=_PREFIX + criterion, **options))


_WITH_TEXTS: Final = ("include_intermediate_responses_in_final", "evaluate_intermediate_nl_responses")


def _model(requested: str) -> tuple[str, str]:
    """Return a Bedrock model id, and the requested model name if it was replaced."""
    name = requested.removeprefix("bedrock/").removeprefix("converse/")
    if not name:
        return DEFAULT_MODEL, ""
    return (name, "") if _OF_BEDROCK.match(name) else (DEFAULT_MODEL, requested)


def _rubric(value: object, criterion: str) -> Rubric:
    if isinstance(value, Rubric):
        return value
    if isinstance(value, str):
        return Rubric(text=value)
    if isinstance(value, Mapping):
        value = cast("Mapping[str, Any]", value)
        fields = {_snake(str(k)): item for k, item in value.items()}
        content = fields.get("rubric_content")
        if isinstance(content, Mapping):
            texts = {_snake(str(k)): item for k, item in cast("Mapping[str, Any]", content).items()}
            content = texts.get("text_property")
        if isinstance(content, str):
            return Rubric(text=content, id=str(fields.get("rubric_id") or ""), kind=str(fields.get("type") or ""))
    raise EvalError("Not a rubric", on=f"{_PREFIX}{criterion}: {str(value)[:80]}", try_='a text, or "rubric_content"')


def _with_texts(case: EvalCase, answer: CaseAnswer) -> tuple[EvalCase, CaseAnswer]:
    """Return both with intermediate texts joined to the answers."""
    turns = tuple(
        turn
        if turn.expected_answer is None
        else replace(turn, expected_answer="\n".join((*turn.expected_texts, turn.expected_answer)))
        for turn in case.turns
    )
    turn_answers = tuple(replace(turn, text="\n".join((*turn.texts, turn.text))) for turn in answer.turns)
    return replace(case, turns=turns), replace(answer, turns=turn_answers)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
