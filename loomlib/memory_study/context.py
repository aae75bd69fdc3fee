"""What the model would be given for a question, by each way of keeping a conversation and of bringing memories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from .arms import FULL, PROACTIVE, SUMMARIZING, Arm
from .life import IDLE, Probe
from .ports import RecallMemory
from .scoring import tokens_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The records brought (best first) and the rest; how long it took to fetch (milliseconds) and what it weighs.

    `input_tokens` are estimated: with reactive retrieval the context is sent twice, since the model first asks for the
    search and then answers. `model_calls` counts that.
    """

    records: tuple[str, ...]
    rest: tuple[str, ...]
    duration_ms: float
    searches: int
    input_tokens: int
    model_calls: int


def gather(
    memory: RecallMemory, arm: Arm, probe: Probe, actor: str, sessions: Sequence[str], *, top_k: int, window: int
) -> Given:
    """Fetch what `arm` gives for the probe. `sessions` are those told so far, oldest first; `window` counts turns.

    Whether a question needs memory is the script's to know: with reactive retrieval the model is taken to search
    exactly then, with the script's query; with proactive retrieval every turn is searched for, as it was said.
    """
    began = time.perf_counter()
    rest: list[str] = []
    if arm.context == SUMMARIZING:
        rest += memory.summaries(actor)
    rest += memory.messages(actor, sessions, last=None if arm.context == FULL else 2 * window)
    records: list[str] = []
    searches = 0
    if arm.retrieval == PROACTIVE:
        records, searches = memory.search(actor, probe.said, top_k), 1
    elif arm.searches and probe.kind != IDLE:
        records, searches = memory.search(actor, probe.query, top_k), 1
    duration_ms = (time.perf_counter() - began) * 1000
    before = tokens_of([*rest, probe.said])
    brought = tokens_of(records)
    asks_first = searches > 0 and arm.retrieval != PROACTIVE
    return Given(
        records=tuple(records),
        rest=tuple(rest),
        duration_ms=duration_ms,
        searches=searches,
        input_tokens=2 * before + tokens_of([probe.query]) + brought if asks_first else before + brought,
        model_calls=2 if asks_first else 1,
    )
