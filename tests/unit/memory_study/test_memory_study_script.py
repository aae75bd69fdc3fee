"""Scripted conversations: what is right at each question, the shipped one, and those made from a seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loomlib.errors import StudyError
from loomlib.memory_study import (
    ScriptedConversation,
    ScriptedQuestion,
    ScriptedTurn,
    make_conversations,
    read_conversation,
    shipped_conversations,
)
from loomlib.memory_study.generator import pool
from loomlib.memory_study.script import contains


def test_the_allergy_of_session_1_is_asked_in_session_10():
    conversation = read_conversation("shellfish")
    assert "shellfish" in shipped_conversations()
    (allergy_probe,) = [probe for probe in conversation.probes() if probe.fact == "allergy" and probe.session == 10]
    assert (allergy_probe.expected, allergy_probe.age, allergy_probe.kind) == ("shellfish", 9, "kept")
    by_fact = {probe.fact: probe for probe in conversation.probes() if probe.session == 10}
    assert (by_fact["home"].expected, by_fact["home"].former, by_fact["home"].kind) == ("Porto", ("Lisbon",), "updated")
    assert (by_fact["diet"].expected, by_fact["diet"].former) == ("", ("vegetarian",))
    assert by_fact["diet"].kind == "taken back"
    assert by_fact[""].kind == "idle"


def test_what_is_right_depends_on_when_it_is_asked():
    conversation = ScriptedConversation(
        name="a",
        sessions=(
            (ScriptedTurn(text="I live in Ulm.", fact="home", value="Ulm"),),
            (ScriptedTurn(text="I moved to Bonn.", fact="home", value="Bonn"),),
            (ScriptedTurn(text="I moved back to Ulm.", fact="home", value="Ulm"),),
            (ScriptedTurn(text="I live nowhere now.", fact="home", ends=True),),
        ),
        questions=tuple(ScriptedQuestion(session=n, text="Where do I live?", fact="home") for n in (5, 2, 3, 4)),
    )
    expectations = [(probe.session, probe.expected, probe.former, probe.age) for probe in conversation.probes()]
    assert expectations == [
        (2, "Ulm", (), 1),
        (3, "Bonn", ("Ulm",), 1),
        (4, "Ulm", ("Bonn",), 1),
        (5, "", ("Ulm", "Bonn"), 1),
    ]


def test_the_same_seed_makes_the_same_conversations():
    assert make_conversations(3, seed=7) == make_conversations(3, seed=7)
    assert make_conversations(3, seed=7) != make_conversations(3, seed=8)
    assert make_conversations(5, seed=7)[:3] == make_conversations(3, seed=7)


def test_a_generated_conversation_begins_with_a_fact_that_is_asked_at_the_end():
    for conversation in make_conversations(20, sessions=10, facts=6, seed=3):
        ages = [probe.age for probe in conversation.probes() if probe.session == 10 and probe.expected]
        assert any(turn.fact for turn in conversation.sessions[0])
        assert max(ages) >= 5
        assert ScriptedConversation.read(json.loads(json.dumps(conversation.stored()))) == conversation


def test_no_value_stands_in_a_text_that_does_not_tell_it():
    texts = [text for pair in pool().small_talk for text in pair] + [*pool().idle_questions]
    texts += [
        text
        for fact in pool().facts
        for text in (*fact.questions, fact.query, *fact.statements, fact.changed, fact.ended)
    ]
    values = [value for fact in pool().facts for value in fact.values]
    assert len(values) == len(set(values))
    for value in values:
        assert not any(contains(text, value) for text in texts), value
        assert not any(contains(other, value) for other in values if other != value), value


def test_a_value_is_found_in_whole_words_only():
    assert contains("You are ALLERGIC to  shellfish!", "shellfish")
    assert contains("the user’s dog", "user's dog")
    assert not contains("Ulmer Straße", "Ulm")
    assert not contains("anything", "")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"sessions": []},
        {"questions": [{"session": 99, "said": "?", "fact": "home"}]},
        {"questions": [{"session": 2, "said": "?", "fact": "never told"}]},
        {"questions": [{"session": 2, "said": "?", "colour": "red"}]},
        {"sessions": [[{"said": "I live in Ulm.", "fact": "home", "value": "Bonn"}]]},
        {"sessions": [[{"said": "I live in Ulm.", "fact": "home"}]]},
        {"name": "no/slashes"},
    ],
)
def test_a_conversation_that_makes_no_sense_is_refused(tmp_path: Path, change):
    stored = {**read_conversation("shellfish").stored(), **change}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(stored), "utf-8")
    with pytest.raises(StudyError):
        read_conversation(path)


def test_a_file_that_is_no_conversation_is_refused_by_name(tmp_path: Path):
    (tmp_path / "list.json").write_text("[]", "utf-8")
    for name in ("nobody", tmp_path / "missing.json", tmp_path / "list.json"):
        with pytest.raises(StudyError):
            read_conversation(name)
