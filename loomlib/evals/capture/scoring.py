"""Scoring conversations, to find failures that raised no error."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from loomlib.presentation.formats import score

from ..registry import Choice, make_evaluator
from ..runs.verdicts import judged_of
from ..values.answers import CaseAnswer, TurnAnswer
from ..values.evaluator import Evaluator
from .case_making import case_of
from .conversation import Conversation


def failed_scores(conversations: Sequence[Conversation], evaluators: Sequence[Choice]) -> list[str]:
    """Return for each conversation the evaluators that did not pass it, "" for none.

    A failure to judge is ignored. Works inside a running event loop.
    """
    if not evaluators:
        return [""] * len(conversations)
    constructed = [make_evaluator(choice) for choice in evaluators]
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(_judge_all(conversations, constructed))).result()


async def _judge_all(conversations: Sequence[Conversation], evaluators: Sequence[Evaluator]) -> list[str]:
    slots = asyncio.Semaphore(8)

    async def one(conversation: Conversation) -> str:
        async with slots:
            return await _judge(conversation, evaluators)

    return list(await asyncio.gather(*map(one, conversations)))


async def _judge(conversation: Conversation, evaluators: Sequence[Evaluator]) -> str:
    if conversation.failure is not None:
        return ""
    case = case_of(conversation, redactor=None, expected=False)
    answer = CaseAnswer(
        turns=tuple(TurnAnswer(text=turn.answer or "", tools=turn.tools) for turn in conversation.turns)
    )
    unpassed: list[str] = []
    for evaluator in evaluators:
        try:
            verdict: Any = evaluator.judge(case, answer)
            judged = judged_of(await verdict if inspect.isawaitable(verdict) else verdict, evaluator.name)
        except Exception:  # noqa: BLE001, S112 - a user's evaluator: its exception says nothing about the conversation
            continue
        if isinstance(judged, tuple) and judged and judged[0].passed is False:
            unpassed.append(f"{evaluator.name} {score(judged[0].value)}")
    return ", ".join(unpassed)
