"""Which records stood in an answer's prompt, by the traces of a real agent that retrieves by itself and by tool."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inspected import new_memory, write
from whole_traces import traced

import loomlib as loom
from loomlib.aws.memory_shapes import MemoryRecord
from loomlib.memory import PromptText, find_used, texts_in

AGENT = '''
import os
import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent, tool
from strands.models import BedrockModel

app = BedrockAgentCoreApp()
memory = boto3.client("bedrock-agentcore")


def remembered(query, actor):
    criteria = {"searchQuery": query, "topK": 1}
    found = memory.retrieve_memory_records(
        memoryId=os.environ["MEMORY_ID"], namespace=f"/facts/{actor}/", searchCriteria=criteria)
    return [each["content"]["text"] for each in found["memoryRecordSummaries"]]


@tool
def recall(query: str) -> dict:
    """Recall what is remembered about the customer's allergies and food.

    Args:
        query: What to recall.
    """
    return {"status": "success", "content": [{"json": {"facts": remembered(query, "anna")}}]}


@app.entrypoint
def answer(payload):
    prompt, tools = payload["prompt"], []
    if payload.get("mode") == "preload":
        prompt = "<context>" + "; ".join(remembered(prompt, "anna")) + "</context>\\n" + prompt
    if payload.get("mode") == "tool":
        tools = [recall]
    agent = Agent(model=BedrockModel(model_id="loom.scripted"), tools=tools, callback_handler=None)
    return {"result": str(agent(prompt))}


app.run()
'''
ALLERGY = "The user is allergic to shellfish and nuts."
BREAKFAST = "The user has porridge for breakfast every morning."


@pytest.fixture(scope="module")
def remembering(memory_bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory):
    memory = new_memory(memory_bench, "semantic")
    write(memory, "/facts/anna/", ALLERGY, BREAKFAST)
    write(memory, "/facts/bert/", "The user sails every summer in the archipelago.")
    folder: Path = tmp_path_factory.mktemp("remembering")
    (folder / "agent.py").write_text(AGENT)
    return memory_bench.deploy(folder / "agent.py", name="remembering", environment={"MEMORY_ID": memory.id}), memory


def test_a_record_put_before_the_prompt_is_found_with_the_call_that_brought_it(remembering):
    agent, memory = remembering
    inv = agent.invoke(payload={"prompt": "Which food is the user allergic to?", "mode": "preload"}).raise_for_status()
    traced(inv)
    used = inv.telemetry.memories_used(memory)
    assert list(used["text"]) == [ALLERGY]
    assert list(used["where"]) == ["prompt"]
    assert list(used["confidence"]) == ["high"]
    assert used["call_span_ids"][0]
    assert used["runtime_session_id"][0] == inv.session_id
    assert list(inv.telemetry.memories_used(memory)["record_id"]) == list(used["record_id"])
    everywhere = inv.telemetry.memories_used()  # other memories of the service may state the same
    assert memory.id in set(everywhere["memory_id"])


def test_a_record_that_a_tool_brought_is_found_in_its_result(remembering):
    agent, memory = remembering
    inv = agent.invoke(payload={"prompt": "Recall the customer's allergies to food", "mode": "tool"}).raise_for_status()
    traced(inv)
    used = inv.telemetry.memories_used(memory)
    assert list(used["text"]) == [ALLERGY]
    assert list(used["where"]) == ["tool result of recall"]
    assert list(used["confidence"]) == ["high"]


def test_text_of_the_caller_does_not_count_as_retrieved(remembering):
    agent, memory = remembering
    inv = agent.invoke(payload={"prompt": ALLERGY}).raise_for_status()
    traced(inv)
    used = inv.telemetry.memories_used(memory)
    assert len(used) == 0
    assert "no call in the trace reads records" in used.note


def test_without_a_call_or_with_a_short_text_confidence_falls():
    now = datetime(2026, 3, 1, tzinfo=UTC)

    def record(text: str, at: datetime = now) -> MemoryRecord:
        return MemoryRecord(record_id=text, text=text, namespaces=("/f/",), strategy_id="s", created_at=at)

    prompts = [
        PromptText(where="system prompt", text="Known: the  user\nlives in Berlin with a dog. Name: Ann", span_id="a")
    ]
    records = [record("The user lives in Berlin"), record("Ann"), record("with a dog", now + timedelta(days=1))]
    uses = list(find_used("m", records, prompts, answered_at=now))
    assert [(use.record.text, use.confidence) for use in uses] == [
        ("The user lives in Berlin", "medium"),
        ("Ann", "low"),
    ]
    assert [use.confidence for use in find_used("m", records[:1], prompts, calls=["b"])] == ["high"]


def test_a_text_within_a_longer_record_or_a_word_does_not_count_as_retrieved():
    def record(text: str) -> MemoryRecord:
        created_at = datetime(2026, 3, 1, tzinfo=UTC)
        return MemoryRecord(record_id=text, text=text, namespaces=("/f/",), strategy_id="s", created_at=created_at)

    def texts(prompt_text: str, *record_texts: str) -> list[str]:
        prompts = [PromptText(where="prompt", text="Unrelated."), PromptText(where="prompt", text=prompt_text)]
        return [use.record.text for use in find_used("m", map(record, record_texts), prompts)]

    tea, milk = "The user likes tea", "The user likes tea with milk"
    assert texts(f"Known: {milk}.", tea, milk) == [milk]
    assert texts(f"Known: {milk}. {tea}.", tea, milk) == [tea, milk], "the shorter one also occurs alone"
    assert texts(f"Known: {milk}.", tea) == [tea], "nothing longer is remembered"
    assert texts(f"Known: {tea}.", tea, tea) == [tea, tea], "records that say the same cannot be told apart"
    assert texts("The annals of Annapolis, Ann.", "Ann") == ["Ann"]
    assert texts("The annals of Annapolis.", "Ann") == []
    assert texts("彼女は東京に住んでいます", "東京に住んで") == ["東京に住んで"]


def test_texts_are_found_within_results_of_any_form():
    assert "a b" in texts_in({"x": [{"json": {"t": "a b"}}]})
    assert "in json" in texts_in('[{"text": "in json"}]').splitlines()
    assert texts_in(None) == ""
    preference = '{"context": "said", "preference": "likes window seats", "categories": []}'
    record = MemoryRecord(
        record_id="r",
        text=preference,
        namespaces=("/p/",),
        strategy_id="s",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert list(find_used("m", [record], [PromptText(where="prompt", text="The user likes window seats.")]))


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("Hi", ["system prompt"]),  # it is also within a word of the record
        ("User", ["system prompt"]),  # it is a word of the record
        ("Is it true that this user drinks white tea?", ["system prompt"]),
        ("This user drinks white tea.", []),
    ],
)
def test_only_what_is_within_the_callers_own_text_does_not_count_as_retrieved(prompt: str, parts: list[str]) -> None:
    record = MemoryRecord(
        record_id="r",
        text="This user drinks white tea.",
        namespaces=("/f/",),
        strategy_id="s",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    prompts = [
        PromptText(where="prompt", text=prompt),
        PromptText(where="system prompt", text=f"Known: {record.text} Asked: {prompt}"),
    ]
    assert [use.where for use in find_used("m", [record], prompts, caller_text=prompt)] == parts


def test_texts_of_deeply_nested_json_are_compared_as_they_are() -> None:
    nested = '{"a":' * 100_000
    assert texts_in(nested) == nested
    record = MemoryRecord(
        record_id="r", text=nested, namespaces=("/f/",), strategy_id="s", created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert list(find_used("m", [record], [PromptText(where="prompt", text=nested)]))
