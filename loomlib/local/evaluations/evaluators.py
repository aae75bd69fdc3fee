"""ListEvaluators and GetEvaluator of the control plane: the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from loomlib.local.paging import page
from loomlib.local.wire import not_found

from .builtin import BUILTINS, Builtin

_SINCE = datetime(2025, 12, 2, tzinfo=UTC)
_COMPUTED = "Compared, not judged: the names of the tools called with those of the reference input expectedTrajectory."


class EvaluatorList:
    """The evaluators that Evaluate knows. Custom ones cannot be made here."""

    async def list_evaluators(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return page("evaluators", [_summary(each) for each in BUILTINS.values()], parameters)

    async def get_evaluator(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        found = BUILTINS.get(parameters["evaluatorId"])
        if found is None:
            raise not_found(f"No evaluator {parameters['evaluatorId']}")
        scale = [{"definition": label, "value": found.value(label), "label": label} for label in found.labels]
        judge = {
            "instructions": found.criterion or _COMPUTED,
            "ratingScale": {"numerical": scale},
            "modelConfig": {"bedrockEvaluatorModelConfig": {"modelId": "local"}},
        }
        return {**_summary(found), "evaluatorConfig": {"llmAsAJudge": judge}}


def _summary(evaluator: Builtin) -> dict[str, Any]:
    return {
        "evaluatorArn": evaluator.arn,
        "evaluatorId": evaluator.id,
        "evaluatorName": evaluator.id,
        "description": evaluator.description,
        "evaluatorType": "Builtin",
        "provider": "AWS",
        "level": evaluator.level,
        "status": "ACTIVE",
        "createdAt": _SINCE,
        "updatedAt": _SINCE,
    }
