"""A memory's health, copies, forgetting, diff and isolation, through the workbench over HTTP."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inspected import new_memory, say, write
from waiting import wait_until

import loomlib as loom
from loomlib.errors import LoomError, SettingsError
from loomlib.memory import read_snapshot
from loomlib.memory.isolation.scratch import ScratchData
from loomlib.memory.isolation.subjects import subjects
from loomlib.workbench.memory import Memory

KEY = "AKIA" + "QQQQWWWWEEEERRRR"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CARD = "4111 1111 1111 1111"
SHARED = {"semanticMemoryStrategy": {"name": "shared", "namespaceTemplates": ["/shared/"]}}
OPEN = {"semanticMemoryStrategy": {"name": "open", "namespaceTemplates": ["/open/{actorId}"]}}


def until(memory: Memory, actor: str, count: int) -> None:
    wait_until(lambda: len(memory.records(actor=actor)) >= count, what=f"{count} records of {actor}")


def planted(memory: Memory) -> None:
    """Secrets in every place that an export has."""
    say(memory, f"my key is {KEY}", "I will forget it.", actor="anna", session="s1", extractionMode="SKIP")
    data = memory.reader.clients.data()
    blob = json.dumps({"message": {"content": [{"text": f"card {CARD}"}], "api_key": "hidden-in-a-field"}})
    data.create_event(
        memoryId=memory.id,
        actorId="anna",
        sessionId=TOKEN,
        eventTimestamp=datetime.now(UTC),
        payload=[{"blob": blob}, {"blob": {"password": "correct-horse-battery"}}],
        metadata={"contact": {"stringValue": "ann@example.org"}, "accessToken": {"stringValue": "plain-words-here"}},
        extractionMode="SKIP",
    )
    write(memory, "/facts/anna/", f"The user's token is {TOKEN}.", "The user writes from ann@example.org.")


SECRETS = (KEY, TOKEN, CARD, "hidden-in-a-field", "correct-horse-battery", "ann@example.org", "plain-words-here")


def test_health_finds_a_withdrawn_fact_in_the_summary_of_the_session_that_stated_it(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, "semantic", "summary")
    say(memory, "I live in Berlin.", "Noted.", session="s1")
    until(memory, "anna", 2)  # the fact and the summary
    withdrawn = say(memory, "I no longer live in Berlin.", "Noted.", session="s2")

    def texts() -> list[str]:
        return [record.text for record in memory.iter_records()]

    wait_until(lambda: "The user lives in Berlin." not in texts(), what="the record of the fact is deleted")
    [summary] = [record for record in memory.iter_records() if "lives in Berlin" in record.text]
    report = memory.health(extraction=timedelta(0), now=datetime.now(UTC) + timedelta(seconds=5))
    [finding] = [finding for finding in report.findings if "withdrew" in finding.what]
    assert {evidence.id for evidence in finding.evidence} == {summary.record_id, withdrawn}


def test_health_finds_what_is_planted_and_nothing_in_a_healthy_memory(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, "semantic")
    say(memory, "I live in Berlin.")
    until(memory, "anna", 1)
    assert memory.health().findings == ()
    planted(memory)
    write(memory, "/facts/anna/", "The user plays chess.", "The user plays chess!", "The user lives in Rome.")
    report = memory.health()
    assert report.counts().keys() >= {"secret", "personal_data", "contradiction", "duplicate"}
    assert not report.crossings
    output = repr(report) + report._repr_html_() + report.frame().to_csv()
    assert not [secret for secret in SECRETS if secret in output]
    assert "list prices of" in repr(report)


def test_health_reports_a_namespace_shared_by_all_actors(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, SHARED)
    write(memory, "/shared/", "Nothing of note.")
    say(memory, "Hello.", actor="t1:anna", extractionMode="SKIP")
    assert {finding.severity for finding in memory.health().of("leak")} == {"warning"}
    for actor in ("t1:anna", "t2:bert"):
        event_id = say(memory, "I live in Berlin.", actor=actor, extractionMode="SKIP")
        assert event_id
    strategy = memory.description.strategies[0].strategy_id
    memory.reader.clients.data().batch_create_memory_records(
        memoryId=memory.id,
        records=[{"requestIdentifier": "r", "namespaces": ["/shared/"], "content": {"text": "Home is Berlin."},
                  "timestamp": datetime.now(UTC), "memoryStrategyId": strategy}],
    )  # fmt: skip
    (crossing,) = memory.health().crossings
    assert crossing.crosses_tenants


def test_an_export_has_no_planted_secret_and_can_be_imported_elsewhere(memory_bench: loom.Workbench, tmp_path: Path):
    memory, other = (new_memory(memory_bench, "semantic") for _ in range(2))
    planted(memory)
    first = say(memory, "one", "two", actor="bert", session="b", extractionMode="SKIP")
    fork = {"name": "fork", "rootEventId": first}
    say(memory, "on the fork", actor="bert", session="b", branch=fork, extractionMode="SKIP")
    path = tmp_path / "memory.jsonl"
    export = memory.export(path)
    text = path.read_text()
    assert not [secret for secret in SECRETS if secret in text]
    assert (export.events, export.records, export.actors) == (4, 2, 2)
    assert export.redactions
    if os.name == "posix":
        assert path.stat().st_mode & 0o77 == 0
    lines = [json.loads(line) for line in text.splitlines()]
    assert (lines[0]["kind"], lines[-1]["kind"]) == ("manifest", "end")

    preview = other.import_(path)
    assert (preview.events, preview.records) == (4, 2)
    assert len(other.events()) == 0
    assert preview.confirm().is_complete
    assert sorted(other.events("bert")["text"]) == ["on the fork", "one\ntwo"]
    assert list(other.events("bert", session="b", branch="fork")["text"]) == ["on the fork", "one\ntwo"]
    assert len(other.records(actor="anna")) == 2
    again = other.import_(path)
    assert (again.events, again.records) == (0, 0)
    again.confirm()
    assert len(other.events()) == 4
    assert len(other.records()) == 2


def test_an_import_resumes_where_it_stopped_and_imports_nothing_twice(memory_bench: loom.Workbench, tmp_path: Path):
    memory, other = (new_memory(memory_bench, "semantic") for _ in range(2))
    for number in range(12):
        say(memory, f"number {number}", extractionMode="SKIP")
    write(memory, "/facts/anna/", *(f"The user has seen film {number}." for number in range(12)))
    path = tmp_path / "memory.jsonl"
    memory.export(path, redact=False)

    class StoppedError(Exception):
        pass

    def stop(line: str) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        other.import_(path).confirm(progress=stop)
    journal = next(tmp_path.glob("*.imported"))
    first_lines = journal.read_text().splitlines()[:5]
    journal.write_text("\n".join(first_lines) + '\n{"of": "to')  # killed while it wrote the sixth
    assert other.import_(path).confirm().is_complete
    journal.unlink()  # the service itself knows the tokens
    other.import_(path).confirm()
    assert sorted(other.events()["text"]) == sorted(memory.events()["text"])
    assert sorted(other.records()["text"]) == sorted(memory.records()["text"])


def test_an_import_keeps_the_order_of_events_with_one_timestamp(memory_bench: loom.Workbench, tmp_path: Path):
    memory, other = (new_memory(memory_bench) for _ in range(2))
    moment = datetime.now(UTC)
    for number in range(10):
        say(memory, f"at once {number}", eventTimestamp=moment, session=f"s{number % 2}")
    for number in range(70):
        say(memory, f"later {number}", eventTimestamp=moment + timedelta(seconds=number + 1))
    memory.export(tmp_path / "m.jsonl", redact=False)
    lines: list[str] = []
    assert other.import_(tmp_path / "m.jsonl").confirm(progress=lines.append).is_complete
    for session in ("s0", "s1"):
        assert list(other.events("anna", session=session)["text"]) == list(
            memory.events("anna", session=session)["text"]
        )


def test_importing_an_export_into_its_own_memory_duplicates_nothing(memory_bench: loom.Workbench, tmp_path: Path):
    memory = new_memory(memory_bench, "semantic")
    planted(memory)
    memory.export(tmp_path / "m.jsonl", redact=False)
    assert "NOT redacted" in repr(memory.import_(tmp_path / "m.jsonl"))
    assert memory.import_(tmp_path / "m.jsonl").confirm().events == 0
    memory.forget("anna").confirm()
    assert memory.import_(tmp_path / "m.jsonl").confirm().events == 2
    assert KEY in "".join(memory.events("anna")["text"])


def test_a_file_that_is_not_an_export_or_was_changed_is_refused(memory_bench: loom.Workbench, tmp_path: Path):
    memory = new_memory(memory_bench)
    say(memory, "hello")
    path = tmp_path / "m.jsonl"
    memory.export(path)
    for name, content in {
        "no": b"hello", "other": b"{}\n", "cut": b"".join(path.read_bytes().splitlines(True)[:-1]),
        "changed": path.read_bytes().replace(b"hello", b"hullo"), "binary": b"\xff\x00",
        "nested": path.read_bytes() + b'{"a":' * 2_000,
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SettingsError, match="export"):
            memory.import_(tmp_path / name)
    with pytest.raises(SettingsError, match="export"):
        memory.import_(tmp_path / "missing")


def test_the_error_of_a_handmade_export_names_what_is_missing_and_where(memory_bench: loom.Workbench, tmp_path: Path):
    memory = new_memory(memory_bench, "semantic")
    say(memory, "hello")
    write(memory, "/facts/anna/", "The user plays chess.")
    path = tmp_path / "m.jsonl"
    memory.export(path)
    export_lines = [json.loads(line) for line in path.read_text().splitlines()]
    defects = [
        *[(0, "memory", value) for value in (None, "assistant")],
        *[(1, name, value) for name in ("eventId", "actorId", "sessionId", "eventTimestamp") for value in (None, 5)],
        *[(1, "payload", value) for value in (None, "hello", [5])],
        *[(1, "branch", value) for value in ("fork", {"name": ""})],
        *[(1, "metadata", value) for value in (["food"], {"topic": "food"}, {"topic": {}})],
        *[(2, name, value) for name in ("memoryRecordId", "text", "createdAt") for value in (None, 5)],
        *[(2, "namespaces", value) for value in (None, "/facts/anna/", [5])],
        (0, "strategies", [{"name": "semantic"}]),
    ]
    for at, name, value in defects:
        lines = [dict(line) for line in export_lines[:-1]]
        lines[at] = {key: field for key, field in {**lines[at], name: value}.items() if field is not None}
        body = "".join(json.dumps(line) + "\n" for line in lines)
        end = {"kind": "end", "sha256": hashlib.sha256(body.encode()).hexdigest()}
        path.write_text(body + json.dumps(end) + "\n")
        with pytest.raises(SettingsError, match=rf"^The export's (manifest|event|record) has .*{name}") as refused:
            memory.import_(path)
        assert name in refused.value.try_
        assert str(path) in refused.value.on
        assert at == 0 or refused.value.on.endswith(f"line {at + 1}")


def test_a_file_that_cannot_be_written_is_a_plain_error(memory_bench: loom.Workbench, tmp_path: Path):
    memory = new_memory(memory_bench, "semantic")
    for write_to in (memory.export, memory.snapshot(events=False).save):
        with pytest.raises(LoomError, match="cannot be written") as failed:
            write_to(tmp_path / "none" / "file")
        assert failed.value.on
        assert failed.value.try_
    file = tmp_path / "copy.jsonl"
    memory.export(file)
    preview = memory.import_(file)
    (tmp_path / f"copy.jsonl.{memory.id}.imported").mkdir()
    with pytest.raises(LoomError, match="cannot be written"):
        preview.confirm()


def test_forgetting_is_previewed_done_and_verified(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, "semantic", "summary", SHARED)
    for actor in ("user-1", "user-10", "user-1/b"):
        for number in range(3):
            say(memory, f"I live in Berlin {number}.", actor=actor, session=f"s{number}", extractionMode="SKIP")
        write(memory, f"/facts/{actor}/", f"Something of {actor}, and {KEY}.")
        write(memory, f"/summaries/{actor}/s1/", f"A summary of {actor}.")
    write(memory, "/shared/", "Nobody's.")
    preview = memory.forget("user-1")
    assert (preview.events, preview.records) == (3, 2)
    assert KEY not in repr(preview) + preview._repr_html_()
    assert "/shared/" in repr(preview)
    assert len(memory.events("user-1")) == 3
    progress: list[str] = []
    deletion = preview.confirm(progress=progress.append)
    assert (deletion.events, deletion.records, deletion.is_verified) == (3, 2, True)
    assert progress
    assert "backups" in repr(deletion)
    assert len(memory.events("user-1")) == 0
    assert len(memory.records(actor="user-1")) == 0
    assert len(memory.sessions("user-1")) == 3  # as on AWS: they stay listed for a while
    for actor in ("user-10", "user-1/b"):
        assert len(memory.events(actor)) == 3
        assert len(memory.records(f"/facts/{actor}/")) == 1
    assert len(memory.records("/shared/")) == 1
    assert "Nothing of user-1" in repr(memory.forget("user-1"))
    assert deletion.verify().is_verified


def test_forgetting_deletes_records_extracted_from_the_actors_events(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, SHARED)
    for actor in ("anna", "bert"):
        say(memory, f"I live in {'Berlin' if actor == 'anna' else 'Rome'}.", actor=actor)
    wait_until(lambda: any("Rome" in text for text in memory.records("/shared/")["text"]))
    before = set(memory.records("/shared/")["text"])
    memory.forget("bert").confirm()
    assert set(memory.records("/shared/")["text"]) == {text for text in before if "Rome" not in text}


def test_two_snapshots_are_compared_by_namespace(memory_bench: loom.Workbench, tmp_path: Path):
    memory = new_memory(memory_bench, "semantic")
    ids = write(memory, "/facts/anna/", "The user lives in Berlin.", "The user likes <b>tea</b>.")
    before = memory.snapshot()
    before.save(tmp_path / "before.json")
    write(memory, "/facts/bert/", f"The user's key is {KEY}.")
    say(memory, "Hello.", extractionMode="SKIP")
    data = memory.reader.clients.data()
    later = datetime.now(UTC) + timedelta(seconds=5)
    data.batch_update_memory_records(
        memoryId=memory.id,
        records=[{"memoryRecordId": ids[0], "timestamp": later, "content": {"text": "The user lives in Rome."}}],
    )
    data.delete_memory_record(memoryId=memory.id, memoryRecordId=ids[1])
    diff = memory.diff(before)
    assert diff.counts() == {"/facts/anna/": {"updated": 1, "deleted": 1}, "/facts/bert/": {"created": 1}}
    assert "1 event added" in diff.note()
    assert KEY not in repr(diff) + diff._repr_html_()
    assert "<b>" not in diff._repr_html_()
    assert memory.diff(tmp_path / "before.json").counts() == diff.counts()
    assert read_snapshot(tmp_path / "before.json") == before
    assert len(memory.diff(diff.after, diff.after)) == 0
    with pytest.raises(ValueError, match="two memories"):
        new_memory(memory_bench).diff(before)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_usual_patterns_keep_actors_and_tenants_apart(memory_bench: loom.Workbench, seed: int):
    memory = new_memory(memory_bench, "semantic", "summary")
    say(memory, "I live in Berlin.", extractionMode="SKIP")
    before = memory.snapshot()
    report = memory.check_isolation(seed=seed)
    assert report.is_isolated, repr(report)
    assert report.left_behind == ()
    assert len(memory.diff(before)) == 0
    assert memory.check_isolation(["/{tenantId}/{userId}/facts/"], seed=seed).is_isolated


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("/shared/", "name the actor"),
        ("/facts/{userId}/", "between slashes"),
        ("/facts/{tenantId}-{userId}/", "between slashes"),
    ],
)
def test_patterns_that_mix_tenants_up_are_found_with_the_call(memory_bench: loom.Workbench, pattern: str, fix: str):
    memory = new_memory(memory_bench)
    report = memory.check_isolation([pattern], actors=8)
    assert report.across_tenants
    assert not report.is_isolated
    assert "list_memory_records(memoryId=" in report.crossings[0].call
    crossed = int(report.sentence().partition(" of them returned")[0].rpartition(" ")[2])
    assert 0 < crossed <= report.reads
    assert fix in report.crossings[0].fix
    assert len(memory.records()) == 0


def test_ids_with_slashes_are_folders_of_each_other(memory_bench: loom.Workbench):
    report = new_memory(memory_bench).check_isolation(["/facts/{actorId}/"], slashes=True)
    assert {crossing.call.partition("(")[0] for crossing in report.crossings} == {
        "list_memory_records",
        "retrieve_memory_records",
    }
    assert all("namespacePath" in crossing.call for crossing in report.crossings)


def test_an_event_whose_answer_never_came_is_taken_away_too(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench, "semantic")
    people = subjects(0, 3, "gone-")
    scratch = ScratchData(memory.reader, "/gone")
    scratch.write_events(people, "gone")
    lost = next(iter(scratch.events))
    del scratch.events[lost]
    assert scratch.clean() == []
    for who in people:
        assert not list(memory.reader.events(who.actor_id))


def test_a_pattern_that_nobody_can_fill_in_is_refused_before_anything_is_written(memory_bench: loom.Workbench):
    memory = new_memory(memory_bench)
    with pytest.raises(ValueError, match="not a placeholder"):
        memory.check_isolation(["/facts/{actor}/"])
    with pytest.raises(ValueError, match="actors"):
        memory.check_isolation(actors=1)
