"""Answers, failures and scores as they are stored: JSON in ASCII, so that NUL and lone surrogates come back exactly."""

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

_TURN: Final = [each for each in fields(TurnAnswer) if each.name not in ("text", "tools")]
_TURN_NAMES: Final = tuple(each.name for each in _TURN)
_TURN_DEFAULTS: Final = tuple(each.default for each in _TURN)
_of_turn: Final = attrgetter(*_TURN_NAMES)
_TOOL: Final = tuple((each.name, each.default) for each in fields(ToolUse) if each.name != "name")


def _shown(value: object) -> str:
    """A stated replacement for what is no plain value: its own words."""
    return repr(value)


_encode = ascii_encoder(_shown)


def stored_answer(answer: CaseAnswer, *, key: str | None, id: int = 0) -> StoredAnswer:
    """The row of an answer. A failure to answer has no key: nobody will use it again."""
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
    body: dict[str, Any] = {"turns": [_turn_words(each) for each in turns]}
    if answer.failure is not None:
        body["failure"] = failure_words(answer.failure)
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
        next((_ascii(each.trace_id) for each in reversed(turns) if each.trace_id), None),
        _encode(body),
    )


def writable_row(answer: CaseAnswer, key: str | None) -> StoredAnswer:
    """The row of an answer; of one whose tools cannot be written (nested too deeply) all but these."""
    with suppress(RecursionError, TypeError, ValueError):
        return stored_answer(answer, key=key)
    turns = tuple(
        replace(turn, tools=None, tools_state="the tools' values could not be written") for turn in answer.turns
    )
    return stored_answer(replace(answer, turns=turns, state=None, metadata={}), key=key)


def answer_of_row(row: StoredAnswer, *, repeat: int) -> CaseAnswer:
    """The answer that a row means."""
    body = json.loads(row.body)
    failure = body.get("failure")
    return CaseAnswer(
        turns=tuple(_turn_of(each) for each in body["turns"]),
        failure=None if failure is None else CaseFailure(**failure),
        repeat=repeat,
        attempts=body.get("attempts", 1),
        labels=tuple(body.get("labels", ())),
        state=body.get("state"),
        metadata=body.get("metadata", {}),
    )


def failure_words(failure: CaseFailure) -> dict[str, Any]:
    """A failure as plain values."""
    words: dict[str, Any] = {"stage": failure.stage, "kind": failure.kind, "message": failure.message}
    if failure.evaluator is not None:
        words["evaluator"] = failure.evaluator
    if failure.attempts != 1:
        words["attempts"] = failure.attempts
    return words


def judge_failures_text(failures: Mapping[str, CaseFailure]) -> str | None:
    """What is kept in a run's result of the judges that failed: by evaluator's name."""
    if not failures:
        return None
    return _encode({name: [each.kind, each.message, each.attempts] for name, each in failures.items()})


def judge_failures_of(text: str | None) -> dict[str, CaseFailure]:
    """The failures that `judge_failures_text` wrote."""
    if not text:
        return {}
    return {
        name: CaseFailure(stage="judge", kind=kind, message=message, evaluator=name, attempts=attempts)
        for name, (kind, message, attempts) in json.loads(text).items()
    }


def stored_score(
    score: Score | NotApplicable, *, answer_id: int, case_digest: str, evaluator_digest: str, position: int = 0
) -> StoredScore:
    """The row of a score, or of "does not apply"."""
    at = (answer_id, case_digest, evaluator_digest, position)
    if isinstance(score, NotApplicable):
        return StoredScore(*at, None, None, None, None, _encode({"reason": score.reason}))
    said: dict[str, Any] = {}
    if score.rationale:
        said["rationale"] = score.rationale
    if score.details:
        said["details"] = score.details
    if score.tokens != 0:
        said["tokens"] = score.tokens
    if score.cost != 0:
        said["cost"] = score.cost
    labels = _encode(score.labels) if score.labels else None
    # A part's name can be an agent's own words (a tool's name), which a database's text column may refuse.
    part = score.part or None
    if part is not None and not part.isprintable():
        said["part"] = part
        part = _ascii(part)
    passed = None if score.passed is None else bool(score.passed)  # numpy's False is stored as something true
    return StoredScore(*at, float(score.value), passed, part, labels, _encode(said) if said else None)


def score_of_row(row: StoredScore) -> Score | NotApplicable:
    """The score that a row means."""
    said: dict[str, Any] = json.loads(row.said) if row.said else {}
    if row.value is None:
        return NotApplicable(said.get("reason", ""))
    return Score(
        value=row.value,
        passed=row.passed,
        rationale=said.get("rationale", ""),
        part=said.get("part", row.part or ""),
        details=said.get("details", {}),
        labels=labels_of(row.labels),
        tokens=said.get("tokens", 0),
        cost=said.get("cost", 0.0),
    )


def _ascii(text: str) -> str:
    """As a column for looking things up may hold it; the words themselves are in the JSON beside it."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\x00", "\\x00")


def labels_of(text: str | None) -> tuple[str, ...]:
    """The labels of a score's row."""
    return tuple(json.loads(text)) if text else ()


def _turn_words(turn: TurnAnswer) -> dict[str, Any]:
    words: dict[str, Any] = {"text": turn.text}
    if turn.tools is not None:
        words["tools"] = [_tool_words(each) for each in turn.tools]
    for name, value, default in zip(_TURN_NAMES, _of_turn(turn), _TURN_DEFAULTS, strict=True):
        if value is not default and value != default:
            words[name] = value
    return words


def _turn_of(words: dict[str, Any]) -> TurnAnswer:
    tools = words.pop("tools", None)
    words["texts"] = tuple(words.get("texts", ()))
    return TurnAnswer(**words, tools=None if tools is None else tuple(ToolUse(**each) for each in tools))


def _tool_words(tool: ToolUse) -> dict[str, Any]:
    words: dict[str, Any] = {"name": tool.name}
    for name, default in _TOOL:
        value = getattr(tool, name)
        if value is not default and value != default:
            words[name] = value
    return words


def _total(answer: CaseAnswer, name: str) -> int | None:
    known = [getattr(turn, name) for turn in answer.turns]
    return None if not known or None in known else sum(known)
