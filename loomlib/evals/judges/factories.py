"""The judges by name, for the registry: factories that take a judge's options as keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from loomlib.aws.evaluation import BUILTIN_LEVELS

from ..cases import Rubric
from ..evaluator import Evaluator
from .agentcore import AgentCoreJudge
from .answer_judges import AssertionJudge, CorrectnessJudge, HelpfulnessJudge, RubricJudge
from .judge import ModelJudge
from .panel import Panel
from .recorded import RecordedJudge
from .scales import SCALES
from .strands_judges import STRANDS_EVALUATORS, StrandsJudge
from .trajectory_judge import TrajectoryJudge


def _judge(kind: type[ModelJudge], **options: Any) -> Evaluator:
    """A judge of that kind. `scale` may be a scale's name, `rubrics` texts, `recording` a file to replay."""
    if isinstance(scale := options.get("scale"), str):
        if scale not in SCALES:
            raise ValueError(f"a scale is one of {', '.join(SCALES)}, not {scale!r}")
        options["scale"] = SCALES[scale]
    return kind(**_with_recording(options))


def _rubric(**options: Any) -> Evaluator:
    """The rubric judge; `rubric` is one text, `rubrics` are several."""
    texts = options.pop("rubrics", ())
    if one := options.pop("rubric", None):
        texts = (one, *texts)
    rubrics = tuple(each if isinstance(each, Rubric) else Rubric(text=str(each)) for each in texts)
    return _judge(RubricJudge, rubrics=rubrics, **options)


def _agentcore(evaluator_id: str, **options: Any) -> Evaluator:
    return AgentCoreJudge(evaluator_id=evaluator_id, **options)


def _custom(**options: Any) -> Evaluator:
    """An evaluator of the account's own: `evaluator_id` and `kind` (SESSION, TRACE, TOOL_CALL)."""
    return AgentCoreJudge(**options)


def _strands(evaluator: str, **options: Any) -> Evaluator:
    return StrandsJudge(evaluator=evaluator, **options)


def _panel(**options: Any) -> Evaluator:
    """Correctness judged by several `models` (ids of models, separated by commas), by majority."""
    models: Any = options.pop("models", None)
    named = [each.strip() for each in models.split(",")] if isinstance(models, str) else list(models or ())
    if len(named) < 2:
        raise ValueError("a panel has two models or more: judge:panel(models='one, other, third')")
    one = CorrectnessJudge()
    judges = tuple(replace(one, model=model, name=f"{one.name} by {model}") for model in named)
    options.setdefault("name", "judge:panel")
    return Panel(judges=judges, **options)


def _with_recording(options: dict[str, Any]) -> dict[str, Any]:
    recording = options.pop("recording", None)
    return options if recording is None else {**options, "model": RecordedJudge(recording)}


FACTORIES: Final[Mapping[str, Callable[..., Evaluator]]] = {
    "rubric": _rubric,
    "judge:correctness": partial(_judge, CorrectnessJudge),
    "judge:helpfulness": partial(_judge, HelpfulnessJudge),
    "judge:assertions": partial(_judge, AssertionJudge),
    "judge:trajectory": partial(_judge, TrajectoryJudge),
    "judge:panel": _panel,
    "agentcore": _custom,
    **{f"agentcore:{each}": partial(_agentcore, each) for each in BUILTIN_LEVELS},
    **{f"strands:{each}": partial(_strands, each) for each in STRANDS_EVALUATORS},
}
"""Factories of judges by name. A judge named this way has no connection yet: `connected_to(clients)` gives it one."""
