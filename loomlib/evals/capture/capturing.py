"""Adding one conversation to a set as a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..values.eval_set import EvalSet
from .case_making import asked_key, case_of
from .conversation import conversation_of

if TYPE_CHECKING:
    from loomlib.redaction import RedactionRule, Redactor


def capture(
    evalset: EvalSet,
    source: object,
    *,
    expected: bool = True,
    tags: Sequence[str] = (),
    redact: Redactor | Sequence[RedactionRule] | None = None,
    id: str | None = None,
    replace_known: bool = False,
) -> EvalSet:
    """Return the set with one more case, created from a conversation and redacted.

    Args:
        evalset: The set.
        source: An invocation, a trace, or several invocations of one session.
        expected: Whether the case expects the agent's answers and tool calls.
        tags: Tags of the case, besides "captured".
        redact: Redaction rules or a `Redactor`; None uses Loom's rules, an empty list redacts nothing.
        id: The case's id; None derives one from the request.
        replace_known: Replace a case with the same request. Otherwise that case stays unchanged, because its
            expectation may have been edited, and the duplicate is recorded in the set's notes.

    Raises:
        ValueError: The set has a case with this id and another request.

    Examples:
        >>> evalset = evalset.capture(agent.invoke("What is 17 * 23?"), tags=["production"])
    """
    case = case_of(conversation_of(source), redactor=redactor_of(redact), expected=expected, tags=tuple(tags), id=id)
    key = asked_key(case)
    duplicate = next((other for other in evalset.cases if asked_key(other) == key), None)
    if duplicate is None:
        if any(other.id == case.id for other in evalset.cases):
            raise ValueError(f"{evalset.name!r} has a case {case.id!r} with another request")
        return evalset.with_cases(case)
    if not replace_known:
        note = f"not captured again: {duplicate.id} has the same request"
        return evalset if note in evalset.notes else replace(evalset, notes=(*evalset.notes, note))
    return evalset.with_cases(replace(case, id=duplicate.id))


def redactor_of(redact: Redactor | Sequence[RedactionRule] | None) -> Redactor:
    """Return the redactor of these rules; None uses Loom's rules."""
    from loomlib.redaction import DEFAULT_RULES, Redactor

    if isinstance(redact, Redactor):
        return redact
    return Redactor(DEFAULT_RULES if redact is None else redact)
