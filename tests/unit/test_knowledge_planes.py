"""Knowledge bases: locks, concurrent questions, a model that calls the search tool again, large texts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.local.guardrails import GuardrailPlane
from loomlib.local.knowledge.chunking import DocumentChunk, chunks_of
from loomlib.local.knowledge.ingestion import IngestionPlane
from loomlib.local.knowledge.retrieval import RetrievalPlane
from loomlib.local.knowledge.store import KnowledgeStore
from loomlib.local.models.json_values import JsonObject
from loomlib.local.resources import Place, ResourceRecord
from loomlib.local.resources.store import ResourceStore

PLACE = Place("us-east-1", "123456789012")
BASE_ARN = "arn:aws:bedrock:us-east-1:123456789012:knowledge-base/BASE"
SOURCE = {"knowledgeBaseId": "BASE", "dataSourceId": "SOURCE"}


class Model:
    """A model that waits for the expected number of concurrent requests, then answers or calls a tool."""

    simulated, label = False, "a model"

    def __init__(self, *, calls_tools: bool = False) -> None:
        self.expected, self._calls_tools = asyncio.Barrier(1), calls_tools
        self.requests: list[JsonObject] = []

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        self.requests.append(request)
        async with self.expected:
            calls = self._calls_tools and "toolConfig" in request
        call = {"toolUse": {"toolUseId": "again", "name": "knowledge_base", "input": {"query": "more"}}}
        content = [call] if calls else [{"text": "Frogs like ponds."}]
        reason = "tool_use" if calls else "end_turn"
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason}

    async def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        raise NotImplementedError
        yield b""

    async def close(self) -> None: ...


@pytest.fixture
def resources(tmp_path: Path) -> Iterator[ResourceStore]:
    moment = datetime.now(UTC)
    common: dict[str, Any] = {"region": "us-east-1", "created_at": moment, "updated_at": moment}
    configuration = {"dataSourceConfiguration": {"type": "CUSTOM"}}
    with closing(ResourceStore(tmp_path)) as resources:
        resources.put(
            [
                ResourceRecord(kind="KnowledgeBase", id="BASE", name="base", arn=BASE_ARN, document={}, **common),
                ResourceRecord(
                    kind="DataSource", id="SOURCE", name="source", arn=f"{BASE_ARN}/data-source/SOURCE",
                    parent=BASE_ARN, document=configuration, **common,
                ),
            ]
        )  # fmt: skip
        yield resources


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    with closing(KnowledgeStore(tmp_path)) as store:
        text = "Frogs like ponds."
        chunks = [DocumentChunk(text, text)]
        store.put("BASE", "SOURCE", "one", kind="CUSTOM", digest="", metadata={}, chunks=chunks)
        yield store


async def test_a_listing_waits_for_a_search_without_holding_up_the_event_loop(
    resources: ResourceStore, store: KnowledgeStore
) -> None:
    plane = IngestionPlane(resources, store)
    searching, done = threading.Event(), threading.Event()

    def wanted(_: object) -> bool:
        searching.set()
        return done.wait(60)

    search = asyncio.create_task(asyncio.to_thread(store.search, "BASE", "frogs", k=1, wanted=wanted))
    await asyncio.to_thread(searching.wait, 60)
    listing = asyncio.create_task(plane.list_ingestion_jobs(SOURCE, PLACE))
    await asyncio.sleep(0)
    assert not listing.done()
    done.set()
    assert (await listing)["ingestionJobSummaries"] == []
    assert len(await search) == 1


def question(text: str, **more: str) -> dict[str, Any]:
    knowledge = {"knowledgeBaseId": "BASE", "modelArn": "model"}
    configuration = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": knowledge}
    return {"input": {"text": text}, "retrieveAndGenerateConfiguration": configuration, **more}


async def test_concurrent_questions_of_a_session_are_all_remembered(
    resources: ResourceStore, store: KnowledgeStore
) -> None:
    model = Model()
    plane = RetrievalPlane(resources, store, model, GuardrailPlane(resources))
    session = (await plane.retrieve_and_generate(question("one"), PLACE))["sessionId"]
    model.expected = asyncio.Barrier(2)
    texts = ("two", "three")
    await asyncio.gather(*(plane.retrieve_and_generate(question(text, sessionId=session), PLACE) for text in texts))
    model.expected = asyncio.Barrier(1)
    await plane.retrieve_and_generate(question("four", sessionId=session), PLACE)
    messages: Any = model.requests[-1]["messages"]
    asked = [
        block["text"] for item in messages if item["role"] == "user" for block in item["content"] if "text" in block
    ]
    assert sorted(asked) == ["four", "one", "three", "two"]


async def test_a_model_that_would_search_again_answers_from_the_results(
    resources: ResourceStore, store: KnowledgeStore
) -> None:
    model = Model(calls_tools=True)
    plane = RetrievalPlane(resources, store, model, GuardrailPlane(resources))
    answer = await plane.retrieve_and_generate(question("Where do frogs live?"), PLACE)
    assert answer["output"]["text"] == "Frogs like ponds."
    assert len(answer["citations"][0]["retrievedReferences"]) == 1
    messages: Any = model.requests[-1]["messages"]
    prompt = "".join(block["text"] for block in messages[-1]["content"])
    assert "Where do frogs live?" in prompt
    assert "Frogs like ponds." in prompt


def passages(text: str, tokens: int, percent: int) -> list[str]:
    fixed = {"maxTokens": tokens, "overlapPercentage": percent}
    chunks = chunks_of(text, {"chunkingStrategy": "FIXED_SIZE", "fixedSizeChunkingConfiguration": fixed})
    return [chunk.text for chunk in chunks]


@given(st.lists(st.sampled_from(["", ".", "!\n", "\n\n"]), max_size=100), st.integers(2, 12), st.integers(1, 99))
def test_passages_hold_all_words_within_their_size(ends: list[str], tokens: int, percent: int) -> None:
    words = [f"{at}{end}" for at, end in enumerate(ends)]
    found = passages(" ".join(words), tokens, percent)
    assert all(len(passage) <= 4 * tokens for passage in found)
    once = list(dict.fromkeys(word for passage in found for word in passage.split()))
    assert once == [word.strip() for word in words]


def test_a_text_of_short_lines_is_cut_without_joining_each_passage_for_every_line() -> None:
    found = passages("a\n" * 400_000, 8_000, 20)  # took a minute when each line joined its passage again
    assert {len(passage) for passage in found[:-1]} == {31_999}
