"""One conversation into a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .case_making import asked_key, case_of
from .conversation import conversation_of

if TYPE_CHECKING:
    from loomlib.redaction import RedactionRule, Redactor

    from ..values.eval_set import EvalSet


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
    """The set with one more case: the conversation of an invocation, a trace, or several invocations of a session.

        evalset = evalset.capture(agent.invoke("What is 17 * 23?"), tags=["production"])

    What the rules find is struck out before anything is kept: `redact` are Loom's own rules (None), others, or a
    `Redactor`; an empty list keeps every word. With `expected` the case expects what the agent answered and did.
    The id is made of what is asked, unless `id` names one. A set that asks this already stays as it is, for somebody
    may have mended what its case expects, and says so in its notes; `replace_known` puts the new case in its place.
    """
    case = case_of(conversation_of(source), redactor=redactor_of(redact), expected=expected, tags=tuple(tags), id=id)
    key = asked_key(case)
    known = next((each for each in evalset.cases if asked_key(each) == key), None)
    if known is None:
        if any(each.id == case.id for each in evalset.cases):
            raise ValueError(f"{evalset.name!r} has a case {case.id!r} that asks something else")
        return evalset.with_cases(case)
    if not replace_known:
        note = f"captured again and not taken: {known.id} asks this already"
        return evalset if note in evalset.notes else replace(evalset, notes=(*evalset.notes, note))
    return evalset.with_cases(replace(case, id=known.id))


def redactor_of(given: Redactor | Sequence[RedactionRule] | None) -> Redactor:
    """What strikes out: Loom's own rules where nothing else is said."""
    from loomlib.redaction import DEFAULT_RULES, Redactor

    if isinstance(given, Redactor):
        return given
    return Redactor(DEFAULT_RULES if given is None else given)
