"""Where records came from, and what an actor's memory did over time."""

from __future__ import annotations

import pytest
from inspected import new_memory, say, write
from waiting import wait_until

from loomlib.embeddings import similarity
from loomlib.memory.provenance import ALIKE_FROM


@pytest.fixture(scope="module")
def lived(memory_bench):
    """A memory in which anna's allergy was extracted from one of two turns."""
    memory = new_memory(memory_bench, "semantic")
    memory.said = [say(memory, "I am allergic to shellfish.", "Noted."), say(memory, "What time is it?", "Noon.")]
    wait_until(lambda: len(memory.records(actor="anna")))
    (memory.extracted,) = memory.records(actor="anna")["record_id"]
    return memory


def test_recorded_sources_are_shown(lived):
    records = lived.records(actor="anna").set_index("record_id")
    provenance = lived.provenance(lived.extracted)
    assert provenance.state == "stated"
    assert list(provenance.table()["event_id"]) == lived.said[:1]
    assert list(provenance.table()["certainty"]) == ["stated"]
    assert records.loc[lived.extracted, "extractor"] == "offline extractor"
    assert "offline extractor" in provenance._repr_html_()
    assert provenance.found.owner.actor_id == "anna"


def test_unrecorded_sources_are_inferred_and_labelled(lived):
    (id,) = write(lived, "/facts/anna/", "The user cannot eat shellfish, being allergic")
    provenance = lived.provenance(id)
    assert provenance.state == "inferred"
    assert "Inferred by similarity" in provenance.sentence()
    table = provenance.table()
    assert list(table["event_id"]) == lived.said[:1]
    assert set(table["certainty"]) == {"inferred"}
    assert ALIKE_FROM <= table["score"][0] <= 1
    assert table["excerpt"][0] == "I am allergic to shellfish."


@pytest.mark.parametrize(
    "text",
    [
        '{"context": "An order.", "preference": "The user avoids shellfish: an allergy", "categories": ["food"]}',
        '<topic name="Talk">The user asked what an opera ticket costs. The user has a shellfish allergy.</topic>',
    ],
)
def test_preferences_and_summaries_are_compared_by_what_they_state(lived, text):
    (id,) = write(lived, "/facts/anna/", text)
    provenance = lived.provenance(id)
    assert provenance.state == "inferred"
    assert list(provenance.table()["event_id"]) == lived.said[:1]


def test_a_record_unlike_all_events_has_no_source(lived):
    (id,) = write(lived, "/facts/anna/", "Jazz concerts delight this customer")
    assert lived.provenance(id).state == "no_similar_event"
    (other,) = write(lived, "/facts/bert/", "The user is allergic to shellfish")
    assert lived.provenance(other).state == "no_events"  # anna's words are not bert's
    assert "no events" in lived.provenance(other)._repr_html_()


def test_a_record_of_deeply_nested_json_is_compared_as_text(lived):
    (id,) = write(lived, "/facts/anna/", '{"a":' * 3_000)
    assert lived.provenance(id).state == "no_similar_event"


def test_deleted_sources_are_reported_as_deleted(memory_bench):
    memory = new_memory(memory_bench, "semantic")
    event = say(memory, "I live in Berlin.", "Noted.")
    wait_until(lambda: len(memory.records(actor="anna")))
    memory.reader.clients.data().delete_event(memoryId=memory.id, actorId="anna", sessionId="s1", eventId=event)
    provenance = memory.provenance(memory.records(actor="anna")["record_id"][0])
    assert provenance.state == "stated_but_deleted"
    assert len(provenance.found.missing) == 1


def test_sources_beyond_the_limit_of_events_are_not_reported_as_deleted(lived):
    provenance = lived.provenance(lived.extracted, scan=1)  # the newest event, which is not the source
    assert provenance.state == "stated_but_not_read"
    assert "which are not among the events that were read · 1 event read, the limit" in provenance.sentence()


def test_a_timeline_says_what_its_limit_left_out(lived):
    note = "the first 1 event and the first 1 record; limit=None reads all"
    assert lived.timeline("anna", limit=1).note().endswith(note)
    assert note in lived.timeline("anna", limit=1)._repr_html_()
    assert "limit=" not in lived.timeline("anna", limit=None).note()


def test_the_timeline_has_events_and_the_records_extracted_from_them(lived):
    view = lived.timeline("anna")
    table = view.table()
    assert table["at"].is_monotonic_increasing
    assert {"message", "record created"} <= set(table["what"])
    assert {"messages from user", "messages from assistant", "records of semantic"} <= set(table["lane"])
    assert len(view.figure().data) == len(set(table["lane"]))
    assert "offline extractor" in view._repr_html_()
    assert "<svg" in view._repr_html_()


@pytest.mark.parametrize(
    ("record", "said", "alike"),
    [
        ("The user is allergic to shellfish.", "I'm allergic to shellfish, so no shrimp please.", True),
        ("The user lives in Berlin.", "I moved to Berlin last year.", True),
        ("User prefers aisle seats", "Please book me an aisle seat, I like those", True),
        ("The user is allergic to shellfish.", "The user is fond of jazz music.", False),
        ("The user lives in Berlin.", "What is the weather today?", False),
        ("User prefers aisle seats", "Hello, how are you?", False),
    ],
)
def test_the_threshold_tells_restatements_from_other_sentences(record, said, alike):
    assert (similarity(record, said) >= ALIKE_FROM) is alike
