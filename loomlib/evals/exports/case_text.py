"""Why a case failed, as text: the verdicts of each repeat with their rationale, and where the path differs."""

from __future__ import annotations

from loomlib.presentation.formats import number, plural, score
from loomlib.presentation.text import printable

from ..matching.alignment import view_text
from ..values.answers import CaseFailure, prompts_of
from ..values.case_states import FAILED, NOT_ANSWERED, NOT_JUDGED, CaseResult, deciding, state_of
from ..values.evaluator import NotApplicable
from ..values.judgement import Judgement
from ..views.case_body import CaseVerdict, alignment_rows, cut, facts, line, verdict_word

_VERDICTS = {FAILED: ("failed",), NOT_JUDGED: ("not judged",)}


def headline(result: CaseResult) -> str:
    """Return the reason in one line: `trajectory: The paths differ from step 1: …`, with the number of repeats."""
    worst = result.failing()
    if not worst:
        return result.state
    first, state = worst[0], result.state
    if state == NOT_ANSWERED and first.answer.failure is not None:
        why = f"{first.answer.failure.kind}: {first.answer.failure.message}"
    else:
        why = "; ".join(
            _short(name, verdict)
            for name, verdict in first.verdicts.items()
            if _word(verdict) in _VERDICTS.get(state, ())
        )
    of = (
        f" (in {number(len(worst), 0)} of {plural(len(result.judgements), 'repeat')})"
        if len(result.judgements) > 1
        else ""
    )
    return printable(line(f"{why or state}{of}", 400))


def describe(result: CaseResult) -> str:
    """Return all details in several lines, without control characters."""
    return printable(
        "\n\n".join(_repeat(result, judgement, of=len(result.judgements)) for judgement in result.failing())
    )


def _repeat(result: CaseResult, judgement: Judgement, *, of: int) -> str:
    case, answer = result.case, judgement.answer
    lines = [f"repeat {judgement.repeat + 1} of {of}: {state_of(judgement)}"] if of > 1 else []
    prompts = prompts_of(case, answer)
    for index in range(max(len(prompts), len(answer.turns))):
        turn = case.turns[index] if index < len(case.turns) else None
        lines.append(f"asked     {cut(prompts[index], 500) if index < len(prompts) else '(not recorded)'}")
        if index < len(answer.turns):
            lines.append(f"answered  {cut(answer.turns[index].text, 500) or '(nothing)'}")
        if turn is not None and turn.expected_answer is not None:
            lines.append(f"expected  {cut(turn.expected_answer, 500)}")
    if answer.failure is not None:
        lines.append(f"no answer {answer.failure.kind}: {cut(answer.failure.message, 500)}")
    for name, verdict in judgement.verdicts.items():
        lines += _lines(name, verdict)
    return "\n".join(lines if answer.failure else [*lines, facts(answer)])


def _lines(name: str, verdict: CaseVerdict) -> list[str]:
    if isinstance(verdict, CaseFailure):
        return [f"{name}: not judged, {verdict.kind}: {cut(verdict.message, 500)}"]
    if isinstance(verdict, NotApplicable):
        return [f"{name}: not applicable, {cut(verdict.reason, 500)}"]
    lines: list[str] = []
    for item in verdict:
        title = " · ".join(filter(None, (name, item.part, *item.labels)))
        why = f": {cut(item.rationale, 500)}" if item.rationale else ""
        lines.append(f"{title}: {verdict_word(item)}, {score(item.value)}{why}")
        if rows := alignment_rows(item):
            lines += [f"    {row}" for row in view_text(rows).splitlines()]
    return lines


def _short(name: str, verdict: CaseVerdict) -> str:
    if isinstance(verdict, CaseFailure):
        return f"{name}: {verdict.kind}: {verdict.message}"
    if isinstance(verdict, NotApplicable):
        return f"{name}: {verdict.reason}"
    why = next((score.rationale for score in verdict if score.passed is False and score.rationale), "")
    return f"{name}: {why}" if why else f"{name} failed"


def _word(verdict: CaseVerdict) -> str:
    if isinstance(verdict, CaseFailure):
        return "not judged"
    if isinstance(verdict, NotApplicable):
        return "not applicable"
    words = [verdict_word(score) for score in deciding(verdict)]
    return "failed" if "failed" in words else words[0] if words else "not judged"
