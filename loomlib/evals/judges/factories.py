"""Factories of the judges by name, for the registry; each takes a judge's options as keywords."""

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
from .panel import JudgePanel
from .recorded import RecordedJudge
from .scales import SCALES
from .strands_judges import STRANDS_EVALUATORS, StrandsJudge
from .trajectory_judge import TrajectoryJudge


def _judge(kind: type[ModelJudge], **options: Any) -> Evaluator:
    """Create a judge. `scale` may be a scale's name, and `recording` a file of recorded verdicts to replay."""
    if isinstance(scale := options.get("scale"), str):
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, not {scale!r}")
        options["scale"] = SCALES[scale]
    return kind(**_with_recording(options))


def _rubric(**options: Any) -> Evaluator:
    """Create the rubric judge; `rubric` is one text, `rubrics` are one or several."""
    texts = options.pop("rubrics", None) or ()
    texts = (texts,) if isinstance(texts, (str, Rubric)) else texts
    if one := options.pop("rubric", None):
        texts = (one, *texts)
    rubrics = tuple(text if isinstance(text, Rubric) else Rubric(text=str(text)) for text in texts)
    return _judge(RubricJudge, rubrics=rubrics, **options)


def _agentcore(evaluator_id: str, **options: Any) -> Evaluator:
    return AgentCoreJudge(evaluator_id=evaluator_id, **options)


def _custom(**options: Any) -> Evaluator:
    """Create a judge from a custom evaluator of the account: `evaluator_id` and `kind` (SESSION, TRACE, TOOL_CALL)."""
    return AgentCoreJudge(**options)


def _strands(evaluator: str, **options: Any) -> Evaluator:
    """Create one of strands_evals' evaluators with the options of an experiment file (`model_id` is a model's id)."""
    arguments = {name: options.pop(name) for name in ("rubric", "model") if options.get(name) is not None}
    if (model_id := options.pop("model_id", None)) and "model" not in arguments:
        arguments["model"] = model_id
    column = str(options.pop("name", None) or "")
    set_options = {name: value for name, value in options.items() if value is not None}
    return StrandsJudge(evaluator=evaluator, column=column, options=set_options, **arguments)


def _panel(**options: Any) -> Evaluator:
    """Create a majority panel of correctness judges, one for each of `models` (model ids, separated by commas)."""
    models: Any = options.pop("models", None)
    if isinstance(models, str):
        models = [model.strip() for model in models.split(",")]
    model_ids = [model for model in models or () if model]
    if len(model_ids) < 2:
        raise ValueError("a panel needs at least two models: judge:panel(models='one, other, third')")
    template = CorrectnessJudge()
    judges = tuple(replace(template, model=model, name=f"{template.name} by {model}") for model in model_ids)
    options.setdefault("name", "judge:panel")
    return JudgePanel(judges=judges, **options)


def _with_recording(options: dict[str, Any]) -> dict[str, Any]:
    recording = options.pop("recording", None)
    return options if recording is None else {**options, "model": RecordedJudge(recording)}


JUDGE_FACTORIES: Final[Mapping[str, Callable[..., Evaluator]]] = {
    "rubric": _rubric,
    "judge:correctness": partial(_judge, CorrectnessJudge),
    "judge:helpfulness": partial(_judge, HelpfulnessJudge),
    "judge:assertions": partial(_judge, AssertionJudge),
    "judge:trajectory": partial(_judge, TrajectoryJudge),
    "judge:panel": _panel,
    "agentcore": _custom,
    **{f"agentcore:{name}": partial(_agentcore, name) for name in BUILTIN_LEVELS},
    **{f"strands:{name}": partial(_strands, name) for name in STRANDS_EVALUATORS},
    **{f"adk:{name}": partial(make_adk, name) for name in (*EXACT, *JUDGES, *WITHOUT_COUNTERPART)},
}
"""Factories of judges by name. The created judges are not connected to a model; see `connected_to(clients)`."""
