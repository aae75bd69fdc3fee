"""Reading ADK's eval sets: `EvalSet` in both spellings and both forms of intermediate data, and the old list forms.

Fields of a case that only ADK has (app and user of the session, time stamps, invocation ids) are stored under the
metadata key `adk` and written back. Intermediate data without a tool call mean that no tool call is expected; a turn
without intermediate data has no expectation about tools. The old forms are lists of `{"name", "data": [{"query",
"reference", "expected_tool_use"}], "initial_session"}`, one such object, or the list of queries alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..values.cases import EvalCase, Rubric, Turn, UserScenario
from ..values.eval_set import EvalSet
from .adk_parts import both, parts_of, read_call, text_of, tools_of_parts, with_results
from .fields import Fields, report_duplicates
from .problems import Path, Problems

METADATA_KEY: Final = "adk"
USER: Final = "user"
_OF_AN_INVOCATION: Final = ("invocation_id", "creation_timestamp", "app_details", "inference_call_count", "duration")


def read_document(document: Any, name: str, problems: Problems) -> EvalSet | None:
    """Return the set of a parsed file; None when `problems` has an entry.

    Args:
        document: The parsed JSON.
        name: The set's name unless the file has one.
        problems: Collects the problems.
    """
    if isinstance(document, (list, tuple)) or "data" in document:
        return _read_old(document, name, problems)
    fields = Fields(document, (), problems)
    id = fields.text(*both("eval_set_id"))
    set_name = fields.text("name") or id or name
    extras = {"creation_timestamp": fields.number(*both("creation_timestamp"))}
    if id is not None and id != set_name:
        extras["eval_set_id"] = id  # pyright: ignore[reportArgumentType]
    description = fields.text("description") or ""
    cases = [_case(value, path, set_name, problems) for value, path in fields.items(*both("eval_cases"))]
    report_duplicates(
        [case.id if case else None for case in cases], (fields.take(*both("eval_cases"))[1],), "eval_id", problems
    )
    fields.nothing_else()
    if problems.count:
        return None
    return EvalSet(
        name=set_name,
        cases=tuple(case for case in cases if case),
        description=description,
        metadata=_under_adk(extras),
    )


def _under_adk(extras: Mapping[str, Any]) -> dict[str, Any]:
    present = {name: value for name, value in extras.items() if value}
    return {METADATA_KEY: present} if present else {}


def _case(value: object, path: Path, set_name: str, problems: Problems) -> EvalCase | None:
    before = problems.count
    fields = Fields(value, path, problems, what="a case")
    id = fields.text(*both("eval_id"), required=True)
    if id is not None and not id.strip():
        fields.wrong("eval_id", "it is empty", "give the case an id")
    scenario_value, scenario_name = fields.take(*both("conversation_scenario"))
    has_turns = bool(fields.values.get("conversation"))
    if has_turns == (scenario_value is not None) and not problems.count > before:
        problem = "it has both a conversation and a conversation_scenario" if has_turns else (
            "it has neither a conversation nor a conversation_scenario")  # fmt: skip
        problems.add(path, problem, "give it one of the two")
    turns: list[Turn] = []
    invocations: list[dict[str, Any]] = []
    for invocation, at in fields.items("conversation"):
        turn, extras = _turn(invocation, at, problems)
        turns.append(turn)
        invocations.append(extras)
    scenario, persona = (
        (None, None) if scenario_value is None else _scenario(scenario_value, (*path, scenario_name), problems)
    )
    state, session = _session(fields, "session_input", set_name)
    final_state = fields.mapping(*both("final_session_state"))
    extras = {
        "creation_timestamp": fields.number(*both("creation_timestamp")),
        "session_input": session,
        "user_persona": persona,
        "conversation": invocations if any(invocations) else None,
    }
    rubrics = _rubrics(fields)
    rest = fields.plain(fields.rest(), path)
    if problems.count > before:
        return None
    return EvalCase(
        id=id or "",
        turns=tuple(turns),
        scenario=scenario,
        rubrics=rubrics,
        initial_state=state,
        final_state=final_state or None,
        metadata=_under_adk({**extras, "case": rest}),
    )


def _session(fields: Fields, name: str, set_name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the initial session state and the other fields of the session."""
    value, spelling = fields.take(*both(name))
    if value is None:
        return {}, {}
    session = Fields(value, (*fields.path, spelling), fields.problems)
    state = session.mapping("state") or {}
    app, user = session.text(*both("app_name")) or set_name, session.text(*both("user_id")) or USER
    extras = {"app_name": app if app != set_name else None, "user_id": user if user != USER else None}
    extras |= session.plain(session.rest(), session.path) or {}
    return state, {key: entry for key, entry in extras.items() if entry is not None}


def _turn(value: object, path: Path, problems: Problems) -> tuple[Turn, dict[str, Any]]:
    fields = Fields(value, path, problems, what="an invocation")
    content, spelling = fields.take(*both("user_content"))
    if content is None:
        fields.wrong(spelling, "it is missing", 'add "user_content": {"parts": [{"text": "…"}]}')
    parts = parts_of(content, (*path, spelling), problems)
    prompt = text_of(parts)
    payload = None
    if not all(isinstance(part.get("text"), str) for part in parts):
        payload = {"prompt": prompt, "content": fields.plain(content, (*path, spelling))}
    response, spelling = fields.take(*both("final_response"))
    response_parts = parts_of(response, (*path, spelling), problems)
    tools, texts = _intermediate(fields)
    extras = {name: fields.free(*both(name)) for name in _OF_AN_INVOCATION}
    turn = Turn(
        prompt=prompt,
        payload=payload,
        expected_answer=text_of(response_parts) if response_parts else None,
        expected_tools=tools,
        expected_texts=texts,
        rubrics=_rubrics(fields),
    )
    fields.nothing_else()
    return turn, {name: entry for name, entry in extras.items() if entry is not None}


def _intermediate(fields: Fields) -> tuple[tuple[Any, ...] | None, tuple[str, ...]]:
    """Return the tool calls and texts before the final answer, from either form of intermediate data."""
    value, spelling = fields.take(*both("intermediate_data"))
    if value is None:
        return None, ()
    data = Fields(value, (*fields.path, spelling), fields.problems)
    parts: list[Mapping[str, Any]] = []
    texts: list[str] = []
    if data.has(*both("invocation_events")):
        for item, at in data.items(*both("invocation_events")):
            event = Fields(item, at, data.problems, what="an event")
            content, name = event.take("content")
            event_parts = parts_of(content, (*at, name), data.problems)
            parts.extend(event_parts)
            text = text_of(event_parts)
            texts.extend([text] if text else [])
        tools = tools_of_parts(parts, data.problems, data.path)
    else:
        uses = [read_call(item, at, data.problems) for item, at in data.items(*both("tool_uses"))]
        responses = [read_call(item, at, data.problems) for item, at in data.items(*both("tool_responses"))]
        tools = with_results(uses, responses)
        for item, at in data.items(*both("intermediate_responses")):
            texts.append(_response_text(item, at, data.problems))
        data.nothing_else()
    return tools, tuple(texts)


def _response_text(value: object, path: Path, problems: Problems) -> str:
    if isinstance(value, (list, tuple)):
        pair = cast("Sequence[Any]", value)
        if len(pair) == 2:
            return text_of(parts_of({"parts": pair[1]}, path, problems))
    problems.add(path, "this is not a pair of author and parts", 'write ["author", [{"text": "…"}]]')
    return ""


def _scenario(value: object, path: Path, problems: Problems) -> tuple[UserScenario, Any]:
    fields = Fields(value, path, problems, what="a scenario")
    persona, spelling = fields.take(*both("user_persona"))
    extras: dict[str, Any] | None = None
    if isinstance(persona, Mapping):
        extras = cast("dict[str, Any]", fields.plain(cast("object", persona), (*path, spelling)) or {})
        persona = extras.get("description", extras.get("id"))
        if extras == persona_of(persona):
            extras = None
    scenario = UserScenario(
        starting_prompt=fields.text(*both("starting_prompt"), required=True) or "",
        plan=fields.text(*both("conversation_plan"), required=True) or "",
        persona=persona if isinstance(persona, str) else None,
    )
    fields.nothing_else()
    return scenario, extras


def persona_of(persona: object) -> dict[str, Any]:
    """Return a persona as ADK's `UserPersona`."""
    return {"id": "loom", "description": persona, "behaviors": []}


def _rubrics(fields: Fields) -> tuple[Rubric, ...]:
    rubrics: list[Rubric] = []
    for value, path in fields.items("rubrics"):
        rubric = Fields(value, path, fields.problems, what="a rubric")
        content, spelling = rubric.take(*both("rubric_content"))
        inner = Fields(content, (*path, spelling), fields.problems, what="the rubric's content")
        rubric.take("description")
        rubrics.append(
            Rubric(
                text=inner.text(*both("text_property"), required=True) or "",
                id=rubric.text(*both("rubric_id")) or "",
                kind=rubric.text("type") or "",
            )
        )
        rubric.nothing_else()
    return tuple(rubrics)


def _read_old(document: Any, name: str, problems: Problems) -> EvalSet | None:
    is_list = isinstance(document, (list, tuple))
    values = cast("Sequence[Any]", document if is_list else [document])
    if is_list and values and isinstance(values[0], Mapping) and "query" in values[0]:
        turns = tuple(_old_turn(value, (n,), problems) for n, value in enumerate(values))
        return None if problems.count else EvalSet(name=name, cases=(EvalCase(id=name, turns=turns),))
    cases: list[EvalCase] = []
    for n, value in enumerate(values):
        before = problems.count
        path: Path = (n,) if is_list else ()
        fields = Fields(value, path, problems, what="a case")
        id = fields.text("name", required=True)
        turns = tuple(_old_turn(turn, at, problems) for turn, at in fields.items("data"))
        state, session = _session(fields, "initial_session", name)
        fields.nothing_else()
        if not problems.count > before and not (turns and id and id.strip()):
            problems.add(path, "it has no name or no data", 'add "name" and "data": [{"query": "…"}]')
        if not problems.count > before and id:
            metadata = _under_adk({"session_input": session})
            cases.append(EvalCase(id=id, turns=turns, initial_state=state, metadata=metadata))
    if not problems.count:
        report_duplicates([case.id for case in cases], (), "name", problems)
    return None if problems.count else EvalSet(name=name, cases=tuple(cases))


def _old_turn(value: object, path: Path, problems: Problems) -> Turn:
    fields = Fields(value, path, problems, what="a query")
    uses = [read_call(item, at, problems) for item, at in fields.items("expected_tool_use")]
    texts: list[str] = []
    for item, at in fields.items("expected_intermediate_agent_responses"):
        response = Fields(item, at, problems)
        response.take("author")
        texts.append(response.text("text", required=True) or "")
    turn = Turn(
        prompt=fields.text("query", required=True) or "",
        expected_answer=fields.text("reference"),
        expected_tools=with_results(uses, []) if fields.has("expected_tool_use") else None,
        expected_texts=tuple(texts),
    )
    fields.nothing_else()
    return turn
