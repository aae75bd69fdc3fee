"""Conversations judged as they are, to tell failures that no error tells."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..runs.verdicts import judged_of
from ..values.answers import CaseAnswer, TurnAnswer
from ..values.evaluator import Evaluator, Score
from .case_making import case_of

if TYPE_CHECKING:
    from ..registry import Choice
    from .conversation import Conversation


def failed_scores(conversations: Sequence[Conversation], evaluators: Sequence[Choice]) -> list[str]:
    """For each conversation which evaluator did not let it pass, "" when all did or none could say.

    A failure to judge is no verdict on the conversation. Works inside a running event loop.
    """
    if not evaluators:
        return [""] * len(conversations)
    from ..registry import make_evaluator

    made = [make_evaluator(each) for each in evaluators]
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(_judge_all(conversations, made))).result()


async def _judge_all(conversations: Sequence[Conversation], evaluators: Sequence[Evaluator]) -> list[str]:
    at_once = asyncio.Semaphore(8)

    async def one(conversation: Conversation) -> str:
        async with at_once:
            return await _judge(conversation, evaluators)

    return list(await asyncio.gather(*map(one, conversations)))


async def _judge(conversation: Conversation, evaluators: Sequence[Evaluator]) -> str:
    if conversation.failure is not None:
        return ""
    case = case_of(conversation, redactor=None, expected=False)
    answer = CaseAnswer(
        turns=tuple(TurnAnswer(text=each.answer or "", tools=each.tools) for each in conversation.turns)
    )
    said: list[str] = []
    for evaluator in evaluators:
        try:
            found: Any = evaluator.judge(case, answer)
            judged = judged_of(await found if inspect.isawaitable(found) else found, evaluator.name)
        except Exception:  # noqa: BLE001, S112 - somebody's evaluator: what it raises says nothing of the conversation
            continue
        if isinstance(judged, tuple) and judged and judged[0].passed is False:
            said.append(f"{evaluator.name} {_shown(judged[0])}")
    return ", ".join(said)


def _shown(score: Score) -> str:
    return f"{score.value:.2g}"
