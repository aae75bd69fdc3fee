"""A trajectory as text for a judge: prompts, calls with arguments and results, answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ..values.answers import CaseAnswer, prompts_of
from ..values.cases import EvalCase
from ..values.tool_use import ExpectedTool, ToolUse
from .material import folded, one_entry

RESULT_LIMIT: Final = 1_500
ARGUMENTS_LIMIT: Final = 1_500
TRAJECTORY_VERSION: Final = "2"
"""Version of the text, part of the digest of judges that show it; version 1 lacked a simulated user's prompts."""


def trajectory_text(
    case: EvalCase, answer: CaseAnswer, *, result_limit: int = RESULT_LIMIT, at: int | None = None
) -> str:
    """Return all turns, or one of them, as text.

    Lines within a text are indented, so that none of them looks like a step of its own.

    Args:
        case: The case.
        answer: The answer with its tool calls.
        result_limit: Maximum number of characters of a result; a longer one is shortened, with a note on how much was
            left out.
        at: Index of the only turn to return; None for all turns.
    """
    prompts = prompts_of(case, answer)
    lines: list[str] = []
    number = 0
    for index, turn in enumerate(answer.turns):
        if at not in (None, index):
            continue
        prompt = prompts[index] if index < len(prompts) else ""
        if prompt:
            lines.append(one_entry(f"User: {prompt}"))
        for use in turn.tools or ():
            number += 1
            lines.append(one_entry(f"Call {number}: {call_text(use)}"))
            text = _plain(use.result)
            status = f" [{use.status}]" if use.status else ""
            result = folded(text, result_limit) if text else "(not recorded)"
            lines.append(one_entry(f"Result {number}{status}: {result}"))
        lines.append(one_entry(f"Agent: {turn.text}"))
    return "\n".join(lines)


def call_text(use: ToolUse) -> str:
    """Return a tool call as text, such as `get_weather({"city": "Paris"})`."""
    arguments = "(arguments not recorded)" if use.arguments is None else f"({_plain(use.arguments)})"
    return f"{use.name}{folded(arguments, ARGUMENTS_LIMIT)}"


def reference_text(tools: Sequence[ExpectedTool]) -> str:
    """Return the expected calls, one per line."""
    return "\n".join(
        f"{number}. {tool.name}({'' if tool.arguments is None else _plain(tool.arguments)})"
        for number, tool in enumerate(tools, 1)
    )


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
