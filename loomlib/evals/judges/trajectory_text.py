"""A trajectory in words, for a judge: what was asked, each call with its arguments and result, what was answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.tool_use import ExpectedTool, ToolUse
from .material import folded, one_entry

RESULT_LIMIT: Final = 1_500
ARGUMENTS_LIMIT: Final = 1_500


def trajectory_text(case: EvalCase, answer: CaseAnswer, *, result_limit: int = RESULT_LIMIT) -> str:
    """All turns. A result longer than `result_limit` characters is folded, and says how much is left out.

    Lines within a text are indented, so that none of them passes for a step of its own.
    """
    lines: list[str] = []
    number = 0
    for at, turn in enumerate(answer.turns):
        prompt = case.turns[at].prompt if at < len(case.turns) else case.prompt if at == 0 else ""
        if prompt:
            lines.append(one_entry(f"User: {prompt}"))
        for use in turn.tools or ():
            number += 1
            lines.append(one_entry(f"Call {number}: {call_text(use)}"))
            told = _plain(use.result)
            status = f" [{use.status}]" if use.status else ""
            result = folded(told, result_limit) if told else "(not recorded)"
            lines.append(one_entry(f"Result {number}{status}: {result}"))
        lines.append(one_entry(f"Agent: {turn.text}"))
    return "\n".join(lines)


def call_text(use: ToolUse) -> str:
    """`get_weather({"city": "Paris"})`."""
    arguments = "(arguments not recorded)" if use.arguments is None else f"({_plain(use.arguments)})"
    return f"{use.name}{folded(arguments, ARGUMENTS_LIMIT)}"


def reference_text(tools: Sequence[ExpectedTool]) -> str:
    """The expected calls, one a line."""
    return "\n".join(
        f"{at}. {each.name}({'' if each.arguments is None else _plain(each.arguments)})"
        for at, each in enumerate(tools, 1)
    )


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
