"""Connect evaluators that were chosen by name to their model and to the agent's stored spans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import Evaluator

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.store import Store


@dataclass(frozen=True)
class StoredSpans:
    """A `SpanSource` over the store: the spans of every turn's trace, or None unless every turn has a stored trace.

    Examples:
        >>> AgentCoreJudge(evaluator_id="Builtin.Helpfulness", spans=StoredSpans(bench.context.store))
    """

    store: Store

    async def __call__(self, case: EvalCase, answer: CaseAnswer, /) -> Sequence[Mapping[str, Any]] | None:
        """Return the spans of the answer's traces, or None when a turn has no stored trace."""
        return await asyncio.to_thread(self._read, answer)

    def _read(self, answer: CaseAnswer) -> list[dict[str, Any]] | None:
        ids = [turn.invocation_id for turn in answer.turns]
        known_ids = [invocation_id for invocation_id in ids if invocation_id is not None]
        rows = self.store.traces.get_many(known_ids)
        if not ids or len(known_ids) < len(ids) or any(invocation_id not in rows for invocation_id in known_ids):
            return None
        # The turns of one session can share records.
        texts = dict.fromkeys(text for invocation_id in known_ids for text in rows[invocation_id].records)
        documents: list[object] = [json.loads(text) for text in texts]
        return [cast("dict[str, Any]", document) for document in documents if isinstance(document, dict)] or None


def connected(evaluator: Evaluator, clients: Clients | None, store: Store | None = None) -> Evaluator:
    """Return the evaluator with a connection to its model and access to stored spans, where it needs them.

    An evaluator requests them by defining the methods `connected_to(clients)` and `with_spans(source)`; both return a
    new evaluator. Any other evaluator is returned unchanged.

    Args:
        evaluator: The evaluator to connect.
        clients: Connection to the judging models, or None to leave the evaluator unconnected.
        store: Where the spans of the agent's answers are stored, or None to use none.
    """
    connect = getattr(evaluator, "connected_to", None)
    if clients is not None and callable(connect):
        evaluator = cast("Evaluator", connect(clients))
    read_spans_from = getattr(evaluator, "with_spans", None)
    if store is not None and callable(read_spans_from):
        evaluator = cast("Evaluator", read_spans_from(StoredSpans(store)))
    return evaluator
