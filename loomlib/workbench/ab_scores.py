"""Scores of the sessions of an A/B test: of evaluations, and of the stored conversations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..agents import AgentEntry
from ..evals.capture.scoring import score_conversations
from ..evals.evaluators.connecting import connected
from ..evals.registry import Choice, make_evaluator
from ..evals.runs import EvalRun
from ..store import AbCall
from .capturing import add_tools
from .context import Context
from .conversations import conversation_of

SessionScores = dict[str, dict[str, list[float]]]
"""The scores of each session, by evaluator."""


def run_scores(runs: Iterable[EvalRun]) -> SessionScores:
    """Return the scores of evaluations by session; a failed case has no score.

    Args:
        runs: Evaluations of the test.
    """
    scores: SessionScores = {}
    for run in runs:
        for judgement in run.judgements():
            session = next((turn.session_id for turn in judgement.answer.turns), "")
            for evaluator, verdict in judgement.verdicts.items():
                judged = scores.setdefault(evaluator, {})
                if isinstance(verdict, tuple) and verdict:
                    judged.setdefault(session, []).append(verdict[0].value)
    return scores


def conversation_scores(
    context: Context,
    entry: AgentEntry,
    sessions: Sequence[str],
    calls: Iterable[AbCall],
    evaluators: Sequence[Choice],
) -> SessionScores:
    """Return the scores of stored conversations by session, without the calls that are not part of the test.

    A conversation has no score if one of its requests failed, or if the evaluator fails or does not apply to it.

    Args:
        context: The workbench's resources.
        entry: The agent.
        sessions: The sessions.
        calls: The calls of the test.
        evaluators: Evaluators that need no expected answer, or their names.
    """
    connected_evaluators = [connected(make_evaluator(choice), context.clients, context.store) for choice in evaluators]
    tested_ids = {call.invocation_id for call in calls}
    stored = [context.store.invocations.list(entry.id, session, limit=None)[::-1] for session in sessions]
    tested = [[row for row in rows if row.id in tested_ids] for rows in stored]
    talks = [conversation_of(rows, entry.name) for rows in tested if rows]
    if any(evaluator.needs_tools for evaluator in connected_evaluators):
        talks = add_tools(context, entry, talks)
    scores: SessionScores = {evaluator.name: {} for evaluator in connected_evaluators}
    for talk, judged in zip(talks, score_conversations(talks, connected_evaluators), strict=True):
        for name, score in judged.items():
            scores[name].setdefault(talk.session_id, []).append(score.value)
    return scores
