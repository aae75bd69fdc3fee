"""What a memory holds, read through the workbench over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pandas as pd
import pytest
from inspected import new_memory, say, write

import loomlib as loom
from loomlib.errors import ResourceNotFoundError
from loomlib.memory import fill_template, owner_of
from loomlib.presentation import formats
from loomlib.workbench.memory import Memory
from loomlib.workbench.memory_tables import CHUNK_ROWS, frame

NASTY = '<img src=x onerror="alert(1)">'


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)


@pytest.fixture(scope="module")
def kept(memory_bench: loom.Workbench) -> Memory:
    """Two actors; anna's first session has 230 events, her second one three with a fork."""
    memory = new_memory(memory_bench, "semantic")
    day = datetime(2026, 3, 1, tzinfo=UTC)
    for number in range(230):
        say(memory, f"number {number}", "yes", eventTimestamp=day + timedelta(minutes=number))
    first = say(memory, NASTY, session="s2", eventTimestamp=day + timedelta(days=2))
    say(memory, "on main", session="s2", eventTimestamp=day + timedelta(days=2, minutes=1))
    fork = {"name": "other", "rootEventId": first}
    say(memory, "on the fork", session="s2", branch=fork, eventTimestamp=day + timedelta(days=2, minutes=2))
    say(memory, "hello", actor="user-10", session="s9", metadata={"channel": {"stringValue": "phone"}})
    return memory


def test_memories_are_listed_and_found_by_name_id_and_arn(memory_bench, kept):
    listed = memory_bench.memories.table()
    assert kept.name in set(listed["name"])
    for key in (kept.name, kept.id, kept.arn):
        assert memory_bench.memories.get(key).id == kept.id
    with pytest.raises(ResourceNotFoundError, match=r"one of: .*m"):
        memory_bench.memories.get("nobody_knows")
    assert kept.status == "ACTIVE"
    assert "/facts/{actorId}/" in kept._repr_html_()


def test_actors_and_sessions_are_tables(kept):
    assert list(kept.actors()["actor_id"]) == ["anna", "user-10"]
    assert set(kept.sessions("anna")["memory_session_id"]) == {"s1", "s2"}
    nobody = kept.sessions("nobody")
    assert len(nobody) == 0
    assert "memory.actors()" in nobody._repr_html_()
    assert "memory.actors()" in repr(nobody)


def test_events_page_past_the_first_hundred_newest_first(kept):
    lines: list[str] = []
    events = kept.events("anna", session="s1", progress=lines.append)
    assert len(events) == 230
    assert events["timestamp"].is_monotonic_decreasing
    assert events["text"][0] == "number 229\nyes"
    assert events["role"][0] == "USER+ASSISTANT"
    assert lines == ["100 events read", "200 events read"]
    assert len(kept.events()) == 234


def test_a_limit_is_shown_with_the_table(kept):
    few = kept.events("anna", limit=7)
    assert len(few) == 7
    assert "limit=None" in few.note
    assert next(kept.iter_events("anna", limit=2)).event_id == few["event_id"][0]


def test_since_is_a_time_or_a_duration(kept):
    at = datetime(2026, 3, 1, 3, 40, tzinfo=UTC)
    assert len(kept.events("anna", session="s1", since=at)) == 10
    assert len(kept.events("anna", session="s1", since=at.replace(tzinfo=None))) == 10
    assert len(kept.events("user-10", since=timedelta(hours=1))) == 1
    assert "No events" in kept.events("user-10", since=timedelta(days=-1)).note


def test_a_branch_includes_the_events_before_its_start(kept):
    texts = list(kept.events("anna", session="s2", branch="other")["text"])
    assert texts == ["on the fork", NASTY]


def test_metadata_of_events_is_plain(kept):
    assert kept.events("user-10")["metadata"][0] == {"channel": "phone"}


def test_foreign_text_is_never_markup(kept):
    events = kept.events("anna", session="s2")
    timeline = kept.timeline("anna", session="s2")
    for html in (events._repr_html_(), timeline._repr_html_()):
        assert "img" not in _Tags(html).found
        assert "&lt;img" in html
    assert "<img" not in timeline.figure().to_json()
    assert type(events[events["role"] == "USER"]) is pd.DataFrame


def test_records_of_an_actor_are_not_those_of_another_whose_name_begins_the_same(memory_bench):
    memory = new_memory(memory_bench, "semantic", "summary")
    write(memory, "/facts/user-1/", "likes tea")
    write(memory, "/facts/user-10/", "likes coffee")
    write(memory, "/summaries/user-1/s1/", "talked about tea")
    write(memory, "/elsewhere/user-1/", "written by hand")
    assert sorted(memory.records(actor="user-1")["text"]) == ["likes tea", "talked about tea"]
    assert list(memory.records("/facts/{actorId}/", actor="user-1")["text"]) == ["likes tea"]
    assert len(memory.records("/facts")) == 2
    assert len(memory.records("/facts", exact=True)) == 0
    assert len(memory.records()) == 4
    matches = memory.search("what does the person drink?", actor="user-1")
    assert "coffee" not in " ".join(matches["text"])
    assert matches["score"].is_monotonic_decreasing
    assert len(memory.search("drinks", "/facts", top_k=1)) == 1


def test_empty_tables_tell_how_to_fill_them(memory_bench):
    memory = new_memory(memory_bench)
    assert "CreateEvent" in memory.events("anna")._repr_html_()
    assert "strategies=" in memory.records().note
    assert "strategies=" in memory.search("anything").note
    assert "memory.actors()" in memory.timeline("anna")._repr_html_()
    assert len(memory.timeline("anna").table()) == 0
    assert len(memory.failed_extractions()) == 0
    assert "No strategy" in memory._repr_html_()


def test_a_session_needs_its_actor_and_a_strategy_its_name(memory_bench, kept):
    with pytest.raises(ValueError, match="actor"):
        kept.events(session="s1")
    with pytest.raises(ValueError, match="is not a strategy"):
        memory_bench.memories.create("nope", strategies=["telepathy"])


@pytest.mark.parametrize("name", ["userPreference", "USER_PREFERENCE", "userPreferenceMemoryStrategy", "preferences"])
def test_strategies_are_known_by_awss_names_too(memory_bench, name):
    memory = new_memory(memory_bench, "summarization", name)
    assert {strategy.name: strategy.namespaces[0] for strategy in memory.description.strategies} == {
        "summary": "/summaries/{actorId}/{sessionId}/",
        "preferences": "/preferences/{actorId}/",
    }
    with pytest.raises(ValueError, match="one of semantic, summary, preferences, episodic"):
        new_memory(memory_bench, "semantics")


def test_a_deleted_memory_is_gone(memory_bench):
    memory = new_memory(memory_bench)
    memory_bench.memories.delete(memory.arn)
    with pytest.raises(ResourceNotFoundError):
        list(memory.iter_events("anna", session="s1"))
    with pytest.raises(ResourceNotFoundError):
        memory.sessions("anna")


def test_owners_are_read_out_of_namespaces(memory_bench):
    strategies = new_memory(memory_bench, "semantic", "summary", "episodic").description.strategies
    whose = owner_of("/summaries/anna/s1/", strategies)
    assert whose is not None
    assert (whose.actor_id, whose.session_id) == ("anna", "s1")
    tenant = owner_of("/facts/acme/anna/", strategies)
    assert tenant is not None
    assert tenant.actor_id == "acme/anna"
    reflected = owner_of("/reflections/anna/", strategies)
    assert reflected is not None
    assert reflected.actor_id == "anna"
    assert owner_of("/nowhere/", strategies) is None
    assert fill_template("/facts/{actorId}/{sessionId}/", actorId="a") == "/facts/a/{sessionId}/"


def test_a_memory_is_read_in_its_own_region(memory_bench, kept):
    created_memory = memory_bench.memories.create("elsewhere", region="eu-central-1")
    memory = memory_bench.memories.get(created_memory.arn)
    assert memory.description.region == memory.reader.memory.region == "eu-central-1"
    assert memory.actors().empty
    with pytest.raises(ResourceNotFoundError, match="There is no memory"):
        memory_bench.memories.get(kept.arn.replace(memory_bench.clients.region, "eu-central-1"))
    assert set(memory_bench.memories.table(region="eu-central-1")["region"]) == {"eu-central-1"}
    assert "elsewhere" not in memory_bench.memories.table()["name"].tolist()


def test_a_table_of_many_chunks_is_one_table(kept):
    rows = [(f"r{number}", "a" if number < CHUNK_ROWS else "b") for number in range(CHUNK_ROWS + 5)]
    table = frame(iter(rows), ("text", "role"), title="Many", limit=len(rows))
    assert len(table) == len(rows)
    assert list(table["role"].cat.categories) == ["a", "b"]
    assert table["role"].iloc[-1] == "b"
    assert "limit=None" in table.note
    assert f"{formats.number(len(rows) - 50)} more rows" in table._repr_html_()
