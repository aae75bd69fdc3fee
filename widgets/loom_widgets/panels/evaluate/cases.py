"""The cases of a run as table rows (quality, times, tokens, cost), and one case in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from loomlib.evals import CaseFailure, EvalSet, NotApplicable, Score
from loomlib.evals.compare import GateVerdict
from loomlib.evals.runs import EvalRun, Judgement
from loomlib.evals.values.answers import prompts_of
from loomlib.evals.values.case_states import CASE_STATES, FAILED, NOT_ANSWERED, NOT_JUDGED, deciding, state_of
from loomlib.evals.values.cases import EvalCase
from loomlib.evals.views.case_body import alignment_rows, cut, facts, line, verdict_rows, whole_answer

STATE_WORDS: Final[Mapping[str, str]] = {
    FAILED: "low score",
    NOT_ANSWERED: "answer failed",
    NOT_JUDGED: "judge failed",
}
"""Failed cases are of three kinds, which are counted separately."""
_RANKS: Final[Mapping[str, int]] = {STATE_WORDS.get(state, state): rank for rank, state in enumerate(CASE_STATES)}


def case_rows(run: EvalRun) -> list[dict[str, Any]]:
    """Return one row per case and repeat, failed ones first."""
    names, cases = run.evaluators, run.evalset.cases
    rows: list[dict[str, Any]] = []
    for judgement in run.judgements():
        answer, case = judgement.answer, cases[judgement.position]
        row: dict[str, Any] = {
            "case": judgement.case_id if run.repeats == 1 else f"{judgement.case_id} #{judgement.repeat + 1}",
            "place": judgement.position,
            "repeat": judgement.repeat,
            "state": _word(judgement),
            "duration_ms": answer.duration_ms,
            "ttft_ms": answer.turns[0].ttft_ms if answer.turns else None,
            "tokens": answer.tokens,
            "cost": answer.cost,
            "asked": line(case.prompt, 200),
            "tags": list(case.tags),
        }
        for at, name in enumerate(names):
            row[f"e{at}"], row[f"w{at}"] = _quality(judgement.verdicts.get(name))
        rows.append(row)
    return sorted(rows, key=lambda row: _RANKS.get(row["state"], len(_RANKS)))


def run_header(run: EvalRun, rows: Sequence[Mapping[str, Any]], gates: Sequence[GateVerdict] = ()) -> dict[str, Any]:
    """Return the text above the cases: target, set, outcome, and sentences.

    Args:
        run: The run.
        rows: Its cases with an answer, as the table shows them.
        gates: The verdicts of its gates.
    """
    tags = Counter(tag for row in rows for tag in row["tags"])
    summary = run.summary()
    return {
        "run": run.id,
        "name": run.name,
        "target": run.target.name,
        "set": run.evalset.name,
        "state": run.state,
        "reason": run.reason,
        "labels": list(run.labels),
        "repeats": run.repeats,
        "created_at": run.created_at.isoformat(),
        "evaluators": list(run.evaluators),
        "total": len(run.evalset) * run.repeats,
        "answered": len(rows),
        "sentences": [cut(item, 400) for item in summary.sentences()],
        "gates": [{"outcome": gate.outcome, "sentence": gate.sentence()} for gate in gates],
        "states": dict(Counter(row["state"] for row in rows)),
        "tags": [tag for tag, _ in tags.most_common(100)],
    }


def head_sentence(head: Mapping[str, Any]) -> str:
    """Return the outcome in one line."""
    if not head:
        return "No case has been answered yet."
    counted = " · ".join(f"{count} {state}" for state, count in head["states"].items())
    why = f" ({head['reason'] or head['state']})" if head["state"] != "complete" else ""
    progress = f"{head['answered']} of {head['total']} answered{why}"
    return f"{head['target']} on {head['set']}: {progress}; {counted or 'none scored'}."


def case_details(run: EvalRun, judgement: Judgement) -> dict[str, Any]:
    """Return one case in full: messages, expectations, verdicts with reasons, and where the trajectories differ."""
    case: EvalCase = run.evalset.cases[judgement.position]
    answer = judgement.answer
    last = next((turn for turn in reversed(answer.turns) if turn.invocation_id is not None), None)
    verdicts = [row for name, verdict in judgement.verdicts.items() for row in verdict_rows(name, verdict)]
    return {
        "run": run.id,
        "target": run.target.name,
        "case": judgement.case_id,
        "place": judgement.position,
        "repeat": judgement.repeat,
        "repeats": run.repeats,
        "state": _word(judgement),
        "tags": list(case.tags),
        "turns": _turns(case, judgement),
        "assertions": [cut(text) for text in case.assertions],
        "failure": "" if answer.failure is None else cut(f"{answer.failure.kind}: {answer.failure.message}"),
        "verdicts": [dict(zip(("evaluator", "verdict", "score", "why"), row, strict=True)) for row in verdicts],
        "paths": [path for name, verdict in judgement.verdicts.items() for path in _paths(name, verdict)],
        "facts": facts(answer),
        "tools": None if answer.tools is None else [use.name for use in answer.tools],
        "is_reused": judgement.is_reused,
        "invocation": None if last is None else last.invocation_id,
        "session": "" if last is None else last.session_id,
        "trace": next((turn.trace_id for turn in reversed(answer.turns) if turn.trace_id), ""),
    }


def place_of(evalset: EvalSet, id: str) -> int | None:
    """Return a case's position in its set, None when the set does not contain it."""
    return next((at for at, case in enumerate(evalset.cases) if case.id == id), None)


def _word(judgement: Judgement) -> str:
    state = state_of(judgement)
    return STATE_WORDS.get(state, state)


def _quality(verdict: tuple[Score, ...] | NotApplicable | CaseFailure | None) -> tuple[float | None, str]:
    if isinstance(verdict, CaseFailure):
        return None, "judge failed"
    if not isinstance(verdict, tuple) or not verdict:
        return None, "not applicable" if isinstance(verdict, NotApplicable) else ""
    score = deciding(verdict)
    words = {"scored" if one.passed is None else "passed" if one.passed else "low" for one in score}
    word = next(item for item in ("low", "scored", "passed") if item in words)
    return sum(one.value for one in score) / len(score), word


def _turns(case: EvalCase, judgement: Judgement) -> list[dict[str, Any]]:
    answers = judgement.answer.turns
    turns: list[dict[str, Any]] = []
    prompts = prompts_of(case, judgement.answer)
    for at in range(max(len(prompts), len(answers))):
        turn = case.turns[at] if at < len(case.turns) else None
        expected = None if turn is None else turn.expected_answer
        turns.append(
            {
                "asked": cut(prompts[at]) if at < len(prompts) else "(not recorded)",
                "answered": cut(answers[at].text, whole=whole_answer(case, judgement.repeat, at))
                if at < len(answers)
                else None,
                "expected": None if expected is None else cut(expected),
            }
        )
    return turns


def _paths(name: str, verdict: object) -> list[dict[str, Any]]:
    paths: list[dict[str, Any]] = []
    for item in cast("tuple[Score, ...]", verdict) if isinstance(verdict, tuple) else ():
        rows = alignment_rows(item)
        if rows:
            title = " · ".join(filter(None, (name, item.part)))
            paths.append({"title": title, "rows": [dict(row) for row in rows[:300]]})
    return paths
