"""Evaluators of strands_evals as judges: their prompts and scales, Loom's connection, failures instead of zeros.

Only `evaluate_async` of the library is used. Its runner, store and trajectory scorers have known defects: a crash is
scored 0.0, results are looked up by the case's name, and the path [a, b, c] is treated as equal to [a]. Its prompts put
the agent's text between plain tags, which an answer can forge; use Loom's own judges where that matters.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from loomlib.aws import Clients
from loomlib.errors import AwsError

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .model import DEFAULT_MODEL, ConverseJudge
from .question import RATIONALE_LIMIT
from .strands_model import StrandsModel
from .strands_session import evaluation_data

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
"""The supported evaluators, each with what it judges. FailureCommunication, PartialCompletion and RecoveryStrategy are
for cases with injected failures."""
OPTIONS: Final = (
    "version", "system_prompt", "assertion_system_prompt", "reference_system_prompt", "include_inputs",
    "trajectory_description", "uses_environment_state",
)  # fmt: skip
"""Options of the library's evaluators besides rubric, model and name."""
_BY_RUBRIC: Final = ("Output", "Trajectory")
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class StrandsJudge:
    """One of strands_evals' evaluators, by its name without "Evaluator".

    Correctness uses the case's expected answer and GoalSuccessRate its assertions, where there are any.

    Attributes:
        evaluator: The evaluator's name, one of `STRANDS_EVALUATORS`.
        rubric: Rubric for Output and Trajectory; the case's rubrics by default.
        options: The library's own options (`OPTIONS`), as an experiment's `to_dict` writes them.
        column: Name of the score column; "strands:<evaluator>" by default.
        model: The judge model or its id.
    """

    evaluator: str
    rubric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    column: str = ""
    model: ConverseJudge | str = DEFAULT_MODEL

    is_quick = False

    def __post_init__(self) -> None:
        if self.evaluator not in STRANDS_EVALUATORS:
            raise ValueError(f"evaluator must be one of {', '.join(STRANDS_EVALUATORS)}, not {self.evaluator!r}")
        if unknown := [option for option in self.options if option not in OPTIONS]:
            raise ValueError(f"strands:{self.evaluator} has the options {', '.join(OPTIONS)}, not {', '.join(unknown)}")

    @property
    def name(self) -> str:
        """Name of the score column."""
        return self.column or f"strands:{self.evaluator}"

    @property
    def level(self) -> str:
        """What is judged: one of `LEVELS`."""
        return STRANDS_EVALUATORS[self.evaluator]

    @property
    def needs_tools(self) -> bool:
        """Whether judging needs the trajectory."""
        return self.level in ("trajectory", "component")

    @property
    def digest(self) -> str:
        """Hash of the evaluator, its options, the model and the library's version."""
        model = self.model if isinstance(self.model, str) else self.model.key
        more: list[object] = [dict(self.options)] if self.options else []
        if self.evaluator in _BY_RUBRIC:
            more.append("whole conversation")  # earlier releases judged the last answer beside the first prompt
        return digest_of("StrandsJudge", self.evaluator, self.rubric, model, _version(), *more)

    def connected_to(self, clients: Clients) -> StrandsJudge:
        """Return this judge with a connection to its model; itself when it has a model already."""
        if not isinstance(self.model, str):
            return self
        return replace(self, model=ConverseJudge(clients=clients, model_id=self.model))

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """Return the evaluator's outputs as scores with their labels.

        Raises:
            JudgeFailedError: The evaluator failed; the library would score 0.
        """
        rubric = self.rubric or "\n".join(item.text for item in case.rubrics)
        if self.evaluator in _BY_RUBRIC and not rubric:
            return NotApplicable("the case has no rubric")
        if answer.tools is None and self.needs_tools:
            raise JudgeFailedError(
                "The trajectory is unknown", kind="no_trajectory", on=case.id, try_="export the agent's traces"
            )
        if self.level == "component" and not answer.tools:
            return NotApplicable("the agent called no tool")
        if isinstance(self.model, str):
            raise JudgeFailedError(
                f"The judge is not connected to its model ({self.model})",
                kind="no_model",
                try_="judge.connected_to(bench.clients)",
            )
        library = await asyncio.to_thread(load_strands_evals)
        model = StrandsModel(self.model)
        class_name = f"{self.evaluator}Evaluator"
        evaluator_class = getattr(library.evaluators, class_name, None) or getattr(library.evaluators.chaos, class_name)
        options: dict[str, Any] = {
            **self.options,
            "model": model,
            **({"rubric": rubric} if self.evaluator in _BY_RUBRIC else {}),
        }
        try:
            outputs: Sequence[Any] = await evaluator_class(**options).evaluate_async(
                evaluation_data(library, self.evaluator, case, answer)
            )
        except Exception as error:
            failed = _failed(error, self.name)
            failed.tokens, failed.cost = model.tokens or 0, model.cost or 0.0
            raise failed from error
        return self._scores(outputs, model, answer)

    def _scores(self, outputs: Sequence[Any], model: StrandsModel, answer: CaseAnswer) -> list[Score] | NotApplicable:
        judged = [(index, output) for index, output in enumerate(outputs) if not output.not_applicable]
        if not judged:
            reasons = [str(output.reason) for output in outputs if output.reason]
            return NotApplicable("; ".join(reasons) or "there is nothing to judge")
        tools, spent = answer.tools or (), [(model.tokens, model.cost)] + [(0, 0.0)] * len(judged)
        scores: list[Score] = []
        for (index, output), (tokens, cost) in zip(
            judged, spent, strict=False
        ):  # the first score carries the usage of all
            value = float(output.score)
            if value != value or value in (float("inf"), float("-inf")):
                raise JudgeFailedError(
                    f"strands_evals returned the score {output.score}",
                    kind="malformed",
                    on=self.name,
                    tokens=model.tokens or 0,
                    cost=model.cost or 0.0,
                )
            label = getattr(output.label, "value", output.label)
            part = f"call {index + 1}: {tools[index].name}" if self.level == "component" and index < len(tools) else ""
            scores.append(
                Score(
                    value=value,
                    passed=bool(output.test_pass),
                    rationale=str(output.reason or "")[:RATIONALE_LIMIT],
                    part=part if len(outputs) > 1 or part else "",
                    details={"label": label} if label else {},
                    labels=model.labels,
                    tokens=tokens,
                    cost=cost,
                )
            )
        return scores


def load_strands_evals() -> Any:
    """Import strands_evals and return it, restoring the root logger's level, which the import changes.

    Raises:
        JudgeFailedError: The package cannot be imported ("not_installed").
    """
    root = logging.getLogger()
    with _lock:
        level = root.level
        try:
            library = importlib.import_module("strands_evals")
            for module in ("evaluators", "evaluators.chaos", "types.evaluation", "types.trace"):
                importlib.import_module(f"strands_evals.{module}")
        except ImportError as error:
            raise JudgeFailedError(
                "Cannot import strands_evals",
                kind="not_installed",
                on=str(error),
                try_="pip install 'loomlib[evals]'",
            ) from error
        finally:
            root.setLevel(level)
    return library


def _failed(error: BaseException, name: str) -> JudgeFailedError:
    """Return the root failure among an exception's causes, AWS's own where there is one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, JudgeFailedError):
            return cause
        if isinstance(cause, AwsError):
            return JudgeFailedError.of_aws(cause)
        cause = cause.__cause__ or cause.__context__
    kind = "malformed" if type(error).__name__ in ("StructuredOutputException", "ValidationError") else "exception"
    return JudgeFailedError(f"{type(error).__name__}: {error}"[:2_000], kind=kind, on=name)


def _version() -> str:
    try:
        return version("strands-agents-evals")
    except PackageNotFoundError:
        return ""
