"""The spans that an agent exported, as the store keeps them once a trace was collected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from loomlib.store import Store

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase


@dataclass(frozen=True)
class StoredSpans:
    """A `SpanSource` over the store: the records of every turn's trace; None unless each turn has one there.

    >>> AgentCoreJudge(evaluator_id="Builtin.Helpfulness", spans=StoredSpans(bench.store))
    """

    store: Store

    async def __call__(self, case: EvalCase, answer: CaseAnswer, /) -> Sequence[Mapping[str, Any]] | None:
        return await asyncio.to_thread(self._read, answer)

    def _read(self, answer: CaseAnswer) -> list[dict[str, Any]] | None:
        ids = [turn.invocation_id for turn in answer.turns]
        known = [each for each in ids if each is not None]
        rows = self.store.traces.get_many(known)
        if not ids or len(known) < len(ids) or any(each not in rows for each in known):
            return None
        # The turns of one session may have records in common.
        texts = dict.fromkeys(text for each in known for text in rows[each].records)
        documents: list[object] = [json.loads(text) for text in texts]
        return [cast("dict[str, Any]", each) for each in documents if isinstance(each, dict)] or None
