"""The built-in evaluators as resources of the control plane. Custom ones cannot be created here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from loomlib.local.resources import Resource, ResourceRecord

from .builtin import BUILTINS, Builtin

_SINCE = datetime(2025, 12, 2, tzinfo=UTC)
_COMPUTED = "Computed, not judged: compares the names of the called tools with the reference input expectedTrajectory."


def _record(evaluator: Builtin) -> ResourceRecord:
    return ResourceRecord(
        kind="Evaluator",
        region="",
        id=evaluator.id,
        name=evaluator.id,
        arn=evaluator.arn,
        status="ACTIVE",
        document={
            "description": evaluator.description,
            "evaluatorType": "Builtin",
            "provider": "AWS",
            "level": evaluator.level,
            "evaluatorConfig": {"llmAsAJudge": _judge(evaluator)},
        },
        created_at=_SINCE,
        updated_at=_SINCE,
    )


def _judge(evaluator: Builtin) -> dict[str, Any]:
    labels = evaluator.labels
    scale = [{"definition": label, "value": evaluator.value(label), "label": label} for label in labels]
    return {
        "instructions": evaluator.criterion or _COMPUTED,
        "ratingScale": {"numerical": scale},
        "modelConfig": {"bedrockEvaluatorModelConfig": {"modelId": "local"}},
    }


EVALUATOR: Final = Resource(
    noun="Evaluator",
    arn="evaluator/{id}",
    presets=tuple(_record(evaluator) for evaluator in BUILTINS.values()),
    only_presets=True,
)
