"""Memory studies against the local service: its own memory, a named one, and the agent that remembers."""

from __future__ import annotations

import pytest
from inspected import new_memory
from waiting import PATIENCE_S

import loomlib as loom
from loomlib.errors import StudyError
from loomlib.memory_study import ScriptedConversation, ScriptedQuestion, ScriptedTurn, read_conversation

HASTE = {"settle_s": PATIENCE_S, "quiet_s": PATIENCE_S, "seed": 1}  # the wait ends as soon as all is extracted


@pytest.fixture(scope="module")
def result(memory_bench: loom.Workbench):
    """The shipped conversation, in a memory of the study's own."""
    return loom.MemoryStudy(memory_bench, conversations=0, priced_as="claude-haiku-4-5", **HASTE).run()


def test_the_allergy_of_session_1_comes_back_in_session_10_by_retrieval_and_not_by_a_window(result):
    assert result.state == "complete"
    last = {
        str(question.arm): question
        for question in result.asked
        if question.probe.fact == "allergy" and question.probe.session == 10
    }
    assert last["reactive, window"].verdict == "recalled"
    assert last["proactive, window"].verdict == "recalled"
    assert last["no retrieval, full"].verdict == "recalled"
    assert last["no retrieval, window"].verdict == "missed"


def test_a_value_that_changed_is_brought_as_it_is_now(result):
    home = [question for question in result.asked if question.probe.fact == "home" and question.arm.searches]
    assert {question.verdict for question in home} == {"recalled"}
    whole = [
        question
        for question in result.asked
        if question.probe.fact == "home" and str(question.arm) == "no retrieval, full"
    ]
    assert {question.verdict for question in whole} == {"recalled beside a former value"}
    diet = [question for question in result.asked if question.probe.fact == "diet" and question.arm.searches]
    assert {question.verdict for question in diet} == {"correctly absent"}


def test_the_result_states_what_it_is_based_on(result, memory_bench):
    assert all(state.found == state.wanted for state in result.settled)
    assert result.findings() == []
    assert "offline extractor" in result._repr_html_()
    assert result.table()["$ per 1 000"].notna().all()
    assert set(memory_bench.context.labels) <= set(result.labels)


def test_the_studys_own_memory_is_gone_afterwards(result, memory_bench):
    assert result.environment["memory_id"] not in set(memory_bench.memories.table()["memory_id"])


def test_a_named_memory_keeps_what_was_stated_under_actors_of_the_study(memory_bench):
    memory = new_memory(memory_bench, "semantic")
    study = loom.MemoryStudy(
        memory_bench, memory=memory, conversations=0, arms=["none+full", "reactive+window"], **HASTE
    )
    study.run()
    assert list(memory.actors()["actor_id"]) == [f"{study.study_id}-1"]
    assert len(memory.events()) == sum(len(session) for session in read_conversation("shellfish").sessions[:9])
    with pytest.raises(StudyError, match="summaries"):
        loom.MemoryStudy(memory_bench, memory=memory, conversations=0, **HASTE).run()


def test_an_agent_is_asked_and_its_words_are_judged(memory_bench):
    conversation = ScriptedConversation(
        name="short",
        sessions=(
            (ScriptedTurn(text="My dog is called Biscuit.", fact="dog", value="Biscuit"),),
            (ScriptedTurn(text="How many minutes are there in a week?"),),
            (ScriptedTurn(text="Is a tomato a fruit?"),),
        ),
        questions=(
            ScriptedQuestion(session=4, text="What is the name of my dog?", fact="dog", query="name of the dog"),
        ),
    )
    memory = new_memory(memory_bench, "semantic")
    agent = memory_bench.deploy("assistant_with_memory", name="recalled", memory=memory)
    with pytest.raises(StudyError, match="needs the agent's memory"):
        loom.MemoryStudy(memory_bench, agent=agent)
    study = loom.MemoryStudy(
        memory_bench, memory=memory, agent=agent, script=conversation, conversations=0, window=1, **HASTE,
        arms=["none+window", "reactive+window"],
    )  # fmt: skip
    result = study.run()
    assert {str(question.arm): question.verdict for question in result.asked} == {
        "no retrieval, window": "missed",
        "reactive, window": "recalled",
    }
    assert all(question.input_tokens for question in result.asked)
    assert "Biscuit" in next(question.shown[0] for question in result.asked if question.arm.searches)
    again = loom.MemoryStudy.resume(memory_bench, study.study_id, agent=agent).run()
    assert [question.invocation_id for question in again.asked] == [question.invocation_id for question in result.asked]
    with pytest.raises(StudyError, match="asks the agent"):
        loom.MemoryStudy.resume(memory_bench, study.study_id)
