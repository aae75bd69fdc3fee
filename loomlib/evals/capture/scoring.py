"""Scoring conversations, to find failures that raised no error."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from loomlib.presentation.formats import score

from ..registry import Choice, make_evaluator
from ..values.answers import CaseAnswer, TurnAnswer
from ..values.evaluator import Evaluator, Score
from ..values.verdicts import judged_of
from .case_making import case_of
from .conversation import Conversation


def failed_scores(conversations: Sequence[Conversation], evaluators: Sequence[Choice]) -> list[str]:
    """Return the evaluators that did not pass each conversation, "" for none.

    A failure to judge is ignored. Works inside a running event loop.
    """
    return [
        ", ".join(f"{name} {score(judged.value)}" for name, judged in scores.items() if judged.passed is False)
        for scores in score_conversations(conversations, [make_evaluator(choice) for choice in evaluators])
    ]


def score_conversations(
    conversations: Sequence[Conversation], evaluators: Sequence[Evaluator]
) -> list[dict[str, Score]]:
    """Return the overall scores of each conversation by evaluator name.

    An evaluator that does not apply or fails has no score, and a conversation with a failed request has no scores.
    Works inside a running event loop.

    Args:
        conversations: The conversations.
        evaluators: The evaluators; the conversations have no expected answers.
    """
    if not evaluators:
        return [{} for _ in conversations]
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(_judge_all(conversations, evaluators))).result()


async def _judge_all(conversations: Sequence[Conversation], evaluators: Sequence[Evaluator]) -> list[dict[str, Score]]:
    slots = asyncio.Semaphore(8)

    async def one(conversation: Conversation) -> dict[str, Score]:
        async with slots:
            return await _judge(conversation, evaluators)

    return list(await asyncio.gather(*map(one, conversations)))


async def _judge(conversation: Conversation, evaluators: Sequence[Evaluator]) -> dict[str, Score]:
    if conversation.failure is not None:
        return {}
    case = case_of(conversation, redactor=None, expected=False)
    answer = CaseAnswer(
        turns=tuple(TurnAnswer(text=turn.answer or "", tools=turn.tools) for turn in conversation.turns)
    )
    scores: dict[str, Score] = {}
    for evaluator in evaluators:
        try:
            verdict: Any = evaluator.judge(case, answer)
            judged = judged_of(await verdict if inspect.isawaitable(verdict) else verdict, evaluator.name)
        except Exception:  # noqa: BLE001, S112 - a user's evaluator: its exception says nothing about the conversation
            continue
        if isinstance(judged, tuple) and judged:
            scores[evaluator.name] = judged[0]
    return scores
