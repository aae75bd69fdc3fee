"""Call an evaluator outside the event loop's thread, where the protocol requires it."""

from __future__ import annotations

import inspect
from typing import Any

from loomlib.jobs.daemon_threads import in_thread

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import Evaluator


async def returned_by(evaluator: Evaluator, case: EvalCase, answer: CaseAnswer) -> Any:
    """Return what an evaluator returns for an answer; a plain one that is not quick runs in a thread of its own."""
    if evaluator.is_quick or inspect.iscoroutinefunction(evaluator.judge):
        returned = evaluator.judge(case, answer)
    else:
        returned = await in_thread(lambda: evaluator.judge(case, answer))
    return await returned if inspect.isawaitable(returned) else returned
