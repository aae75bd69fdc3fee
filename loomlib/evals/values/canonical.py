"""The canonical JSON text of a case, which is hashed and stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario, case_to_dict
from .digests import canonical_text
from .tool_use import ExpectedTool


def case_to_text(case: EvalCase) -> str:
    """Return everything but the case's `source` as JSON: the same text in every process and release."""
    return canonical_text(case_to_dict(case))


def cases_to_texts(cases: Sequence[EvalCase]) -> list[str]:
    """Return `case_to_text` of each case, and compute their digests at the same time."""
    texts: list[str] = []
    for case in cases:
        text = canonical_text(case_to_dict(case))
        texts.append(text)
        case.remember_digest(text)
    return texts


def case_digests(cases: Sequence[EvalCase]) -> list[str]:
    """Return `EvalCase.digest` of each case."""
    for case in cases:
        if not case.has_digest:
            case.remember_digest(canonical_text(case_to_dict(case)))
    return [case.digest for case in cases]


def case_from_text(text: str, *, source: str = "") -> EvalCase:
    """Return the case that `case_to_text` wrote.

    Args:
        text: The canonical text.
        source: Where the case came from; the text does not contain it.
    """
    return case_from_dict(json.loads(text), source=source)


def case_from_dict(plain: Mapping[str, Any], *, source: str = "") -> EvalCase:
    """Return the case that `case_to_dict` turned into plain values.

    Args:
        plain: The plain values.
        source: Where the case came from; the values do not contain it.
    """
    scenario = plain.get("scenario")
    session_tools = plain.get("session_tools")
    return EvalCase(
        id=plain["id"],
        turns=tuple(_turn_from_dict(turn) for turn in plain.get("turns", ())),
        scenario=None if scenario is None else UserScenario(**scenario),
        assertions=tuple(plain.get("assertions", ())),
        rubrics=_rubrics_from(plain),
        tags=tuple(plain.get("tags", ())),
        initial_state=plain.get("initial_state", {}),
        final_state=plain.get("final_state"),
        forbidden_tools=tuple(plain.get("forbidden_tools", ())),
        reference_tokens=plain.get("reference_tokens"),
        reference_steps=plain.get("reference_steps"),
        evaluators=tuple(EvaluatorChoice(**choice) for choice in plain.get("evaluators", ())),
        session_tools=None if session_tools is None else tuple(ExpectedTool(**tool) for tool in session_tools),
        expected_interactions=tuple(plain.get("expected_interactions", ())),
        metadata=plain.get("metadata", {}),
        source=source,
    )


def _turn_from_dict(plain: Mapping[str, Any]) -> Turn:
    tools = plain.get("tools")
    return Turn(
        prompt=plain["prompt"],
        payload=plain.get("payload"),
        expected_answer=plain.get("answer"),
        expected_tools=None if tools is None else tuple(ExpectedTool(**tool) for tool in tools),
        expected_texts=tuple(plain.get("texts", ())),
        rubrics=_rubrics_from(plain),
    )


def _rubrics_from(plain: Mapping[str, Any]) -> tuple[Rubric, ...]:
    rubrics: Sequence[Any] = plain.get("rubrics", ())
    return tuple(Rubric(text=rubric) if isinstance(rubric, str) else Rubric(**rubric) for rubric in rubrics)
