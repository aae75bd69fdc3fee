"""AgentCore's built-in evaluators, from `builtins.toml`: the criterion of each, and the labels of its verdicts.

AWS's prompts are not public: a value is the local model's verdict on Loom's criterion, and does not predict AWS's
value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SESSION, TRACE, TOOL_CALL = "SESSION", "TRACE", "TOOL_CALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """One built-in evaluator.

    Attributes:
        id: Its id, such as "Builtin.Helpfulness".
        level: What it judges: SESSION, TRACE or TOOL_CALL.
        description: One sentence.
        criterion: The question that a model answers; empty if tool names are compared instead.
        labels: The labels of its verdicts, from the worst (0) to the best (1).
        references: The fields of a reference input that it reads.
    """

    id: str
    level: str
    description: str
    criterion: str = ""
    labels: tuple[str, ...] = ("No", "Yes")
    references: tuple[str, ...] = ()

    @property
    def arn(self) -> str:
        """Its ARN, the same in every account and region."""
        return f"arn:aws:bedrock-agentcore:::evaluator/{self.id}"

    def value(self, label: str) -> float:
        """Return the value of a label, between 0 and 1."""
        return round(self.labels.index(label) / (len(self.labels) - 1), 3)


def _builtins(file: Mapping[str, Any]) -> dict[str, Builtin]:
    evaluators = [
        Builtin(
            id=f"Builtin.{name}",
            level=entry["level"],
            description=entry.get("description") or f"Judges: {entry['criterion']}"[:200],
            criterion=entry.get("criterion", ""),
            labels=tuple(file["labels"][entry.get("labels", "yes_no")]),
            references=tuple(entry.get("reads", ())),
        )
        for name, entry in file["evaluators"].items()
    ]
    return {evaluator.id: evaluator for evaluator in evaluators}


BUILTINS: Final = _builtins(tomllib.loads(Path(__file__).with_name("builtins.toml").read_text("utf-8")))
"""The evaluators by id."""
