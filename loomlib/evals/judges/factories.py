"""The judges by name, for the registry: factories that take a judge's options as keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from loomlib.aws.evaluation import BUILTIN_LEVELS

from ..values.cases import Rubric
from ..values.evaluator import Evaluator
from .adk import make_adk
from .adk_kinds import EXACT, JUDGES, WITHOUT_COUNTERPART
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
    """One of strands_evals' evaluators with the options that an experiment writes (`model_id` is a model's id)."""
    kept = {name: options.pop(name) for name in ("rubric", "model") if options.get(name) is not None}
    if (model_id := options.pop("model_id", None)) and "model" not in kept:
        kept["model"] = model_id
    column = str(options.pop("name", None) or "")
    given = {name: value for name, value in options.items() if value is not None}
    return StrandsJudge(evaluator=evaluator, column=column, options=given, **kept)


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
    **{f"adk:{each}": partial(make_adk, each) for each in (*EXACT, *JUDGES, *WITHOUT_COUNTERPART)},
}
"""Factories of judges by name. A judge named this way has no connection yet: `connected_to(clients)` gives it one."""
