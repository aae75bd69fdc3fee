"""The Memory panel without a browser: reading, care, and what it refuses, against a local AgentCore."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.panels.memory.rows import LONGEST_SHOWN
from loomlib.workbench.memory import Memory

from .conftest import PATIENCE_S, Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e'\"</script>"


def say(memory: Memory, *texts: str, actor: str = "anna", session: str = "s1", **more: Any) -> str:
    payload = [
        {"conversational": {"role": ("USER", "ASSISTANT")[place % 2], "content": {"text": text}}}
        for place, text in enumerate(texts)
    ]
    at = datetime.now(UTC)
    answer = memory.reader.clients.data().create_event(
        memoryId=memory.id, actorId=actor, sessionId=session, eventTimestamp=at, payload=payload, **more
    )
    return answer["event"]["eventId"]


def quiet(_sentence: str) -> None:
    """Progress that nobody needs."""


@pytest.fixture
def watched(bench: loom.Workbench) -> Iterator[Watched]:
    panel = loom_widgets.memory(bench)
    yield Watched(panel)
    panel.close()


@pytest.fixture
def memory(bench: loom.Workbench) -> Memory:
    return bench.memories.create("m" + uuid.uuid4().hex[:10], strategies=["semantic"], progress=quiet)


@pytest.fixture
def populated(watched: Watched, memory: Memory) -> Watched:
    """A panel with two actors, their records extracted."""
    say(memory, "I am allergic to shellfish.", "Noted.", metadata={"mood": {"stringValue": "fine"}})
    say(memory, "I live in Lisbon.", "Noted.", session="s2")
    say(memory, f"I live in Porto. My e-mail is ben@example.com. {HOSTILE}", actor="ben")
    wait_until(lambda: len(list(memory.reader.records())) >= 3)
    watched.ask("refresh", memory=memory.id)
    return watched


def page(watched: Watched, table: str) -> list[dict[str, Any]]:
    return list(watched.ask("page", table=table)["rows"])


def test_a_memory_is_made_and_chosen(watched: Watched) -> None:
    name = "m" + uuid.uuid4().hex[:10]
    memory = watched.ask("create", name=name, strategies=["semantic", "preferences", "invented"], days="30")
    assert watched.panel.state["memory"] == memory["id"]
    about = watched.panel.state["about"]
    assert [strategy[0] for strategy in about["strategies"]] == ["semantic", "preferences"]
    assert (about["expiry"], about["status"]) == (30, "ACTIVE")
    compile(watched.panel.code, "copied", "exec")
    assert watched.ask("create", name="not a name!", strategies=[]) == {"failed": True}
    assert watched.panel.error["try"]


def test_actors_sessions_events_and_an_event_in_full(populated: Watched) -> None:
    assert [row["actor"] for row in page(populated, "actors")] == ["anna", "ben"]
    populated.ask("choose", actor="anna", session="")
    assert sorted(row["session"] for row in page(populated, "sessions")) == ["s1", "s2"]
    assert populated.panel.status == "2 sessions of anna."
    assert populated.ask("events") == {"count": 2, "whole": True}
    assert populated.panel.status == "2 events read (all)."
    populated.ask("choose", actor="anna", session="s1")
    assert populated.ask("events", days="7") == {"count": 1, "whole": True}
    assert "session='s1'" in populated.panel.code
    compile(populated.panel.code, "copied", "exec")
    (row,) = page(populated, "events")
    event = populated.ask("event", id=row["id"])["event"]
    assert populated.panel.status == "An event of anna, session s1, is shown below."
    assert event["messages"] == [["USER", "I am allergic to shellfish."], ["ASSISTANT", "Noted."]]
    assert event["metadata"] == [["mood", "fine"]]


def test_a_record_is_found_and_leads_to_the_event_it_came_from(populated: Watched) -> None:
    populated.ask("choose", actor="anna", session="")
    answer = populated.ask("search", query="Where does anna live?", top_k="5", least="0.1")
    records = answer["rows"]
    assert answer["actor"] == "anna"
    assert "Lisbon" in records[0]["text"]
    assert populated.panel.status == ("1 record found." if len(records) == 1 else f"{len(records)} records found.")
    assert records[0]["extractor"] == "offline extractor"
    assert 'query("score >= 0.1")' in populated.panel.code
    source = populated.ask("provenance", id=records[0]["id"])
    assert source["state"] == "stated"
    assert populated.panel.status == source["sentence"]
    assert "extracted by: offline extractor" in source["sentence"]
    (row,) = source["rows"]
    event_detail = populated.ask("jump", id=row["id"], actor=row["actor"], session=row["session"])
    assert event_detail["event"]["messages"][0] == ["USER", "I live in Lisbon."]
    assert (populated.panel.state["actor"], populated.panel.state["session"]) == ("anna", "s2")
    assert populated.ask("jump", id="gone", actor="anna", session="s2") == {"failed": True}
    populated.ask("records", namespace="/facts/{actorId}/")
    assert {row["namespace"] for row in page(populated, "records")} == {"/facts/anna/"}
    populated.ask("choose", actor="anna", session="")
    line = populated.ask("timeline")
    assert {name for name, _ in line["lanes"]} == {
        "messages from user",
        "messages from assistant",
        "records of semantic",
    }
    assert "extracted by: offline extractor" in line["note"]


def test_health_changes_and_isolation_are_reported_and_kept_for_the_next_view(populated: Watched) -> None:
    health = populated.ask("health", allow=[])
    assert populated.panel.status == health["sentence"]
    emails = [finding for finding in health["findings"] if finding["kind"] == "personal data"]
    assert emails
    assert all(finding["fix"] and finding["evidence"] for finding in emails)
    assert "ben@example.com" not in str(health)
    assert populated.ask("diff", before="0", after="") == {"failed": True}
    populated.ask("snapshot")
    memory = populated.panel.memory  # type: ignore[attr-defined]
    with pytest.warns(
        DeprecationWarning, match="MemoryPanel.strategies is deprecated; use MemoryPanel.chosen.strategies"
    ):
        assert populated.panel.strategies() == {item.strategy_id: item.name for item in memory.description.strategies}
    before = len(list(memory.reader.records()))
    say(memory, "My dog is called Rex.", "Good dog.")
    wait_until(lambda: len(list(memory.reader.records())) > before)
    assert populated.ask("diff", before="0", after="")["count"] >= 1
    compile(populated.panel.code, "copied", "exec")
    assert {row["change"] for row in page(populated, "changes")} <= {"created", "updated"}
    checked = populated.ask("isolation", actors="2")
    assert checked["isolated"] is True
    assert populated.panel.status == checked["sentence"]
    assert set(populated.ask("hello")["found"]) == {"health", "diff", "isolation"}
    populated.ask("choose_memory", memory=memory.id)
    assert populated.ask("hello")["found"] == {}


def test_copies_are_redacted_unless_asked_and_never_written_over(populated: Watched, tmp_path: Path) -> None:
    first = populated.ask("export_preview")
    assert "ben@example.com" not in str(first)
    assert "redacted; in these lines" in first["note"]
    file = tmp_path / "copy.jsonl"
    assert populated.ask("export", path=str(file))["rows"][1]["count"] == 3
    assert populated.panel.status.startswith("Exported to copy.jsonl: 2 actors, 3 events")
    assert "ben@example.com" not in file.read_text()
    assert populated.ask("export", path=str(file)) == {"failed": True}
    assert "NOT redacted" in populated.ask("export", path=str(file), overwrite=True, plain=True)["note"]
    assert "ben@example.com" in file.read_text()
    assert populated.ask("import_now") == {"failed": True}
    assert populated.ask("import_preview", path=str(file))["rows"][0]["to write"] == 0
    assert "Nothing has been written yet." in populated.panel.status
    assert populated.ask("import_now")["note"].startswith("complete")
    assert populated.ask("import_preview", path=str(tmp_path / "none")) == {"failed": True}


def test_an_actor_is_forgotten_only_when_the_id_was_typed(populated: Watched) -> None:
    assert populated.ask("forget_for_good", typed="ben") == {"failed": True}
    preview = populated.ask("forget", actor="ben")
    assert preview["events"] == 1
    assert populated.panel.status.startswith("1 event and ")
    assert "ben@example.com" not in str(preview["rows"])
    for typed in ("", "anna", "ben "):
        assert populated.ask("forget_for_good", typed=typed) == {"failed": True}
    deletion = populated.ask("forget_for_good", typed="ben")
    assert deletion["verified"] is True
    assert populated.panel.status.startswith("All data of ben was deleted: 1 event")
    assert deletion["elsewhere"]
    assert populated.ask("verify")["verified"] is True
    populated.ask("choose", actor="anna", session="")
    assert populated.ask("events")["count"] == 2


def test_a_preview_is_not_carried_out_while_another_memory_is_shown(
    populated: Watched, bench: loom.Workbench, memory: Memory, tmp_path: Path
) -> None:
    other = bench.memories.create("m" + uuid.uuid4().hex[:10], strategies=["semantic"], progress=quiet)
    populated.ask("export", path=str(tmp_path / "copy.jsonl"))
    for preview, act in (("forget", "forget_for_good"), ("import_preview", "import_now")):
        populated.ask(preview, actor="ben", path=str(tmp_path / "copy.jsonl"))
        populated.ask("refresh", memory=other.id)
        assert populated.ask(act, typed="ben") == {"failed": True}
        assert "another memory" in populated.panel.error["what"]
        populated.ask("refresh", memory=memory.id)
    assert populated.ask("forget", actor="ben")["events"] == 1


@contextmanager
def held(memory: Memory, operation: str) -> Iterator[tuple[Event, Event]]:
    """Hold the requests of an operation: whether one has begun, and the permission for all of them to go on."""
    begun, permitted = Event(), Event()

    def hold(**_request: Any) -> None:
        begun.set()
        assert permitted.wait(PATIENCE_S)

    events, name = memory.reader.clients.data().meta.events, f"before-call.bedrock-agentcore.{operation}"
    events.register(name, hold)
    try:
        yield begun, permitted
    finally:
        permitted.set()
        events.unregister(name, hold)


@pytest.mark.parametrize(
    ("name", "operation", "switch"),
    [
        ("health", "ListEvents", "create"),
        ("snapshot", "ListMemoryRecords", "choose_memory"),
        ("timeline", "ListEvents", "choose_memory"),
    ],
)
def test_what_is_still_read_when_another_memory_is_chosen_is_dropped(
    watched: Watched, bench: loom.Workbench, memory: Memory, name: str, operation: str, switch: str
) -> None:
    say(memory, "I live in Lisbon.")
    other = "m" + uuid.uuid4().hex[:10]
    if switch == "choose_memory":
        other = bench.memories.create(other, strategies=[], progress=quiet).id
    watched.ask("refresh", memory=memory.id)
    with held(memory, operation) as (begun, permitted):
        number = watched.begin(name, actor="anna")
        assert begun.wait(PATIENCE_S)
        watched.ask(switch, memory=other, name=other, strategies=[])
        permitted.set()
        assert watched.answer(number) == {"stopped": True}
    assert watched.ask("hello")["found"] == {}
    assert (watched.panel.state["snapshots"], page(watched, "timeline")) == ([], [])


def test_nothing_of_a_memory_that_was_deleted_elsewhere_is_shown_under_another_one(
    watched: Watched, bench: loom.Workbench, memory: Memory
) -> None:
    bench.memories.create("m" + uuid.uuid4().hex[:10], strategies=[], progress=quiet)
    say(memory, "I live in Lisbon.")
    watched.ask("refresh", memory=memory.id)
    watched.ask("events")
    watched.ask("health")
    bench.memories.delete(memory.id)
    watched.ask("look_again")
    assert watched.panel.state["memory"] not in ("", memory.id)
    assert watched.ask("hello") == {"found": {}, "events": [0, False], "records": [0, False]}
    assert page(watched, "events") == []


def test_large_memories_are_read_a_part_at_a_time_and_stop_holds(watched: Watched, memory: Memory) -> None:
    for number in range(30):
        say(memory, f"event {number}", session=f"s{number % 3}")
    say(memory, "x" * 90_000, "y" * (LONGEST_SHOWN // 2), session="long")
    watched.ask("choose_memory", memory=memory.id)
    watched.ask("events")
    rows = page(watched, "events")
    longest = next(row for row in rows if row["session"] == "long")
    assert len(longest["text"]) < 3_000
    whole = watched.ask("event", id=longest["id"])["event"]
    assert [len(text) for _, text in whole["messages"]] == [90_000, LONGEST_SHOWN // 2]
    assert watched.ask("more", what="events", count=10_000) == {"count": 31, "whole": True}


def test_branches_are_found_while_reading_and_read_alone(watched: Watched, memory: Memory) -> None:
    root = say(memory, "Shall we go by train?", "Yes.")
    say(memory, "Rather by ship.", "Gladly.", branch={"name": "ship", "rootEventId": root})
    say(memory, "By train, then.", "Fine.")
    watched.ask("choose_memory", memory=memory.id)
    watched.ask("choose", actor="anna", session="s1")
    watched.ask("events")
    assert watched.of("read")[-1]["branches"] == ["ship"]
    watched.ask("events", branch="ship")
    assert {row["text"].split()[0] for row in page(watched, "events")} == {"Shall", "Rather"}
    assert "branch='ship'" in watched.panel.code


def test_the_records_in_an_answers_prompt_are_found_from_its_list(watched: Watched, bench: loom.Workbench) -> None:
    memory = bench.memories.create("m" + uuid.uuid4().hex[:10], strategies=["semantic"], progress=quiet)
    say(memory, "I am allergic to shellfish.", "Noted.", actor="user")
    wait_until(lambda: list(memory.reader.records()))
    agent = bench.deploy("assistant_with_memory", name="rememberer", memory=memory)
    agent.invoke("What am I allergic to?")
    watched.ask("refresh", memory=memory.id)
    agents = watched.ask("answers", agent="rememberer")
    assert agents["agent"] == "rememberer"
    (answer,) = page(watched, "answers")
    assert answer["prompt"] == "What am I allergic to?"
    used = watched.ask("used", agent="rememberer", invocation=answer["id"])
    assert [row["text"] for row in used["rows"]] == ["The user is allergic to shellfish."]
    assert "Inferred" in used["note"]


def test_what_is_hostile_stays_text_and_what_is_missing_is_a_sentence(populated: Watched) -> None:
    html = populated.panel._repr_html_()
    assert "<img" not in html
    assert "anna" in html
    for name, form in (
        ("search", {"query": " "}),
        ("search", {"query": 7}),
        ("record", {"id": HOSTILE}),
        ("event", {"id": "none"}),
        ("choose_memory", {"memory": ["x"]}),
        ("used", {"agent": "nobody", "invocation": 1}),
        ("forget", {"actor": ""}),
    ):
        assert populated.ask(name, **form) == {"failed": True}, name
        assert populated.panel.error["what"]


def test_without_credentials_it_opens_and_reports_what_is_wrong(tmp_path: Path) -> None:
    with loom.connect("aws", region="eu-west-1", home=tmp_path) as bench:
        watched = Watched(loom_widgets.memory(bench))
        wait_until(lambda: watched.panel.error)
        assert watched.panel.error["try"]
        assert watched.ask("events") == {"failed": True}
        assert "No memory is chosen" in watched.panel.error["what"]
        assert "No memory yet" in watched.panel._repr_html_()
        watched.panel.close()
