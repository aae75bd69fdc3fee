"""The assistant with memory: facts stated in one session or process are known in the next."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from waiting import wait_until as until

import loomlib as loom
from loomlib import local
from loomlib.workbench.bench_memories import Memories


@pytest.fixture(scope="module")
def assistant(memory_bench: loom.Workbench) -> loom.Agent:
    memory = memory_bench.memories.create("assistant", strategies=["semantic", "preferences", "summary"])
    return memory_bench.deploy("assistant_with_memory", memory=memory)


@pytest.fixture
def actor() -> str:
    return f"actor-{uuid.uuid4().hex[:8]}"


def invoke(agent: loom.Agent, session_id: str | None = None, **payload: object) -> loom.Invocation:
    inv = agent.invoke(payload=payload, session_id=session_id)
    return inv.raise_for_status()


def facts(agent: loom.Agent, actor: str) -> list[str]:
    return list(Memories(agent.context).get("assistant").records("/facts/{actorId}/", actor=actor)["text"])


def test_facts_of_one_session_are_known_in_another(assistant: loom.Agent, actor: str) -> None:
    invoke(assistant, prompt="I'm allergic to shellfish, and I live in Lisbon.", actor=actor)
    until(lambda: len(facts(assistant, actor)) == 2)
    for retrieval in ("proactive", "reactive"):
        options = {"actor": actor, "retrieval": retrieval}
        inv = invoke(assistant, prompt="What am I allergic to?", **options)
        assert inv.text == "You are allergic to shellfish."
        assert invoke(assistant, inv.session_id, prompt="Where do I live?", **options).text == "You live in Lisbon."


def test_nothing_is_retrieved_when_that_is_asked_for_or_for_another_actor(assistant: loom.Agent, actor: str) -> None:
    invoke(assistant, prompt="I live in Lisbon.", actor=actor)
    until(lambda: len(facts(assistant, actor)) == 1)
    unknown = "You have not told me where you live in this conversation."
    assert invoke(assistant, prompt="Where do I live?", actor=actor, retrieval="none").text == unknown
    assert invoke(assistant, prompt="Where do I live?", actor=f"{actor}-b").text == unknown


def test_an_actor_cannot_be_named_below_another(assistant: loom.Agent) -> None:
    inv = assistant.invoke(payload={"prompt": "Where do I live?", "actor": "anna/b"})
    assert not inv.ok
    assert "an actor is named by" in (inv.error or "")


@pytest.mark.parametrize("context", ["full", "window", "summarizing"])
def test_a_session_continues_in_a_new_process(assistant: loom.Agent, actor: str, context: str) -> None:
    options = {"actor": actor, "retrieval": "none", "context": context, "window": 2}
    inv = invoke(assistant, prompt="My dog is called Rex.", **options)
    for number in range(4):
        invoke(assistant, inv.session_id, prompt=f"My {'abcd'[number]} number is {number}.", **options)
    assert assistant.end_session(inv.session_id)
    newest = invoke(assistant, inv.session_id, prompt="What is my d number?", **options)
    assert newest.text == "Your d number is 3."
    first = invoke(assistant, inv.session_id, prompt="What is my dog?", **options)
    is_in_context = context != "window"
    assert first.text == (
        "Your dog is Rex." if is_in_context else "You have not told me your dog in this conversation."
    )


def test_without_a_memory_the_error_tells_what_to_do(memory_bench: loom.Workbench) -> None:
    agent = memory_bench.deploy("assistant_with_memory", name="forgetful")
    inv = agent.invoke("Hello")
    assert "memory=" in (inv.error or "")
    assert inv.pending == ()


@pytest.fixture(scope="module")
def asking_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("asking") / "home"
    local.start(home, local.ServiceOptions(memory_delay_s=0.02, memory_extractor="model"), persistent=True)
    with loom.connect(home=home) as bench:
        yield bench
    local.stop(home)


def test_extraction_by_the_scripted_model_writes_labelled_records(asking_bench: loom.Workbench) -> None:
    memory = asking_bench.memories.create("asked", strategies=["semantic", "preferences"])
    agent = asking_bench.deploy("assistant_with_memory", memory=memory)
    invoke(agent, prompt="I live in Rome. I prefer aisle seats.", actor="ada")
    until(lambda: len(memory.records(actor="ada")) >= 2)
    invoke(agent, prompt="I moved to Oslo.", actor="ada")
    until(lambda: "The user lives in Oslo." in set(memory.records("/facts/ada/")["text"]))
    records = memory.records(actor="ada")
    assert set(records["extractor"]) == {"model extractor (simulated)"}
    assert "The user lives in Rome." not in set(records["text"])
    assert not len(memory.failed_extractions())
