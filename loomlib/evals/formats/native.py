"""Loom's own format of cases and sets: complete, in a fixed order, without fields at their defaults.

    {"loom_evalset": 1, "name": "orders", "cases": [
      {"id": "status", "turns": [{"prompt": "Where is order 7?", "expected_answer": "It is shipped.",
                                  "expected_tools": [{"name": "lookup", "arguments": {"order": 7}}]}]}]}

A tool or an evaluator with only a name, or a rubric with only a text, may be written as that string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ..values.cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario
from ..values.eval_set import EvalSet
from ..values.tool_use import ExpectedTool
from .fields import Fields, report_duplicates
from .json_text import dump
from .plain import NotPlainError, non_default_fields, plain
from .problems import Path, Problems, field_of

MARK: Final = "loom_evalset"
VERSION: Final = 1


def case_fields(case: EvalCase) -> dict[str, Any]:
    """Return the case as plain JSON values; raise `ValueError` for a value that JSON cannot hold."""
    try:
        return _fields_of(case)
    except NotPlainError as problem:
        raise ValueError(f"case {case.id!r} cannot be written: {field_of(problem.path)}: {problem}") from None


def set_fields(evalset: EvalSet) -> dict[str, Any]:
    """Return the set's own fields, starting with the format version."""
    values = non_default_fields(evalset)
    values.pop("cases")
    try:
        return {MARK: VERSION, **{name: _value(value, (name,)) for name, value in values.items()}}
    except NotPlainError as problem:
        raise ValueError(f"the set cannot be written: {field_of(problem.path)}: {problem}") from None


def _fields_of(value: Any, path: Path = ()) -> dict[str, Any]:
    return {name: _value(member, (*path, name)) for name, member in non_default_fields(value).items()}


def _value(value: object, path: Path) -> Any:
    if isinstance(value, (ExpectedTool, Rubric, EvaluatorChoice)):
        fields = _fields_of(value, path)
        return next(iter(fields.values())) if len(fields) == 1 else fields
    if isinstance(value, (Turn, UserScenario)):
        return _fields_of(value, path)
    if isinstance(value, tuple):
        members = cast("tuple[object, ...]", value)
        return [_value(member, (*path, n)) for n, member in enumerate(members)]
    try:
        return plain(value)
    except NotPlainError as problem:
        raise NotPlainError(str(problem), (*path, *problem.path)) from None


def write_text(evalset: EvalSet) -> str:
    """Return the set as one JSON document, each case on its own lines, always the same for the same set."""
    head = dump(set_fields(evalset), indent=1)
    cases = ",\n".join(_indented(dump(case_fields(case), indent=1)) for case in evalset.cases)
    return f'{head[:-2]},\n "cases": [\n{cases}\n ]\n}}\n' if cases else f'{head[:-2]},\n "cases": []\n}}\n'


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")


def read_document(document: Mapping[str, Any], name: str, problems: Problems) -> EvalSet | None:
    """Return the set of a parsed document; None when `problems` has an entry.

    Args:
        document: The parsed JSON.
        name: The set's name unless the document has one.
        problems: Collects the problems.
    """
    fields = Fields(document, (), problems)
    head = read_head(fields, name)
    cases = [read_case(value, path, problems) for value, path in fields.items("cases")]
    if not fields.has("cases"):
        fields.wrong("cases", "it is missing", 'add "cases": […]')
    report_duplicates([case.id if case else None for case in cases], ("cases",), "id", problems)
    fields.nothing_else()
    return None if problems.count else EvalSet(cases=tuple(case for case in cases if case), **head)


def read_head(fields: Fields, name: str) -> dict[str, Any]:
    """Return the set's own fields, for `EvalSet`."""
    mark, _ = fields.take(MARK)
    if mark is None:
        fields.wrong(MARK, "it is missing", f'add "{MARK}": {VERSION}, if this is an eval set of Loom')
    elif mark != VERSION:
        fields.wrong(MARK, f"this is version {mark!r}", f"this release of Loom reads version {VERSION}; upgrade Loom")
    return {
        "name": fields.text("name") or name,
        "version": _or(fields.text("version"), "1"),
        "description": fields.text("description") or "",
        "evaluators": _evaluators(fields, "evaluators"),
        "metadata": fields.mapping("metadata") or {},
        "notes": fields.texts("notes"),
    }


def read_case(value: object, path: Path, problems: Problems) -> EvalCase | None:
    """Return one case; None when it is invalid.

    Args:
        value: The case as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    before = problems.count
    fields = Fields(value, path, problems, what="a case")
    if problems.count > before:
        return None
    id = fields.text("id", required=True)
    if id is not None and not id.strip():
        fields.wrong("id", "it is empty", "give the case an id")
    has_turns, has_scenario = bool(fields.values.get("turns")), fields.has("scenario")
    if has_turns == has_scenario:
        problem = "it has both turns and a scenario" if has_turns else "it has neither turns nor a scenario"
        problems.add(path, problem, "give it one of the two")
    values = fields.all_by(_CASE)
    fields.nothing_else()
    return None if problems.count > before else EvalCase(id=id or "", **values)


def _turn(value: object, path: Path, problems: Problems) -> Turn:
    fields = Fields({"prompt": value} if isinstance(value, str) else value, path, problems, what="a turn")
    prompt = fields.text("prompt", required=True) or ""
    turn = Turn(prompt=prompt, **fields.all_by(_TURN))
    fields.nothing_else()
    return turn


def _turns(fields: Fields, name: str) -> tuple[Turn, ...]:
    return tuple(_turn(item, at, fields.problems) for item, at in fields.items(name))


def _tools(fields: Fields, name: str) -> tuple[ExpectedTool, ...]:
    return tuple(read_tool(item, at, fields.problems) for item, at in fields.items(name))


def _scenario(fields: Fields, name: str) -> UserScenario:
    value, _ = fields.take(name)
    inner = Fields(value, (*fields.path, name), fields.problems, what="a scenario")
    scenario = UserScenario(
        starting_prompt=inner.text("starting_prompt", required=True) or "",
        plan=inner.text("plan", required=True) or "",
        persona=inner.text("persona"),
        max_turns=_or(inner.whole("max_turns"), 10),
    )
    inner.nothing_else()
    return scenario


def read_tool(value: object, path: Path, problems: Problems) -> ExpectedTool:
    """Read an expected tool: its name, or an object.

    Args:
        value: The tool as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    fields = Fields({"name": value} if isinstance(value, str) else value, path, problems, what="a tool's name or")
    name = fields.text("name", required=True)
    if name is not None and not name.strip():
        fields.wrong("name", "it is empty", "give the tool's name")
    matchers = (fields.mapping("matchers") or {}) if "matchers" in fields.values else {}
    for key, matcher in matchers.items():
        if not isinstance(matcher, str):
            problems.add((*path, "matchers", key), f"this is {matcher!r}", 'name a matcher, as "ignore"')
    tool = ExpectedTool(
        name=name if name and name.strip() else "?",
        arguments=fields.mapping("arguments"),
        matchers=matchers,
        result=fields.free("result") if "result" in fields.values else None,
    )
    fields.nothing_else()
    return tool


def read_rubrics(fields: Fields, name: str = "rubrics") -> tuple[Rubric, ...]:
    """Read rubrics: texts, or objects with a text."""
    rubrics: list[Rubric] = []
    for value, path in fields.items(name):
        rubric = Fields({"text": value} if isinstance(value, str) else value, path, fields.problems, what="a rubric")
        text = rubric.text("text", required=True) or ""
        rubrics.append(Rubric(text=text, id=rubric.text("id") or "", kind=rubric.text("kind") or ""))
        rubric.nothing_else()
    return tuple(rubrics)


def read_evaluator(value: object, path: Path, problems: Problems) -> EvaluatorChoice:
    """Read an evaluator: its name, or an object with its options and threshold.

    Args:
        value: The evaluator as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    fields = Fields({"name": value} if isinstance(value, str) else value, path, problems, what="an evaluator")
    choice = EvaluatorChoice(
        name=fields.text("name", required=True) or "?",
        options=fields.mapping("options") or {},
        threshold=fields.number("threshold"),
    )
    fields.nothing_else()
    return choice


def _evaluators(fields: Fields, name: str) -> tuple[EvaluatorChoice, ...]:
    return tuple(read_evaluator(item, at, fields.problems) for item, at in fields.items(name))


def read_mappings(fields: Fields, name: str) -> tuple[dict[str, Any], ...]:
    """Read a list of objects with plain values."""
    mappings: list[dict[str, Any]] = []
    for value, path in fields.items(name):
        if isinstance(value, Mapping):
            mappings.append(fields.plain(cast("object", value), path) or {})
        else:
            fields.problems.add(path, "this is not an object", "put an object here: {…}")
    return tuple(mappings)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


_TURN: Final[Mapping[str, Callable[[Fields, str], Any]]] = {
    "payload": Fields.mapping,
    "expected_answer": Fields.text,
    "expected_tools": _tools,
    "expected_texts": Fields.texts,
    "rubrics": read_rubrics,
}
_CASE: Final[Mapping[str, Callable[[Fields, str], Any]]] = {
    "turns": _turns,
    "scenario": _scenario,
    "assertions": Fields.texts,
    "rubrics": read_rubrics,
    "tags": Fields.texts,
    "initial_state": Fields.mapping,
    "final_state": Fields.mapping,
    "forbidden_tools": Fields.texts,
    "reference_tokens": Fields.whole,
    "reference_steps": Fields.whole,
    "evaluators": _evaluators,
    "session_tools": _tools,
    "expected_interactions": read_mappings,
    "metadata": Fields.mapping,
    "source": Fields.text,
}
"""How each field is read; a missing field has its default."""
