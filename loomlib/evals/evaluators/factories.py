"""Factories of the evaluators in this package, by name.

| name | judges | first option |
|---|---|---|
| `exact`, `normalized` | the answer as text | |
| `contains`, `regex` | texts or a pattern in the answer | `texts`, `pattern` |
| `numeric` | numbers in the answer | `tolerance` |
| `json` | fields of a JSON answer | |
| `rouge1`, `rougeL` | words shared with the expected answer | `threshold` |
| `embedding` | semantic similarity, by embeddings computed offline | `threshold` |
| `trajectory` | the tool calls against the expected ones | `match` |
| `trajectory_edit` | the edit distance between the two | |
| `tool_used` | whether a tool was called | `tool` |
| `forbidden_tools` | calls of forbidden tools | `tools` |
| `redundant_calls` | repeated calls with the same result | |
| `efficiency` | steps and tokens against the reference | `of` |
| `tool_calls` | each tool call by itself | `checks` |
| `final_state` | the session's state at the end | `key` |

`strands:Contains`, `strands:Equals`, `strands:StartsWith`, `strands:ToolCalled` and `strands:StateEquals` are the names
used in a strands experiment, with strands' options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from .components import ToolCalls
from .efficiency import Efficiency
from .final_state import FinalState
from .meaning import Embedding
from .numbers import Numeric
from .paths import EditDistance, TrajectoryMatch
from .rouge import Rouge
from .structured import Structured
from .texts import Contains, Exact, Normalized, Regex
from .tool_rules import ForbiddenTools, RedundantCalls, ToolUsed
from .turn_by_turn import BaseEvaluator

_TUPLES: Final = ("texts", "tools", "checks")
_NUMBERS: Final = ("threshold", "tolerance")


@dataclass(frozen=True, slots=True)
class EvaluatorFactory:
    """Creates evaluators of one kind from options, for a built-in name.

    Attributes:
        kind: The evaluator's class.
        name: The built-in name, also the default column name.
        first: The option that a choice such as "contains:shipped" sets, or "".
        fixed: Options that are part of the name and cannot be set.
    """

    kind: type[BaseEvaluator]
    name: str
    first: str = ""
    fixed: tuple[tuple[str, Any], ...] = ()

    def __call__(self, **options: Any) -> BaseEvaluator:
        """Create the evaluator.

        Raises:
            ValueError: The evaluator has no such option; the message names the options it has.
        """
        option_names = [field.name for field in fields(self.kind) if field.name not in dict(self.fixed)]
        if unknown := [name for name in options if name not in option_names]:
            raise ValueError(
                f"{self.name} has no option {', '.join(unknown)}; it has {', '.join(sorted(option_names))}"
            )
        for name in _TUPLES:
            if name in options:
                value = options[name]
                options[name] = (value,) if isinstance(value, str) else tuple(value)
        for name in _NUMBERS:
            if isinstance(options.get(name), str):
                options[name] = float(options[name])
        arguments: dict[str, Any] = {"name": self.name, **dict(self.fixed), **options}
        return self.kind(**arguments)


def _starts_with(value: str, case_sensitive: bool = True, name: str = "starts_with") -> BaseEvaluator:
    return Regex(pattern=rf"\A{re.escape(value)}", case_sensitive=case_sensitive, name=name)


def _contains(value: str, case_sensitive: bool = True, name: str = "contains") -> BaseEvaluator:
    return Contains(texts=(value,), case_sensitive=case_sensitive, name=name)


def _equals(value: Any = None, name: str = "exact") -> BaseEvaluator:
    if isinstance(value, str):
        return Regex(pattern=rf"\A{re.escape(value)}\Z", name=name)
    if value is not None:
        raise ValueError("strands:Equals compares texts only")
    return Exact(name=name)


def _tool_called(tool_name: str, name: str = "") -> BaseEvaluator:
    return ToolUsed(tool=tool_name, name=name or f"tool_used:{tool_name}")


def _state_equals(name: str, value: Any = None) -> BaseEvaluator:
    return FinalState(name=f"final_state:{name}", key=name, value=value)


EVALUATOR_FACTORIES: Final[Mapping[str, EvaluatorFactory]] = {
    factory.name: factory
    for factory in (
        EvaluatorFactory(Exact, "exact"),
        EvaluatorFactory(Normalized, "normalized"),
        EvaluatorFactory(Contains, "contains", "texts"),
        EvaluatorFactory(Regex, "regex", "pattern"),
        EvaluatorFactory(Numeric, "numeric", "tolerance"),
        EvaluatorFactory(Structured, "json"),
        EvaluatorFactory(Rouge, "rouge1", "threshold", (("kind", "rouge1"),)),
        EvaluatorFactory(Rouge, "rougeL", "threshold", (("kind", "rougeL"),)),
        EvaluatorFactory(Embedding, "embedding", "threshold"),
        EvaluatorFactory(TrajectoryMatch, "trajectory", "match"),
        EvaluatorFactory(EditDistance, "trajectory_edit"),
        EvaluatorFactory(ToolUsed, "tool_used", "tool"),
        EvaluatorFactory(ForbiddenTools, "forbidden_tools", "tools"),
        EvaluatorFactory(RedundantCalls, "redundant_calls"),
        EvaluatorFactory(Efficiency, "efficiency", "of"),
        EvaluatorFactory(ToolCalls, "tool_calls", "checks"),
        EvaluatorFactory(FinalState, "final_state", "key"),
    )
}

STRANDS_FACTORIES: Final[Mapping[str, Callable[..., BaseEvaluator]]] = {
    "strands:Contains": _contains,
    "strands:Equals": _equals,
    "strands:StartsWith": _starts_with,
    "strands:StateEquals": _state_equals,
    "strands:ToolCalled": _tool_called,
}
