"""Retrieve from a knowledge base at 100,000 chunks beside 1,000, over HTTP, and the first question after a change."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any, Final

import loomlib as loom

from .memory_data import facts
from .table import Row, ms

LARGE: Final = 100_000
SMALL: Final = 1_000
_EACH: Final = 50  # chunks of a document
_A_REQUEST: Final = 10  # documents of a request (AWS's limit)
_AIM_MS: Final = 60.0
_ROLE: Final = "arn:aws:iam::123456789012:role/knowledge"
_MODEL: Final = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"


def rows(questions: int = 60) -> Iterator[Row]:
    """Questions to the large and the small base in turns, of every kind of search; then after one more document."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder, loom.connect(home=folder) as bench:
        agent, runtime = (bench.clients.client(name) for name in ("bedrock-agent", "bedrock-agent-runtime"))
        large, small = _Base(agent, "large"), _Base(agent, "small")
        began = time.perf_counter()
        large.fill(LARGE)
        filled_s = time.perf_counter() - began
        yield Row(what=f"ingesting {LARGE:,} chunks, {_EACH} a document", ours=f"{filled_s:.0f} s", n=LARGE // _EACH)
        small.fill(SMALL)
        prompts = facts(questions + 1, seed=1)

        def retrieve(base: str, question: str, **search: Any) -> None:
            passages = runtime.retrieve(
                knowledgeBaseId=base,
                retrievalQuery={"text": question},
                retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 5, **search}},
            )["retrievalResults"]
            if len(passages) != 5:
                raise AssertionError(f"{len(passages)} passages instead of 5")

        for search_kind, search in (
            ("by words and meaning", {"overrideSearchType": "HYBRID"}),
            ("by meaning", {"overrideSearchType": "SEMANTIC"}),
            ("with a metadata filter", {"filter": {"equals": {"key": "part", "value": "0"}}}),
        ):
            took: tuple[list[float], list[float]] = ([], [])
            for turn, question in enumerate(prompts):
                for series, base in zip(took, (large.id, small.id), strict=True):
                    figure = _timed(partial(retrieve, base, question, **search))
                    if turn:  # the first question makes the index
                        series.append(figure)
            yield Row(
                what=f"Retrieve {search_kind} among {LARGE:,} chunks, beside {SMALL:,}",
                ours=ms(took[0]),
                reference=ms(took[1]),
                compared=f"× {median(took[0]) / median(took[1]):.2f}",
                aim=f"≤ {_AIM_MS:g} ms",
                met=median(took[0]) <= _AIM_MS,
                n=questions,
            )
        after_ingest_ms: list[float] = []
        for number in range(10):
            large.ingest([(f"more-{number}", prompts[number])])
            after_ingest_ms.append(_timed(lambda: retrieve(large.id, prompts[0])))
        yield Row(
            what=f"the first question after a new document, among {LARGE:,} chunks",
            ours=ms(after_ingest_ms),
            aim=f"≤ {2 * _AIM_MS:g} ms",
            met=median(after_ingest_ms) <= 2 * _AIM_MS,
            n=len(after_ingest_ms),
        )


class _Base:
    """A knowledge base of documents that requests hold, a sentence a chunk."""

    def __init__(self, agent: Any, name: str) -> None:
        self._agent = agent
        self.id: str = agent.create_knowledge_base(
            name=name,
            roleArn=_ROLE,
            knowledgeBaseConfiguration={
                "type": "VECTOR",
                "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": _MODEL},
            },
        )["knowledgeBase"]["knowledgeBaseId"]
        fixed = {"maxTokens": 25, "overlapPercentage": 1}
        self._source: str = agent.create_data_source(
            knowledgeBaseId=self.id,
            name="sentences",
            dataSourceConfiguration={"type": "CUSTOM"},
            vectorIngestionConfiguration={
                "chunkingConfiguration": {"chunkingStrategy": "FIXED_SIZE", "fixedSizeChunkingConfiguration": fixed}
            },
        )["dataSource"]["dataSourceId"]

    def fill(self, chunks: int) -> None:
        texts = facts(chunks)
        documents = [(str(at), " ".join(texts[at : at + _EACH])) for at in range(0, chunks, _EACH)]
        for at in range(0, len(documents), _A_REQUEST):
            self.ingest(documents[at : at + _A_REQUEST])

    def ingest(self, documents: list[tuple[str, str]]) -> None:
        self._agent.ingest_knowledge_base_documents(
            knowledgeBaseId=self.id,
            dataSourceId=self._source,
            documents=[
                {
                    "content": {
                        "dataSourceType": "CUSTOM",
                        "custom": {
                            "customDocumentIdentifier": {"id": name},
                            "sourceType": "IN_LINE",
                            "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
                        },
                    },
                    "metadata": {
                        "type": "IN_LINE_ATTRIBUTE",
                        "inlineAttributes": [{"key": "part", "value": {"type": "STRING", "stringValue": str(at % 20)}}],
                    },
                }
                for at, (name, text) in enumerate(documents)
            ],
        )


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1_000
