"""Loom's own evaluators by name, given through the same hook as a plugin's.

| name | looks at | first option |
|---|---|---|
| `exact`, `normalized` | the answer as text | |
| `contains`, `regex` | texts or a pattern in the answer | `texts`, `pattern` |
| `numeric` | numbers in the answer | `tolerance` |
| `json` | fields of a JSON answer | |
| `rouge1`, `rougeL` | shared words | `threshold` |
| `embedding` | meaning, by vectors made offline | `threshold` |
| `trajectory` | the tool calls against the expected ones | `match` |
| `trajectory_edit` | how many edits lie between the two | |
| `tool_used` | one tool's use | `tool` |
| `forbidden_tools` | tools that may not be called | `tools` |
| `redundant_calls` | calls that brought nothing new | |
| `efficiency` | steps and tokens against the reference | `of` |
| `tool_calls` | each call alone | `checks` |
| `final_state` | the session's state at the end | `key` |

`strands:Contains`, `strands:Equals`, `strands:StartsWith`, `strands:ToolCalled` and `strands:StateEquals` are what a
strands experiment names, with strands' options.
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
from .turn_by_turn import Judgement

_SEVERAL: Final = ("texts", "tools", "checks")
_NUMBERS: Final = ("threshold", "tolerance")


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes evaluators of one kind from options as words: the factory of a built-in name."""

    kind: type[Judgement]
    name: str
    first: str = ""
    fixed: tuple[tuple[str, Any], ...] = ()

    def __call__(self, **options: Any) -> Judgement:
        """The evaluator. An option that it does not have is a `ValueError` that names those it has."""
        known = [each.name for each in fields(self.kind) if each.name not in dict(self.fixed)]
        if unknown := [each for each in options if each not in known]:
            raise ValueError(f"{self.name} has no option {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        for name in _SEVERAL:
            if name in options:
                given = options[name]
                options[name] = (given,) if isinstance(given, str) else tuple(given)
        for name in _NUMBERS:
            if isinstance(options.get(name), str):
                options[name] = float(options[name])
        said: dict[str, Any] = {"name": self.name, **dict(self.fixed), **options}
        return self.kind(**said)


def _starts_with(value: str, case_sensitive: bool = True, name: str = "starts_with") -> Judgement:
    return Regex(pattern=rf"\A{re.escape(value)}", case_sensitive=case_sensitive, name=name)


def _contains(value: str, case_sensitive: bool = True, name: str = "contains") -> Judgement:
    return Contains(texts=(value,), case_sensitive=case_sensitive, name=name)


def _equals(value: Any = None, name: str = "exact") -> Judgement:
    if isinstance(value, str):
        return Regex(pattern=rf"\A{re.escape(value)}\Z", name=name)
    if value is not None:
        raise ValueError("strands:Equals compares texts")
    return Exact(name=name)


def _tool_called(tool_name: str, name: str = "") -> Judgement:
    return ToolUsed(tool=tool_name, name=name or f"tool_used:{tool_name}")


def _state_equals(name: str, value: Any = None) -> Judgement:
    return FinalState(name=f"final_state:{name}", key=name, value=value)


MAKERS: Final[Mapping[str, Maker]] = {
    maker.name: maker
    for maker in (
        Maker(Exact, "exact"),
        Maker(Normalized, "normalized"),
        Maker(Contains, "contains", "texts"),
        Maker(Regex, "regex", "pattern"),
        Maker(Numeric, "numeric", "tolerance"),
        Maker(Structured, "json"),
        Maker(Rouge, "rouge1", "threshold", (("kind", "rouge1"),)),
        Maker(Rouge, "rougeL", "threshold", (("kind", "rougeL"),)),
        Maker(Embedding, "embedding", "threshold"),
        Maker(TrajectoryMatch, "trajectory", "match"),
        Maker(EditDistance, "trajectory_edit"),
        Maker(ToolUsed, "tool_used", "tool"),
        Maker(ForbiddenTools, "forbidden_tools", "tools"),
        Maker(RedundantCalls, "redundant_calls"),
        Maker(Efficiency, "efficiency", "of"),
        Maker(ToolCalls, "tool_calls", "checks"),
        Maker(FinalState, "final_state", "key"),
    )
}

FROM_STRANDS: Final[Mapping[str, Callable[..., Judgement]]] = {
    "strands:Contains": _contains,
    "strands:Equals": _equals,
    "strands:StartsWith": _starts_with,
    "strands:StateEquals": _state_equals,
    "strands:ToolCalled": _tool_called,
}
