"""The losses of a format, found by reading the written file back and comparing it with the set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.losses import Loss, Losses
from ..values.tool_use import ExpectedTool
from .plain import plain

_SET_FIELDS: Final = ("name", "version", "description", "evaluators", "metadata")
_CASE_FIELDS: Final = (
    "id", "assertions", "rubrics", "tags", "initial_state", "final_state", "forbidden_tools", "reference_tokens",
    "reference_steps", "evaluators", "expected_interactions", "metadata", "source",
)  # fmt: skip
_TURN_FIELDS: Final = ("prompt", "payload", "expected_answer", "expected_texts", "rubrics")
_SCENARIO_FIELDS: Final = ("starting_prompt", "plan", "persona", "max_turns")


def measure(written: EvalSet, read_back: EvalSet, format: str, reasons: Mapping[str, str]) -> Losses:
    """Return what was lost.

    Args:
        written: The set that was written.
        read_back: The set that was read back.
        format: The format.
        reasons: Why the format cannot hold a field, by field.
    """
    of_set = [name for name in _SET_FIELDS if not _same(getattr(written, name), getattr(read_back, name))]
    of_cases: dict[str, list[str]] = {}
    for case, other in zip(written.cases, read_back.cases, strict=True):
        for name in dict.fromkeys(_case(case, other)):
            of_cases.setdefault(name, []).append(case.id)
    losses = [Loss(field=name, reason=_reason(f"set.{name}", format, reasons)) for name in of_set]
    for name in sorted(of_cases):
        losses.append(Loss(field=name, reason=_reason(name, format, reasons), cases=tuple(of_cases[name])))
    return Losses(format, tuple(losses))


def _reason(name: str, format: str, reasons: Mapping[str, str]) -> str:
    return reasons.get(name) or f"{format} has no place for it"


def _same(one: Any, other: Any) -> bool:
    if one == other:
        return True
    try:
        return plain(one) == plain(other)  # a tuple in the metadata reads back as a list, which is equivalent
    except ValueError:
        return False


def _differing(one: Any, other: Any, names: Sequence[str], prefix: str = "") -> Iterator[str]:
    for name in names:
        if not _same(getattr(one, name), getattr(other, name)):
            yield prefix + name


def _case(case: EvalCase, other: EvalCase) -> Iterator[str]:
    yield from _differing(case, other, _CASE_FIELDS)
    yield from _tools(case.session_tools, other.session_tools, "session_tools")
    if case.scenario is None or other.scenario is None:
        if case.scenario is not other.scenario:
            yield "scenario"
            return
    else:
        yield from _differing(case.scenario, other.scenario, _SCENARIO_FIELDS, "scenario.")
    if len(case.turns) != len(other.turns):
        yield "turns"
        return
    for turn, read in zip(case.turns, other.turns, strict=True):
        if turn != read:
            yield from _differing(turn, read, _TURN_FIELDS, "turns.")
            yield from _tools(turn.expected_tools, read.expected_tools, "turns.expected_tools")


def _tools(tools: tuple[ExpectedTool, ...] | None, read: tuple[ExpectedTool, ...] | None, name: str) -> Iterator[str]:
    if tools is None or read is None or [tool.name for tool in tools] != [tool.name for tool in read]:
        if tools != read:
            yield name
        return
    for tool, read_tool in zip(tools, read, strict=True):
        yield from _tool(tool, read_tool, name)


def _tool(tool: ExpectedTool, other: ExpectedTool, name: str) -> Iterator[str]:
    if (tool.arguments is None) != (other.arguments is None) or not _same(tool.arguments, other.arguments):
        yield f"{name}.arguments"
    yield from _differing(tool, other, ("matchers", "result"), f"{name}.")
