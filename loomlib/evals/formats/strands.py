"""Experiments of strands_evals: cases and evaluators, in the form of `Experiment.to_dict` and `from_dict`.

A case of strands has one input; `session_id` is dropped, since every case gets its own session. Evaluators become
`strands:<type>` with their own options; `Equals` without options is Loom's `exact`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from ..values.cases import EvalCase, EvaluatorChoice, Turn
from ..values.eval_set import EvalSet
from ..values.tool_use import ExpectedTool
from .agentcore import prompt_of
from .fields import Fields, report_duplicates
from .json_text import dump
from .native import case_fields, read_mappings
from .plain import plain
from .problems import Path, Problems, display_value

_PREFIX: Final = "strands:"
_INTERACTION: Final = {"node_name": str, "dependencies": list, "messages": list}

REASONS: Final = {
    "turns": "a case of strands has one input: only the first turn is written",
    "turns.expected_tools.matchers": "strands has no rules for individual arguments",
    "turns.prompt": "a turn with a payload sends the payload",
    "session_tools": "a case of strands has one turn, and the tools are that turn's",
    "scenario": "a case of strands has an input and no plan; the plan is written to the metadata as task_description",
    "assertions": "a case of strands has one assertion: several are written into one, line by line",
    "metadata": "a scenario's plan is written there as task_description, for strands' user simulator",
    "set.evaluators": "strands has no evaluator with that name, or its evaluator has no threshold",
    "expected_interactions": "an interaction of strands has node_name, dependencies and messages",
    "set.name": "an experiment of strands has no name; the file's name is read",
}


def read_document(document: Mapping[str, Any], name: str, problems: Problems) -> EvalSet | None:
    """Return the set of a parsed experiment; None when `problems` has an entry.

    Args:
        document: The parsed JSON.
        name: The set's name unless the document has one.
        problems: Collects the problems.
    """
    fields = Fields(document, (), problems)
    cases = [_case(value, path, n, problems) for n, (value, path) in enumerate(fields.items("cases"), 1)]
    evaluators = tuple(_evaluator(value, path, problems) for value, path in fields.items("evaluators"))
    report_duplicates([case.id if case else None for case in cases], ("cases",), "name", problems)
    fields.nothing_else()
    if problems.count:
        return None
    return EvalSet(name=name, cases=tuple(case for case in cases if case), evaluators=evaluators)


def _case(value: object, path: Path, n: int, problems: Problems) -> EvalCase | None:
    before = problems.count
    fields = Fields(value, path, problems, what="a case")
    fields.take("session_id")
    prompt, payload = _input(fields)
    expected, _ = fields.take("expected_output")
    tools = tuple(_tool(item, at, problems) for item, at in fields.items("expected_trajectory"))
    turn = Turn(
        prompt=prompt,
        payload=payload,
        expected_answer=expected if isinstance(expected, (str, type(None))) else _json(expected),
        expected_tools=tools if fields.has("expected_trajectory") else None,
    )
    assertion = fields.text("expected_assertion")
    name = fields.text("name")
    values: dict[str, Any] = {
        "assertions": () if assertion is None else (assertion,),
        "expected_interactions": read_mappings(fields, "expected_interactions"),
        "final_state": _state(fields),
        "metadata": fields.mapping("metadata") or {},
    }
    fields.nothing_else()
    if problems.count > before:
        return None
    return EvalCase(id=name if name and name.strip() else f"case-{n}", turns=(turn,), **values)


def _input(fields: Fields) -> tuple[str, dict[str, Any] | None]:
    value, name = fields.take("input")
    if isinstance(value, str):
        return value, None
    if value is None:
        fields.wrong(name, "it is missing", 'add "input": "…"')
        return "", None
    payload: dict[str, Any] = (
        (fields.mapping(name) or {}) if isinstance(value, Mapping) else {"input": fields.free(name)}
    )
    return prompt_of(payload), payload


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _tool(value: object, path: Path, problems: Problems) -> ExpectedTool:
    if isinstance(value, str) and value.strip():
        return ExpectedTool(name=value)
    fields = Fields(value, path, problems, what="a tool's name or")
    name = fields.text("name", "tool_name", "toolName", required=True)
    if name is not None and not name.strip():
        fields.wrong("name", "it is empty", "give the tool's name")
    arguments = fields.mapping("input", "arguments", "args")
    return ExpectedTool(
        name=name if name and name.strip() else "?", arguments=arguments, result=fields.free("tool_result", "result")
    )


def _state(fields: Fields) -> dict[str, Any] | None:
    states: dict[str, Any] = {}
    for value, path in fields.items("expected_environment_state"):
        state = Fields(value, path, fields.problems, what="a state")
        name = state.text("name", required=True) or ""
        if name in states:
            state.wrong("name", f"the state {display_value(name)} occurs twice", "keep one of the two")
        states[name] = state.free("state")
        state.nothing_else()
    return states if fields.has("expected_environment_state") else None


def _evaluator(value: object, path: Path, problems: Problems) -> EvaluatorChoice:
    fields = Fields(value, path, problems, what="an evaluator")
    kind = fields.text("evaluator_type", required=True) or "?"
    options: dict[str, Any] = fields.plain(fields.rest(), path) or {}
    return EvaluatorChoice(name="exact" if kind == "Equals" and not options else _PREFIX + kind, options=options)


def write_text(evalset: EvalSet) -> str:
    """Return the set as an experiment."""
    evaluators = [evaluator for choice in evalset.evaluators if (evaluator := _evaluator_document(choice)) is not None]
    document = {"cases": [_fields(case) for case in evalset.cases], "evaluators": evaluators}
    return dump(document, indent=2) + "\n"


def _evaluator_document(choice: EvaluatorChoice) -> dict[str, Any] | None:
    if choice.name == "exact" and not choice.options:
        return {"evaluator_type": "Equals"}
    kind = choice.name.removeprefix(_PREFIX)
    return {"evaluator_type": kind, **plain(choice.options)} if kind and kind != choice.name else None


def _fields(case: EvalCase) -> dict[str, Any]:
    fields = case_fields(case)
    metadata: dict[str, Any] = fields.get("metadata", {})
    turn: Mapping[str, Any] = fields["turns"][0] if case.turns else {"prompt": case.prompt}
    if case.scenario is not None:
        metadata = {"task_description": case.scenario.plan, **metadata}
    payload: dict[str, Any] | None = turn.get("payload")
    is_wrapped = payload is not None and payload.keys() == {"input"} and not isinstance(payload["input"], (str, dict))
    state: Mapping[str, Any] | None = fields.get("final_state")
    tools: list[Any] | None = turn.get("expected_tools", fields.get("session_tools"))
    return {
        "name": case.id,
        "input": turn["prompt"] if payload is None else payload["input"] if is_wrapped else payload,
        "expected_output": turn.get("expected_answer"),
        "expected_assertion": "\n".join(case.assertions) if case.assertions else None,
        "expected_trajectory": None if tools is None else [_trajectory(tool) for tool in tools],
        "expected_interactions": _interactions(fields.get("expected_interactions", [])) or None,
        "expected_environment_state": None if state is None else [
            {"name": name, "state": value} for name, value in state.items()
        ],
        "metadata": metadata or None,
    }  # fmt: skip


def _trajectory(tool: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(tool, str):
        return tool
    document: dict[str, Any] = {"name": tool["name"]}
    if "arguments" in tool:
        document["input"] = tool["arguments"]
    if "result" in tool:
        document["tool_result"] = tool["result"]
    return document if len(document) > 1 else tool["name"]


def _interactions(values: list[Any]) -> list[dict[str, Any]]:
    """Return the evaluators that strands accepts; it rejects a whole experiment for one that it does not know."""
    return [
        {
            name: member
            for name, member in cast("dict[str, Any]", value).items()
            if isinstance(member, _INTERACTION.get(name, ()))
        }
        for value in values
    ]
