"""Retrieval from the local memory on the public LoCoMo conversations (Maharana et al., Evaluating Very Long-Term
Conversational Memory of LLM Agents, ACL 2024), and its time at 100,000 records.

The conversations are not part of this repository. `LOOM_LOCOMO` names the file `data/locomo10.json` of
github.com/snap-research/locomo, or give it as the argument: `python -m tests.benchmarks.bench_locomo PATH`.

Each turn is one record, `Speaker: text`; each conversation is a namespace of one memory. A question counts with the
share of its evidence turns among the first ten records; questions without evidence in the conversation are left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np

from loomlib.embeddings import embed
from loomlib.local.memory.records.index import RecordsIndex
from loomlib.local.memory.records.store import LongTermRecord, RecordsStore, Scope
from loomlib.statistics.means import estimate_mean

from .memory_data import facts
from .table import Row, ms, show

VARIABLE: Final = "LOOM_LOCOMO"
RECORDS: Final = 100_000
_AIM_MS: Final = 15.0
_AIM_RECALL: Final = 0.65
_CHOSEN_ON: Final = 5  # the weights of the fusion were chosen on the first five conversations
_EVIDENCE = re.compile(r"D\d+:\d+")


def rows() -> Iterator[Row]:
    """What the benchmark prints; only the times when the conversations are not there."""
    if path := os.environ.get(VARIABLE, ""):
        yield from recall(Path(path))
    yield from speed()


def recall(path: Path) -> Iterator[Row]:
    """Evidence recall@10 by meaning alone, beside meaning, words and neighbours."""
    shares_by_way: dict[str, list[list[float]]] = {"meaning": [], "fused": []}
    with tempfile.TemporaryDirectory() as folder, closing(RecordsStore(Path(folder))) as store:
        conversations = json.loads(path.read_text("utf-8"))
        for number, conversation in enumerate(conversations):
            _store(store, f"/{number}/", turns(conversation["conversation"]))
        index = RecordsIndex(store)
        for number, conversation in enumerate(conversations):
            scope, turn_ids = Scope(f"/{number}/"), turns(conversation["conversation"])
            shares: dict[str, list[float]] = {"meaning": [], "fused": []}
            for question in conversation["qa"]:
                text = question["question"]
                evidence = {
                    id for reference in question.get("evidence", ()) for id in _EVIDENCE.findall(reference)
                } & set(turn_ids)
                if not evidence:
                    continue
                vector = embed([text])[0]
                for way, answers in (
                    ("meaning", index.nearest("m", vector, scope, k=10)),
                    ("fused", index.search("m", text, vector, scope, k=10)),
                ):
                    ids = {record_id.partition("/")[2] for record_id, _ in answers}
                    shares[way].append(len(ids & evidence) / len(evidence))
            for way, values in shares.items():
                shares_by_way[way].append(values)
    for subset, part in (("all conversations", slice(None)), ("held out", slice(_CHOSEN_ON, None))):
        by_meaning, fused = (
            estimate_mean([value for values in shares_by_way[way][part] for value in values])
            for way in ("meaning", "fused")
        )
        yield Row(
            what=f"LoCoMo evidence recall@10, {subset}",
            ours=fused.text("number"),
            reference=f"meaning alone {by_meaning.text('number')}",
            aim=f"≥ {_AIM_RECALL}",
            met=(fused.low or 0) >= _AIM_RECALL,
            n=fused.n,
        )


def speed(records: int = RECORDS, questions: int = 60) -> Iterator[Row]:
    """The time of one search among many records, in one namespace and in all; the first one builds the index."""
    texts = facts(records)
    vectors = embed(texts)
    prompts = facts(questions, seed=1)
    with tempfile.TemporaryDirectory() as folder, closing(RecordsStore(Path(folder))) as store:
        with store.transaction():
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                store.put("m", _record(f"mem-{number}", f"/facts/{number % 20}/", text), vector.tobytes())
        index = RecordsIndex(store)
        began = time.perf_counter()
        index.search("m", prompts[0], embed([prompts[0]])[0], Scope(None, "/"), k=10)
        yield Row(what=f"first search among {records:,} records", ours=f"{time.perf_counter() - began:.1f} s", n=1)
        for where, scope in (("all namespaces", Scope(None, "/")), ("one of 20 namespaces", Scope("/facts/3/"))):
            times: list[float] = []
            used = time.process_time()
            for text in prompts:
                began = time.perf_counter()
                index.search("m", text, embed([text])[0], scope, k=10)
                times.append((time.perf_counter() - began) * 1000)
            used_ms = (time.process_time() - used) * 1000 / len(prompts)
            yield Row(
                what=f"search among {records:,} records, {where}",
                ours=f"{ms(times)}, min {min(times):.1f}, CPU {used_ms:.1f}",
                aim=f"≤ {_AIM_MS:g} ms",
                met=float(np.median(times)) <= _AIM_MS,
                n=questions,
            )


def turns(conversation: Mapping[str, Any]) -> dict[str, str]:
    """The text of each turn by its id, `Speaker: text`, in order."""
    texts: dict[str, str] = {}
    number = 1
    while f"session_{number}_date_time" in conversation:
        for turn in conversation.get(f"session_{number}") or ():
            texts[turn["dia_id"]] = f"{turn['speaker']}: {turn['text']}"
        number += 1
    return texts


def _store(store: RecordsStore, namespace: str, texts: Mapping[str, str]) -> None:
    vectors = embed(list(texts.values()))
    with store.transaction():
        for (id, text), vector in zip(texts.items(), vectors, strict=True):
            store.put("m", _record(f"{namespace.strip('/')}/{id}", namespace, text), vector.tobytes())


def _record(id: str, namespace: str, text: str) -> LongTermRecord:
    return LongTermRecord(record_id=id, namespace=namespace, strategy_id="s", text=text, created_at=1, updated_at=1)


if __name__ == "__main__":
    if sys.argv[1:]:
        os.environ[VARIABLE] = sys.argv[1]
    show(list(rows()))
