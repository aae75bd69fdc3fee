"""strands_evals' evaluators as judges: their prompts and scales, Loom's connection, and errors that are no zeros.

Of the library only `evaluate_async` is used: its runner, its store and its trajectory scorers err (a crash becomes
0.0, a case's result is found by its name, [a, b, c] equals [a]). Its prompts put the agent's words between plain
tags, which an answer can forge: where that matters use Loom's own judges.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import AwsError

from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .model import DEFAULT_MODEL, ConverseJudge
from .question import RATIONALE_LIMIT
from .strands_model import StrandsModel
from .strands_session import evaluation_data

if TYPE_CHECKING:
    from loomlib.aws import Clients

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase

STRANDS_EVALUATORS: Final[Mapping[str, str]] = {
    "Output": "answer",
    "Correctness": "answer",
    "Helpfulness": "answer",
    "Faithfulness": "answer",
    "Coherence": "answer",
    "Conciseness": "answer",
    "InstructionFollowing": "answer",
    "ResponseRelevance": "answer",
    "Refusal": "answer",
    "Harmfulness": "answer",
    "Stereotyping": "answer",
    "FailureCommunication": "answer",
    "PartialCompletion": "answer",
    "RecoveryStrategy": "answer",
    "Trajectory": "trajectory",
    "GoalSuccessRate": "session",
    "ToolSelectionAccuracy": "component",
    "ToolParameterAccuracy": "component",
}
"""The evaluators that can be asked, and what each judges. Failure, completion and recovery: of cases under chaos."""
OPTIONS: Final = (
    "version", "system_prompt", "assertion_system_prompt", "reference_system_prompt", "include_inputs",
    "trajectory_description", "uses_environment_state",
)  # fmt: skip
"""What an evaluator of the library may be given beside its rubric, its model and its name."""
_BY_RUBRIC: Final = ("Output", "Trajectory")
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class StrandsJudge:
    """One of strands_evals' evaluators, by its name without "Evaluator".

    `rubric` is for Output and Trajectory; without one the case's rubrics are used. A case with an expected answer is
    judged against it by Correctness, one with assertions by them in GoalSuccessRate. `options` are the library's own
    (`OPTIONS`: prompts, a version of them), as an experiment's `to_dict` writes them; `column` is a name of one's own.
    """

    evaluator: str
    rubric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    column: str = ""
    model: ConverseJudge | str = DEFAULT_MODEL

    is_quick = False

    def __post_init__(self) -> None:
        if self.evaluator not in STRANDS_EVALUATORS:
            raise ValueError(f"strands_evals has {', '.join(STRANDS_EVALUATORS)}, not {self.evaluator!r}")
        if unknown := [each for each in self.options if each not in OPTIONS]:
            raise ValueError(f"strands:{self.evaluator} has the options {', '.join(OPTIONS)}, not {', '.join(unknown)}")

    @property
    def name(self) -> str:
        return self.column or f"strands:{self.evaluator}"

    @property
    def level(self) -> str:
        return STRANDS_EVALUATORS[self.evaluator]

    @property
    def needs_tools(self) -> bool:
        return self.level in ("trajectory", "component")

    @property
    def digest(self) -> str:
        model = self.model if isinstance(self.model, str) else self.model.key
        more = [dict(self.options)] if self.options else []
        return digest_of("StrandsJudge", self.evaluator, self.rubric, model, _version(), *more)

    def connected_to(self, clients: Clients) -> StrandsJudge:
        """This judge with its model behind `clients`."""
        if not isinstance(self.model, str):
            return self
        return replace(self, model=ConverseJudge(clients=clients, model_id=self.model))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """The evaluator's outputs as scores, labels kept. Raises `JudgeFailedError` where the library would say 0."""
        rubric = self.rubric or "\n".join(each.text for each in case.rubrics)
        if self.evaluator in _BY_RUBRIC and not rubric:
            return NotApplicable("the case has no rubric")
        if answer.tools is None and self.needs_tools:
            raise JudgeFailedError(
                "The trajectory is not known", kind="no_trajectory", on=case.id, try_="export traces"
            )
        if self.level == "component" and not answer.tools:
            return NotApplicable("the agent called no tool")
        if isinstance(self.model, str):
            raise JudgeFailedError(
                f"No connection to {self.model}", kind="no_model", try_="judge.connected_to(bench.clients)"
            )
        library = await asyncio.to_thread(load_strands_evals)
        model = StrandsModel(self.model)
        named = f"{self.evaluator}Evaluator"
        kind = getattr(library.evaluators, named, None) or getattr(library.evaluators.chaos, named)
        given: dict[str, Any] = {
            **self.options,
            "model": model,
            **({"rubric": rubric} if self.evaluator in _BY_RUBRIC else {}),
        }
        try:
            outputs: Sequence[Any] = await kind(**given).evaluate_async(
                evaluation_data(library, self.evaluator, case, answer)
            )
        except Exception as error:
            raise _failed(error, self.name) from error
        return self._scores(outputs, model, answer)

    def _scores(self, outputs: Sequence[Any], model: StrandsModel, answer: CaseAnswer) -> list[Score] | NotApplicable:
        judged = [(at, each) for at, each in enumerate(outputs) if not each.not_applicable]
        if not judged:
            return NotApplicable("; ".join(str(each.reason) for each in outputs if each.reason) or "nothing to judge")
        tools, spent = answer.tools or (), [(model.tokens, model.cost)] + [(0, 0.0)] * len(judged)
        scores: list[Score] = []
        for (at, each), (tokens, cost) in zip(judged, spent, strict=False):  # what all took stands with the first
            value = float(each.score)
            if value != value or value in (float("inf"), float("-inf")):
                raise JudgeFailedError(f"strands_evals gave the score {each.score}", kind="malformed", on=self.name)
            label = getattr(each.label, "value", each.label)
            part = f"call {at + 1}: {tools[at].name}" if self.level == "component" and at < len(tools) else ""
            scores.append(
                Score(
                    value=value,
                    passed=bool(each.test_pass),
                    rationale=str(each.reason or "")[:RATIONALE_LIMIT],
                    part=part if len(outputs) > 1 or part else "",
                    details={"label": label} if label else {},
                    labels=model.labels,
                    tokens=tokens,
                    cost=cost,
                )
            )
        return scores


def load_strands_evals() -> Any:
    """The package strands_evals. Importing it sets the root logger's level, which is undone."""
    root = logging.getLogger()
    with _lock:
        level = root.level
        try:
            library = importlib.import_module("strands_evals")
            for module in ("evaluators", "evaluators.chaos", "types.evaluation", "types.trace"):
                importlib.import_module(f"strands_evals.{module}")
        except ImportError as error:
            raise JudgeFailedError(
                "strands_evals cannot be imported",
                kind="not_installed",
                on=str(error),
                try_="pip install 'loomlib[evals]'",
            ) from error
        finally:
            root.setLevel(level)
    return library


def _failed(error: BaseException, name: str) -> JudgeFailedError:
    """The failure behind what strands makes of it; AWS's own where there is one."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, JudgeFailedError):
            return seen
        if isinstance(seen, AwsError):
            return JudgeFailedError.of_aws(seen)
        seen = seen.__cause__ or seen.__context__
    kind = "malformed" if type(error).__name__ in ("StructuredOutputException", "ValidationError") else "exception"
    return JudgeFailedError(f"{type(error).__name__}: {error}"[:2_000], kind=kind, on=name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("strands-agents-evals")
    except PackageNotFoundError:
        return ""
