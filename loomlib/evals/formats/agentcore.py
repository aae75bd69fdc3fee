"""AgentCore evaluation datasets: scenarios of turns (predefined) or of a simulated user, as JSON or JSON lines.

Shapes: the dataset types of the `bedrock-agentcore` package, schema types AGENTCORE_EVALUATION_PREDEFINED_V1 and
AGENTCORE_EVALUATION_SIMULATED_V1. The expected trajectory is a list of tool names for the whole conversation: a case's
`session_tools`, or the tools that its turn expects if there is only one turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from ..values.cases import EvalCase, Turn, UserScenario
from ..values.eval_set import EvalSet
from ..values.tool_use import ExpectedTool
from .fields import Fields, report_duplicates
from .json_text import dump
from .native import case_fields
from .problems import Path, Problems, display_value

_PREDEFINED: Final = "AGENTCORE_EVALUATION_PREDEFINED_V1"
_SIMULATED: Final = "AGENTCORE_EVALUATION_SIMULATED_V1"
_METADATA_KEY: Final = "agentcore"
"""Metadata key of the fields that only AgentCore has (an actor's traits), so that they can be written back."""

REASONS: Final = {
    "turns.expected_tools": "an AgentCore dataset has one trajectory for the whole conversation, not one per turn",
    "session_tools": "AgentCore has one list of tools; with a single turn, it is read as the turn's expectation",
    "session_tools.arguments": "AgentCore compares the names of tools, not their arguments",
    "session_tools.matchers": "AgentCore compares the names of tools, not their arguments",
    "session_tools.result": "AgentCore compares the names of tools, not their results",
    "turns.expected_tools.arguments": "AgentCore compares the names of tools, not their arguments",
    "turns.expected_tools.matchers": "AgentCore compares the names of tools, not their arguments",
    "turns.expected_tools.result": "AgentCore compares the names of tools, not their results",
    "turns.prompt": "a turn with a payload sends the payload",
    "set.name": "an AgentCore dataset has no name of its own; the file's name is read",
}


def is_scenario(document: Mapping[str, Any]) -> bool:
    """Return whether this is a scenario of a dataset (a line of its JSON Lines form)."""
    return "scenario_id" in document or str(document.get("schema_type", "")).startswith("AGENTCORE_EVALUATION")


def read_document(document: Mapping[str, Any], name: str, problems: Problems) -> EvalSet | None:
    """Return the set of a parsed dataset; None when `problems` has an entry.

    Args:
        document: The dataset as JSON.
        name: The name of the set; the dataset has none.
        problems: Collects the problems; nothing is raised.
    """
    fields = Fields(document, (), problems)
    cases = [read_scenario(value, path, problems) for value, path in fields.items("scenarios")]
    report_duplicates([case.id if case else None for case in cases], ("scenarios",), "scenario_id", problems)
    fields.nothing_else()
    return None if problems.count else EvalSet(name=name, cases=tuple(case for case in cases if case))


def read_scenario(value: object, path: Path, problems: Problems) -> EvalCase | None:
    """Return one scenario as a case; None when it is invalid.

    Args:
        value: The scenario as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    before = problems.count
    fields = Fields(value, path, problems, what="a scenario")
    fields.take("schema_type")
    id = fields.text("scenario_id", required=True)
    if id is not None and not id.strip():
        fields.wrong("scenario_id", "it is empty", "give the scenario an id")
    metadata = fields.mapping("metadata") or {}
    values: dict[str, Any] = {"assertions": fields.texts("assertions")}
    if fields.has("turns"):
        values["turns"], values["session_tools"] = _turns(fields)
    elif fields.has("actor_profile"):
        values["scenario"], extras = _simulated(fields)
        metadata = {**metadata, _METADATA_KEY: extras} if extras else metadata
    else:
        problems.add(path, "it has neither turns nor an actor_profile", 'add "turns": [{"input": "…"}]')
    fields.nothing_else()
    return None if problems.count > before else EvalCase(id=id or "", metadata=metadata, **values)


def _turns(fields: Fields) -> tuple[tuple[Turn, ...], tuple[ExpectedTool, ...] | None]:
    """Return the turns, and the tools of a conversation with several turns."""
    names = fields.texts("expected_trajectory")
    tools = tuple(ExpectedTool(name=name) for name in names if name.strip())
    expected = tools if fields.has("expected_trajectory") else None
    if len(tools) < len(names):
        fields.wrong("expected_trajectory", "a name is empty", "give the name of every tool")
    values = list(fields.items("turns"))
    if not values:
        fields.wrong("turns", "there is none", 'add at least one: {"input": "…"}')
    turns: list[Turn] = []
    for value, path in values:
        turn = Fields(value, path, fields.problems, what="a turn")
        prompt, payload = _input(turn)
        turns.append(
            Turn(
                prompt=prompt,
                payload=payload,
                expected_answer=turn.text("expected_response"),
                expected_tools=expected if len(values) == 1 else None,
            )
        )
        turn.nothing_else()
    return tuple(turns), None if len(values) == 1 else expected


def _input(fields: Fields) -> tuple[str, dict[str, Any] | None]:
    value, name = fields.take("input")
    if isinstance(value, str):
        return value, None
    if isinstance(value, Mapping):
        payload = fields.mapping(name) or {}
        return prompt_of(payload), payload
    if value is None:
        fields.wrong(name, "it is missing", 'add "input": "…"')
    else:
        fields.wrong(name, f"this is {display_value(value)}", "put a text or an object here")
    return "", None


def prompt_of(payload: Mapping[str, Any]) -> str:
    """Return a payload's `prompt`, else the whole payload as text."""
    prompt = payload.get("prompt")
    return prompt if isinstance(prompt, str) else json.dumps(payload, ensure_ascii=False)


def _simulated(fields: Fields) -> tuple[UserScenario, dict[str, Any]]:
    profile, _ = fields.take("actor_profile")
    actor = Fields(profile, (*fields.path, "actor_profile"), fields.problems, what="a profile")
    prompt, payload = _input(fields)
    if payload is not None:
        fields.wrong(
            "input", "the first input of a simulated user is an object", "put the text of the first prompt here"
        )
    scenario = UserScenario(
        starting_prompt=prompt,
        plan=actor.text("goal", required=True) or "",
        persona=actor.text("context", required=True) or None,
        max_turns=fields.whole("max_turns", at_least=1) or 10,
    )
    extras = {"traits": actor.mapping("traits"), "scenario_description": fields.text("scenario_description")}
    actor.nothing_else()
    return scenario, {name: value for name, value in extras.items() if value}


def write_text(evalset: EvalSet) -> str:
    """Return the set as a dataset; raise `ValueError` for a set without cases."""
    if not evalset.cases:
        raise ValueError("An AgentCore dataset needs at least one scenario")
    return dump({"scenarios": [_scenario(case) for case in evalset.cases]}, indent=1) + "\n"


def _scenario(case: EvalCase) -> dict[str, Any]:
    fields = case_fields(case)
    metadata: dict[str, Any] = fields.get("metadata", {})
    document: dict[str, Any] = {"schema_type": _SIMULATED if case.scenario else _PREDEFINED, "scenario_id": case.id}
    if case.scenario is not None:
        extras = _stored_extras(metadata.get(_METADATA_KEY))
        if extras:
            metadata = {name: value for name, value in metadata.items() if name != _METADATA_KEY}
        if case.scenario.max_turns < 1:
            raise ValueError(f"case {case.id!r}: AgentCore's simulated users take at least one turn")
        context = case.scenario.persona or ""
        profile = {"traits": extras.get("traits", {}), "context": context, "goal": case.scenario.plan}
        document |= {"scenario_description": extras.get("scenario_description", ""), "actor_profile": profile}
        document |= {"input": case.scenario.starting_prompt, "max_turns": case.scenario.max_turns}
    else:
        document["turns"] = [_turn(turn) for turn in fields["turns"]]
        if case.expected_tools is not None:
            document["expected_trajectory"] = [tool.name for tool in case.expected_tools]
    if case.assertions:
        document["assertions"] = list(case.assertions)
    return {**document, "metadata": metadata} if metadata else document


def _stored_extras(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    extras = cast("Mapping[str, Any]", value)
    traits, description = extras.get("traits"), extras.get("scenario_description")
    is_ours = extras.keys() <= {"traits", "scenario_description"} and isinstance(traits, (Mapping, type(None)))
    is_ours = is_ours and isinstance(description, (str, type(None)))
    return {name: entry for name, entry in extras.items() if entry} if is_ours else {}


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"input": turn.get("payload", turn["prompt"])}
    if "expected_answer" in turn:
        document["expected_response"] = turn["expected_answer"]
    return document
