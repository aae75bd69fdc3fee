"""A case as one JSON text: what its hashes are made of, and what is stored of it.

A field that says nothing is left out, so that a field which a later release adds changes no hash of today's cases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from .cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario
from .digests import canonical_text
from .tool_use import ExpectedTool


def text_of_case(case: EvalCase) -> str:
    """All that the case says (not where it came from), the same text in every process and release."""
    return canonical_text(words_of_case(case))


def texts_of_cases(cases: Sequence[EvalCase]) -> list[str]:
    """`text_of_case` of each; their digests are known behind it."""
    texts: list[str] = []
    for case in cases:
        text = canonical_text(words_of_case(case))
        texts.append(text)
        case.digested(text)
    return texts


def digests_of_cases(cases: Sequence[EvalCase]) -> list[str]:
    """`EvalCase.digest` of each, quicker."""
    for case in cases:
        if not case.is_digested:
            case.digested(canonical_text(words_of_case(case)))
    return [case.digest for case in cases]


def case_of_text(text: str, *, source: str = "") -> EvalCase:
    """The case that `text_of_case` wrote."""
    return case_of_words(json.loads(text), source=source)


def words_of_case(case: EvalCase) -> dict[str, Any]:
    """The case as plain values."""
    words: dict[str, Any] = {"id": case.id}
    if case.turns:
        words["turns"] = [_turn(turn) for turn in case.turns]
    if _PLAIN(case) == _NOTHING:  # most cases say no more: quicker than asking for each
        return words
    if case.scenario is not None:
        words["scenario"] = words_of_scenario(case.scenario)
    if case.rubrics:
        words["rubrics"] = [_rubric(each) for each in case.rubrics]
    if case.evaluators:
        words["evaluators"] = [words_of_choice(each) for each in case.evaluators]
    if case.session_tools is not None:
        words["session_tools"] = [_tool(each) for each in case.session_tools]
    if case.final_state is not None:
        words["final_state"] = case.final_state
    if case.reference_tokens is not None:
        words["reference_tokens"] = case.reference_tokens
    if case.reference_steps is not None:
        words["reference_steps"] = case.reference_steps
    for name in _NAMES:
        if said := getattr(case, name):
            words[name] = said
    return words


_NAMES: Final = ("assertions", "tags", "initial_state", "forbidden_tools", "expected_interactions", "metadata")
_PLAIN: Final = attrgetter(
    "scenario", "rubrics", "evaluators", "session_tools", "final_state", "reference_tokens", "reference_steps", *_NAMES
)
_NOTHING: Final[tuple[object, ...]] = (None, (), (), None, None, None, None, (), (), {}, (), (), {})


def words_asked(case: EvalCase) -> list[Any]:
    """What the agent is told, and nothing else."""
    return [
        [[turn.prompt, turn.payload] if turn.payload is not None else turn.prompt for turn in case.turns],
        None if case.scenario is None else words_of_scenario(case.scenario),
        case.initial_state or None,
    ]


def case_of_words(words: Mapping[str, Any], *, source: str = "") -> EvalCase:
    """The case of these plain values."""
    scenario = words.get("scenario")
    session_tools = words.get("session_tools")
    return EvalCase(
        id=words["id"],
        turns=tuple(_turn_of(each) for each in words.get("turns", ())),
        scenario=None if scenario is None else UserScenario(**scenario),
        assertions=tuple(words.get("assertions", ())),
        rubrics=_rubrics_of(words),
        tags=tuple(words.get("tags", ())),
        initial_state=words.get("initial_state", {}),
        final_state=words.get("final_state"),
        forbidden_tools=tuple(words.get("forbidden_tools", ())),
        reference_tokens=words.get("reference_tokens"),
        reference_steps=words.get("reference_steps"),
        evaluators=tuple(EvaluatorChoice(**each) for each in words.get("evaluators", ())),
        session_tools=None if session_tools is None else tuple(ExpectedTool(**each) for each in session_tools),
        expected_interactions=tuple(words.get("expected_interactions", ())),
        metadata=words.get("metadata", {}),
        source=source,
    )


def words_of_choice(choice: EvaluatorChoice) -> dict[str, Any]:
    """An evaluator by name, as plain values."""
    words: dict[str, Any] = {"name": choice.name}
    if choice.options:
        words["options"] = choice.options
    if choice.threshold is not None:
        words["threshold"] = choice.threshold
    return words


def words_of_scenario(scenario: UserScenario) -> dict[str, Any]:
    """A scenario as plain values."""
    words: dict[str, Any] = {"starting_prompt": scenario.starting_prompt, "plan": scenario.plan}
    if scenario.persona is not None:
        words["persona"] = scenario.persona
    if scenario.max_turns != 10:
        words["max_turns"] = scenario.max_turns
    return words


def _turn(turn: Turn) -> dict[str, Any]:
    words: dict[str, Any] = {"prompt": turn.prompt}
    if turn.payload is not None:
        words["payload"] = turn.payload
    if turn.expected_answer is not None:
        words["answer"] = turn.expected_answer
    if turn.expected_tools is not None:
        words["tools"] = [_tool(each) for each in turn.expected_tools]
    if turn.expected_texts:
        words["texts"] = turn.expected_texts
    if turn.rubrics:
        words["rubrics"] = [_rubric(each) for each in turn.rubrics]
    return words


def _turn_of(words: Mapping[str, Any]) -> Turn:
    tools = words.get("tools")
    return Turn(
        prompt=words["prompt"],
        payload=words.get("payload"),
        expected_answer=words.get("answer"),
        expected_tools=None if tools is None else tuple(ExpectedTool(**each) for each in tools),
        expected_texts=tuple(words.get("texts", ())),
        rubrics=_rubrics_of(words),
    )


def _tool(tool: ExpectedTool) -> dict[str, Any]:
    words: dict[str, Any] = {"name": tool.name}
    if tool.arguments is not None:
        words["arguments"] = tool.arguments
    if tool.matchers:
        words["matchers"] = tool.matchers
    if tool.result is not None:
        words["result"] = tool.result
    return words


def _rubric(rubric: Rubric) -> Any:
    if not rubric.id and not rubric.kind:
        return rubric.text
    return {"text": rubric.text, "id": rubric.id, "kind": rubric.kind}


def _rubrics_of(words: Mapping[str, Any]) -> tuple[Rubric, ...]:
    found: Sequence[Any] = words.get("rubrics", ())
    return tuple(Rubric(text=each) if isinstance(each, str) else Rubric(**each) for each in found)
