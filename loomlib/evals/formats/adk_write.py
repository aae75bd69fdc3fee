"""Writing ADK's eval sets (snake_case, `IntermediateData`) with a `test_config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ..values.cases import EvalCase, UserScenario
from ..values.eval_set import EvalSet
from .adk import METADATA_KEY, USER, persona_of
from .adk_parts import text_of, wrapped
from .json_text import dump
from .native import case_fields, set_fields

_READY_PERSONAS: Final = ("EXPERT", "NOVICE", "EVALUATOR")
"""ADK's built-in personas, looked up by name; it rejects a file with another name."""

REASONS: Final = {
    "turns.expected_tools": "in ADK a turn with intermediate texts expects that no tool is called",
    "session_tools": "ADK expects tools per turn, not for the whole conversation",
    "turns.expected_tools.matchers": "ADK compares arguments exactly",
    "turns.payload": "ADK sends a Content object, not a payload",
    "scenario.max_turns": "ADK limits turns in its user simulator's configuration",
    "metadata": "ADK's cases have no metadata",
    "set.metadata": "ADK's eval sets have no metadata",
    "set.evaluators": "ADK has no such criterion, does not support these options, or requires a threshold",
    "final_state": "in ADK an empty final state means no expectation",
}


def write_text(evalset: EvalSet) -> str:
    """Return the set as `.evalset.json`, without its evaluators (see `adk_config`)."""
    extras = _stored_metadata(set_fields(evalset).get("metadata"))
    id = extras.get("eval_set_id")
    document: dict[str, Any] = {
        "eval_set_id": id if isinstance(id, str) and id else evalset.name,
        "name": evalset.name,
    }
    if evalset.description:
        document["description"] = evalset.description
    document["eval_cases"] = [_case(case, evalset.name) for case in evalset.cases]
    return dump({**document, **_number(extras, "creation_timestamp")}, indent=2) + "\n"


def _stored_metadata(metadata: object) -> dict[str, Any]:
    """Return the metadata stored for ADK."""
    value = cast("Mapping[str, Any]", metadata).get(METADATA_KEY) if isinstance(metadata, Mapping) else None
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def _number(extras: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = extras.get(name)
    return {name: value} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


def _case(case: EvalCase, set_name: str) -> dict[str, Any]:
    fields = case_fields(case)
    extras = _stored_metadata(fields.get("metadata"))
    document: dict[str, Any] = {"eval_id": case.id}
    if case.scenario is not None:
        document["conversation_scenario"] = _scenario(case.scenario, extras.get("user_persona"))
    else:
        invocations: Any = extras.get("conversation")
        if not isinstance(invocations, list) or len(cast("list[Any]", invocations)) != len(case.turns):
            invocations = [None] * len(case.turns)
        document["conversation"] = [
            _turn(turn, more) for turn, more in zip(fields["turns"], cast("list[Any]", invocations), strict=True)
        ]
    session: Any = extras.get("session_input")
    session = cast("dict[str, Any]", session) if isinstance(session, dict) else {}
    if session or case.initial_state:
        texts = {key: entry for key, entry in session.items() if isinstance(entry, str) and key != "state"}
        document["session_input"] = {
            "app_name": set_name,
            "user_id": USER,
            **texts,
            "state": fields.get("initial_state", {}),
        }
    document |= _number(extras, "creation_timestamp")
    if case.rubrics:
        document["rubrics"] = [_rubric(entry) for entry in fields["rubrics"]]
    if case.final_state:
        document["final_session_state"] = fields["final_state"]
    more: Any = extras.get("case")
    more = cast("dict[str, Any]", more) if isinstance(more, dict) else {}
    return {**document, **{key: value for key, value in more.items() if key not in document}}


def _scenario(scenario: UserScenario, extras: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"starting_prompt": scenario.starting_prompt, "conversation_plan": scenario.plan}
    persona = scenario.persona
    if isinstance(extras, dict) and persona and cast("dict[str, Any]", extras).get("description") == persona:
        document["user_persona"] = extras
    elif persona is not None:
        document["user_persona"] = persona if persona in _READY_PERSONAS else persona_of(persona)
    return document


def _turn(turn: Mapping[str, Any], more: Any) -> dict[str, Any]:
    extras = cast("dict[str, Any]", more) if isinstance(more, dict) else {}
    document: dict[str, Any] = {}
    if isinstance(extras.get("invocation_id"), str):
        document["invocation_id"] = extras["invocation_id"]
    document["user_content"] = _content_of(turn)
    if "expected_answer" in turn:
        document["final_response"] = {"role": "model", "parts": [{"text": turn["expected_answer"]}]}
    tools, texts = turn.get("expected_tools"), turn.get("expected_texts", [])
    if tools is not None or texts:
        document["intermediate_data"] = _intermediate(tools or [], texts)
    document |= (
        _number(extras, "creation_timestamp") | _number(extras, "duration") | _number(extras, "inference_call_count")
    )
    if isinstance(extras.get("app_details"), dict):
        document["app_details"] = extras["app_details"]
    if "rubrics" in turn:
        document["rubrics"] = [_rubric(rubric) for rubric in turn["rubrics"]]
    return document


def _content_of(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content that was read, if the payload is one; else the prompt as one part."""
    payload: Any = turn.get("payload")
    if isinstance(payload, dict):
        values = cast("dict[str, Any]", payload)
        content = values.get("content")
        if values.keys() == {"prompt", "content"} and isinstance(content, dict) and values["prompt"] == turn["prompt"]:
            parts: Any = cast("dict[str, Any]", content).get("parts")
            members = cast("list[Any]", parts if isinstance(parts, list) else [None])
            if all(isinstance(part, dict) for part in members) and text_of(members) == turn["prompt"]:
                return cast("dict[str, Any]", content)
    return {"role": "user", "parts": [{"text": turn["prompt"]}]}


def _intermediate(tools: list[Any], texts: list[str]) -> dict[str, Any]:
    uses: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    has_results = any(isinstance(tool, dict) and "result" in tool for tool in tools)
    for n, value in enumerate(tools, 1):
        tool = cast("dict[str, Any]", value) if isinstance(value, dict) else {"name": value}
        use: dict[str, Any] = {"id": f"call-{n}"} if has_results else {}
        use["name"] = tool["name"]
        if "arguments" in tool:
            use["args"] = tool["arguments"]
        uses.append(use)
        if "result" in tool:
            responses.append({"id": f"call-{n}", "name": tool["name"], "response": wrapped(tool["result"])})
    document: dict[str, Any] = {"tool_uses": uses}
    if responses:
        document["tool_responses"] = responses
    if texts:
        document["intermediate_responses"] = [["agent", [{"text": text}]] for text in texts]
    return document


def _rubric(value: Any) -> dict[str, Any]:
    rubric = cast("dict[str, Any]", value) if isinstance(value, dict) else {"text": value}
    document: dict[str, Any] = {"rubric_id": rubric.get("id", ""), "rubric_content": {"text_property": rubric["text"]}}
    return {**document, "type": rubric["kind"]} if "kind" in rubric else document
