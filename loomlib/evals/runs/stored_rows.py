"""Answers, failures and scores as rows: JSON in ASCII, so that NUL and lone surrogates are stored exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Final

from loomlib.store import StoredAnswer, StoredScore

from ..values.answers import CaseAnswer, CaseFailure, TurnAnswer
from ..values.evaluator import NotApplicable, Score
from ..values.fast_json import ascii_encoder
from ..values.tool_use import ToolUse

_TURN: Final = [field for field in fields(TurnAnswer) if field.name not in ("text", "tools")]
_TURN_NAMES: Final = tuple(field.name for field in _TURN)
_TURN_DEFAULTS: Final = tuple(field.default for field in _TURN)
_of_turn: Final = attrgetter(*_TURN_NAMES)
_TOOL: Final = tuple((field.name, field.default) for field in fields(ToolUse) if field.name != "name")


_encode = ascii_encoder(repr)  # a value that is not plain is stored as its repr


def stored_answer(answer: CaseAnswer, *, key: str | None, id: int = 0) -> StoredAnswer:
    """Return the row of an answer.

    Args:
        answer: The answer.
        key: The key for reusing it; a failed answer is never reused and has no key.
        id: The row's id, 0 for a new row.
    """
    turns = answer.turns
    if len(turns) == 1:
        one = turns[0]
        figures = (one.duration_ms, one.ttft_ms, one.input_tokens, one.output_tokens)
        tools = one.tools
    else:
        figures = (answer.duration_ms, None, _total(answer, "input_tokens"), _total(answer, "output_tokens"))
        if turns:
            figures = (figures[0], turns[0].ttft_ms, *figures[2:])
        tools = answer.tools
    body: dict[str, Any] = {"turns": [_turn_to_dict(turn) for turn in turns]}
    if answer.failure is not None:
        body["failure"] = _failure_to_dict(answer.failure)
    if answer.attempts != 1:
        body["attempts"] = answer.attempts
    if answer.labels:
        body["labels"] = answer.labels
    if answer.state is not None:
        body["state"] = answer.state
    if answer.metadata:
        body["metadata"] = answer.metadata
    return StoredAnswer(
        id,
        None if answer.failure is not None else key,
        answer.failure is not None,
        *figures,
        None if tools is None else len(tools),
        answer.cost,
        next((_ascii(turn.trace_id) for turn in reversed(turns) if turn.trace_id), None),
        _encode(body),
    )


def writable_row(answer: CaseAnswer, key: str | None) -> StoredAnswer:
    """Return the row of an answer, without its tools when these cannot be written (nested too deeply).

    Args:
        answer: The answer.
        key: The key for reusing it.
    """
    with suppress(RecursionError, TypeError, ValueError):
        return stored_answer(answer, key=key)
    turns = tuple(
        replace(turn, tools=None, tools_state="the tools' values could not be written") for turn in answer.turns
    )
    return stored_answer(replace(answer, turns=turns, state=None, metadata={}), key=key)


def answer_of_row(row: StoredAnswer, *, repeat: int) -> CaseAnswer:
    """Return the answer of a row.

    Args:
        row: The row.
        repeat: The repeat that the answer belongs to, from 0.
    """
    body = json.loads(row.body)
    failure = body.get("failure")
    return CaseAnswer(
        turns=tuple(_turn_from_dict(turn) for turn in body["turns"]),
        failure=None if failure is None else CaseFailure(**failure),
        repeat=repeat,
        attempts=body.get("attempts", 1),
        labels=tuple(body.get("labels", ())),
        state=body.get("state"),
        metadata=body.get("metadata", {}),
    )


def _failure_to_dict(failure: CaseFailure) -> dict[str, Any]:
    plain: dict[str, Any] = {"stage": failure.stage, "kind": failure.kind, "message": failure.message}
    if failure.evaluator is not None:
        plain["evaluator"] = failure.evaluator
    if failure.attempts != 1:
        plain["attempts"] = failure.attempts
    return plain


def judge_failures_text(failures: Mapping[str, CaseFailure]) -> str | None:
    """Return the failures to judge as they are stored with a result, by evaluator; None when there are none."""
    if not failures:
        return None
    return _encode({name: [failure.kind, failure.message, failure.attempts] for name, failure in failures.items()})


def judge_failures_of(text: str | None) -> dict[str, CaseFailure]:
    """Return the failures that `judge_failures_text` wrote, by evaluator."""
    if not text:
        return {}
    return {
        name: CaseFailure(stage="judge", kind=kind, message=message, evaluator=name, attempts=attempts)
        for name, (kind, message, attempts) in json.loads(text).items()
    }


def stored_score(
    score: Score | NotApplicable, *, answer_id: int, case_digest: str, evaluator_digest: str, position: int = 0
) -> StoredScore:
    """Return the row of a score or of "not applicable".

    Args:
        score: The score.
        answer_id: The answer's id.
        case_digest: Hash of the case.
        evaluator_digest: Hash of the evaluator.
        position: 0 for the score of the whole case, else the position among its parts.
    """
    at = (answer_id, case_digest, evaluator_digest, position)
    if isinstance(score, NotApplicable):
        return StoredScore(*at, None, None, None, None, _encode({"reason": score.reason}))
    body: dict[str, Any] = {}
    if score.rationale:
        body["rationale"] = score.rationale
    if score.details:
        body["details"] = score.details
    if score.tokens != 0:
        body["tokens"] = score.tokens
    if score.cost != 0:
        body["cost"] = score.cost
    labels = _encode(score.labels) if score.labels else None
    # A part's name can come from the agent (a tool's name), and a text column may refuse its characters.
    part = score.part or None
    if part is not None and not part.isprintable():
        body["part"] = part
        part = _ascii(part)
    passed = None if score.passed is None else bool(score.passed)  # numpy's False would be stored as true
    return StoredScore(*at, float(score.value), passed, part, labels, _encode(body) if body else None)


def score_of_row(row: StoredScore) -> Score | NotApplicable:
    """Return the score of a row."""
    body: dict[str, Any] = json.loads(row.said) if row.said else {}
    if row.value is None:
        return NotApplicable(body.get("reason", ""))
    return Score(
        value=row.value,
        passed=row.passed,
        rationale=body.get("rationale", ""),
        part=body.get("part", row.part or ""),
        details=body.get("details", {}),
        labels=labels_of(row.labels),
        tokens=body.get("tokens", 0),
        cost=body.get("cost", 0.0),
    )


def _ascii(text: str) -> str:
    """Escape a text for an indexed column; the JSON beside it has the exact text."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\x00", "\\x00")


def labels_of(text: str | None) -> tuple[str, ...]:
    """Return the labels of a score's row."""
    return tuple(json.loads(text)) if text else ()


def _turn_to_dict(turn: TurnAnswer) -> dict[str, Any]:
    plain: dict[str, Any] = {"text": turn.text}
    if turn.tools is not None:
        plain["tools"] = [_tool_to_dict(tool) for tool in turn.tools]
    for name, value, default in zip(_TURN_NAMES, _of_turn(turn), _TURN_DEFAULTS, strict=True):
        if value is not default and value != default:
            plain[name] = value
    return plain


def _turn_from_dict(plain: dict[str, Any]) -> TurnAnswer:
    tools = plain.pop("tools", None)
    plain["texts"] = tuple(plain.get("texts", ()))
    return TurnAnswer(**plain, tools=None if tools is None else tuple(ToolUse(**tool) for tool in tools))


def _tool_to_dict(tool: ToolUse) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": tool.name}
    for name, default in _TOOL:
        value = getattr(tool, name)
        if value is not default and value != default:
            plain[name] = value
    return plain


def _total(answer: CaseAnswer, name: str) -> int | None:
    values = [getattr(turn, name) for turn in answer.turns]
    return None if not values or None in values else sum(values)
