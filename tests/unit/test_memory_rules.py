"""What the offline extractor finds in sentences as people write them, and what it must not find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.local.memory.extraction.rules import extract
from loomlib.local.memory.extraction.text import clauses, items, normal, sentences, trimmed

STATED = [
    ("Hi, I'm Anna and I live in Berlin.", ["The user's name is Anna.", "The user lives in Berlin."]),
    ("Hello! This is Peter from accounting.", ["The user's name is Peter."]),
    ("My name is Maria Lopez.", ["The user's name is Maria Lopez."]),
    ("Please call me Bob.", ["The user wants to be called Bob."]),
    ("I moved to Munich last month.", ["The user lives in Munich."]),
    ("I've recently relocated from Paris to Lyon.", ["The user lives in Lyon."]),
    ("I'm currently based in New York.", ["The user lives in New York."]),
    ("By the way, I'm from Ghana.", ["The user is from Ghana."]),
    ("I was born in Lisbon.", ["The user is from Lisbon."]),
    ("I am Dutch, by the way.", ["The user is Dutch."]),
    ("My birthday is March 3rd.", ["The user's birthday is March 3rd."]),
    ("I'm 34 years old.", ["The user is 34 years old."]),
    ("I work as a nurse at St Mary Hospital.", ["The user works as nurse.", "The user works at St Mary Hospital."]),
    ("I'm a software engineer.", ["The user works as software engineer."]),
    ("I just joined Acme.", ["The user works at Acme."]),
    ("I'm allergic to shellfish.", ["The user is allergic to shellfish."]),
    ("Just so you know, I'm severely allergic to peanuts and eggs.",
     ["The user is allergic to peanuts.", "The user is allergic to eggs."]),
    ("Please keep in mind that I'm allergic to mustard.", ["The user is allergic to mustard."]),
    ("Please don't forget that I live in Rome.", ["The user lives in Rome."]),
    ("Just a reminder that I'm vegan.", ["The user is vegan."]),
    ("I want you to know that I have asthma.", ["The user has asthma."]),
    ("Please don't forget to book the flight.", []),
    ("Bear in mind that people are tired.", []),
    ("I have a severe nut allergy.", ["The user is allergic to nut."]),
    ("I have an allergy to penicillin", ["The user is allergic to penicillin."]),
    ("I'm vegetarian.", ["The user is vegetarian."]),
    ("We met before; I'm a strict vegan", []),
    ("I can't eat gluten because of my stomach.", ["The user can't have gluten."]),
    ("I don't eat pork.", ["The user does not have pork."]),
    ("I have asthma.", ["The user has asthma."]),
    ("I was diagnosed with type 2 diabetes last year.", ["The user has type 2 diabetes."]),
    ("I got married in June.", ["The user is married."]),
    ("I have two kids and a dog named Rex.", ["The user has two kids.", "The user's dog is called Rex."]),
    ("My wife's name is Ines.", ["The user's wife is called Ines."]),
    ("I drive a Volvo.", ["The user drives a Volvo."]),
    ("I speak Polish and German.", ["The user speaks Polish.", "The user speaks German."]),
    ("My email is ada@example.org.", ["The user's email is ada@example.org."]),
    ("My budget is 2000 euros.", ["The user's budget is 2000 euros."]),
    ("My customer number is 48151623.", ["The user's customer number is 48151623."]),
    ("I'm training for a marathon.", ["The user is training for a marathon."]),
    ("I'm planning a trip to Japan.", ["The user plans a trip to Japan."]),
    ("I prefer window seats.", ["The user prefers window seats."]),
    ("I'd rather have tea than coffee.", ["The user prefers tea over coffee."]),
    ("I really love jazz and hiking!", ["The user likes jazz.", "The user likes hiking."]),
    ("I don't like cilantro.", ["The user dislikes cilantro."]),
    ("I can't stand loud restaurants.", ["The user dislikes loud restaurants."]),
    ("I'm not a fan of horror movies.", ["The user dislikes horror movies."]),
    ("I'm a big fan of Arsenal.", ["The user likes Arsenal."]),
    ("My favourite colour is teal.", ["The user's favorite colour is teal."]),
    ("I always fly business class.", ['The user says of themselves: "I always fly business class".']),
    ("Please always answer in French.", ["The user wants answers in French."]),
    ("Keep your answers short, please.", ["The user wants answers that are short."]),
    ("From now on, use metric units.", ["The user's standing request: use metric units."]),
    ("I now live in Hamburg with my wife.", ["The user lives in Hamburg."]),
    ("I've been living in Hamburg since 2019.", ["The user lives in Hamburg."]),
    ("My budget is now 3000 euros.", ["The user's budget is 3000 euros."]),
    ("My daughter Mia is 7 years old.", ["The user's daughter Mia is 7 years old."]),
    ("I changed jobs: I now work at Initech.", ["The user works at Initech."]),
    ("Actually, my name is Rob.", ["The user's name is Rob."]),
    ("I live in Oslo, not Bergen.", ["The user lives in Oslo."]),
    ("Sorry, I meant I live in Kiel.", ["The user lives in Kiel."]),
]  # fmt: skip
TRAPS = [
    "Do I like tea?",
    "Am I allergic to nuts?",
    "Where do I live?",
    "Maybe I'm allergic to nuts.",
    "I think I live too far away for that.",
    "I might move to Rome.",
    "If I lived in Rome, I would eat pasta.",
    "Imagine I am a pirate.",
    "Pretend I'm a doctor.",
    "My friend said I am a doctor.",
    'She told me "I live in Rome".',
    "The article says I'm allergic to work.",
    "I'd like to book a table for two.",
    "I'd love to hear more about it.",
    "I like it.",
    "I like your answer.",
    "I like how you explained this.",
    "I love that idea.",
    "I'm a bit tired.",
    "I'm a little confused here.",
    "I'm 10 minutes late.",
    "I'm not sure.",
    "I'm sorry about that.",
    "My order is late.",
    "My screen is broken.",
    "My question is simple.",
    "My guess is 42.",
    "My account is locked.",
    "Please call me back tomorrow.",
    "Call me when you are done.",
    "I have a question about my bill.",
    "I have been waiting for hours.",
    "Book me a flight to Rome.",
    "You live in Berlin, right?",
    "He is allergic to nuts.",
    "I hope I get the job at Acme.",
    "I was joking, I am a cat.",
    "Is my name Anna?",
    "Can you see what my email is?",
    "I would prefer to cancel it.",
    "",
    "???",
    "ok",
    "```\nI live in code\n```",
]
TAKEN_BACK = [
    ("I no longer live in Berlin.", "home", "Berlin"),
    ("I don't work at Acme anymore.", "employer", "Acme"),
    ("I'm no longer vegetarian.", "diet", "vegetarian"),
    ("I'm not allergic to peanuts anymore.", "allergy:peanut", ""),
    ("I'm not allergic to anything.", "allergy:*", ""),
    ("I no longer like coffee.", "taste:coffee", ""),
    ("I used to live in Rome.", "home", "Rome"),
    ("I quit my job.", "employer", ""),
    ("I left Acme.", "employer", "Acme"),
    ("I sold my car.", "vehicle", ""),
    ("Please forget my email.", "my:email", ""),
    ("Forget that I live in Ulm.", "home", "Ulm"),
    ("My dog died.", "my:dog name", ""),
    ("My name is not Bob but Rob.", "name", "Bob"),
    ("I stopped working at Initech.", "employer", "Initech"),
]


@pytest.mark.parametrize(("sentence", "texts"), STATED)
def test_a_statement_of_the_user_becomes_these_sentences(sentence: str, texts: list[str]) -> None:
    assert [statement.text for statement in extract(sentence) if not statement.retracts] == texts


@pytest.mark.parametrize("sentence", TRAPS)
def test_other_sentences_state_nothing(sentence: str) -> None:
    assert extract(sentence) == []


@pytest.mark.parametrize(("sentence", "slot", "value"), TAKEN_BACK)
def test_a_retraction_names_the_slot_and_the_value(sentence: str, slot: str, value: str) -> None:
    assert (slot, value) in [(statement.slot, statement.value) for statement in extract(sentence) if statement.retracts]


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("I live in Berlin.", "I moved to Munich."),
        ("I like coffee.", "I don't like coffee."),
        ("I prefer window seats.", "I prefer aisle seats now."),
        ("I prefer tea over coffee.", "I prefer coffee over tea."),
        ("My favourite color is red.", "Actually, my favorite colour is blue."),
        ("I'm vegetarian.", "I went vegan."),
        ("My email is a@b.co.", "My new email is c@d.co."),
    ],
)
def test_another_value_of_the_same_thing_has_the_same_slot(former: str, later: str) -> None:
    (first,), (second,) = extract(former), extract(later)
    assert first.slot == second.slot
    assert normal(first.value) != normal(second.value)


def test_the_last_statement_of_a_slot_counts_within_a_message() -> None:
    statements = extract("I live in Rome. Sorry, correction: I live in Turin.")
    assert [statement.text for statement in statements] == ["The user lives in Turin."]


def test_equal_values_have_one_spelling() -> None:
    assert normal("The Peanuts") == normal("peanut")
    assert normal("NYC") == normal("New York City")
    assert items("nuts, eggs, and milk") == ["nuts", "eggs", "milk"]
    assert trimmed("Berlin now, because of work") == "Berlin"


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    assert sentences("I saw Dr. Brown. He was kind.") == ["I saw Dr. Brown.", "He was kind."]
    assert sentences("I took approx. Two. I am atapprox. Well. So Mr.\nBrown") == [
        *("I took approx. Two.", "I am atapprox.", "Well.", "So Mr.", "Brown")
    ]


_EXTRACTED = """
from loomlib.local.memory.extraction.rules import extract
from test_memory_rules import STATED, TAKEN_BACK, TRAPS

texts = [*(sentence for sentence, *_ in (*STATED, *TAKEN_BACK)), *TRAPS]
print([extract(text) for text in (*texts, " ".join(texts))])
"""


def test_statements_do_not_depend_on_the_process_or_its_hash_seed() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _EXTRACTED],
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert "Statement(" in outputs[0]


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    extract(text)
    for clause in clauses(text):
        assert clause


@settings(deadline=None)
@given(st.lists(st.sampled_from([sentence for sentence, _ in STATED] + TRAPS), max_size=6))
def test_every_statement_has_a_slot_and_a_sentence(parts: list[str]) -> None:
    for statement in extract(" ".join(parts)):
        assert statement.slot
        assert statement.retracts or (statement.value and statement.text.endswith("."))


@pytest.mark.timeout(60)  # a pattern that backtracks would take hours
@pytest.mark.parametrize("repeated", ["now ", "in 2020 ", "for two years ", "really ", "and ", "well, ", "name "])
@pytest.mark.parametrize("begin", ["I like ", "I live in ", "I am ", "my "])
def test_endless_repetition_is_read_in_bounded_time(begin: str, repeated: str) -> None:
    assert extract(begin + repeated * (19_000 // len(repeated)) + "x") == []


@pytest.mark.timeout(60)
def test_a_sentence_of_nothing_but_abbreviations_is_read_in_bounded_time() -> None:
    assert len(sentences("Mr. A " * 50_000)) == 1
