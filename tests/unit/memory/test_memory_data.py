"""What is read, exported, forgotten, restored and tested for isolation, with templates of every form."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from healthy import scan
from memory_data import MemoryData

from loomlib.aws.memory_shapes import EXTRACTOR_KEY, SOURCE_EVENTS_KEY
from loomlib.errors import SettingsError
from loomlib.memory import MemoryReader, read_snapshot
from loomlib.memory.exchange import export_memory, preview_import
from loomlib.memory.forgetting import preview_forgetting
from loomlib.memory.health.strategies import find_unused
from loomlib.memory.isolation import check_isolation
from loomlib.memory.snapshots import take_snapshot
from loomlib.redaction import Redactor

KEY = "AKIA" + "QQQQWWWWEEEERRRR"


def test_a_record_that_may_be_of_an_actor_with_a_longer_id_is_not_forgotten() -> None:
    data = MemoryData()
    reader = data.reader("/facts/{actorId}-{sessionId}/")
    for actor in ("user", "user-1"):
        data.say("hi", actor)
        data.write(f"/facts/{actor}-s1/", f"a fact of {actor}")
    preview = preview_forgetting(reader, "user")
    assert (preview.records, preview.unsure) == (1, 1)
    assert preview.confirm().records == 1
    assert data.texts() == ["a fact of user-1"]


@pytest.mark.parametrize("actors", [None, ["anna"]])
def test_records_of_a_template_that_begins_with_the_actor_are_copied(tmp_path: Path, actors: list[str] | None) -> None:
    data = MemoryData()
    reader = data.reader("{actorId}/facts/")
    data.say("hi")
    data.write("anna/facts/", "The user lives in Berlin.")
    assert export_memory(reader, tmp_path / "m.jsonl", actors=actors, redactor=None).records == 1
    assert len(take_snapshot(reader).records) == len(list(reader.records(actor="anna"))) == 1


def test_namespace_keys_of_a_memory_are_placeholders() -> None:
    data = MemoryData()
    reader = data.reader("/{tenantId}/facts/{actorId}/")
    data.say("hi")
    data.write("/acme/facts/anna/", "The user lives in Berlin.")
    assert [record.text for record in reader.records(actor="anna")] == data.texts()
    assert preview_forgetting(reader, "anna").confirm().records == 1
    assert data.texts() == []


def age(tmp_path: Path) -> None:
    """Make the entries of the import's journal an hour older."""
    (journal,) = tmp_path.glob("*.imported")
    entries = [json.loads(line) for line in journal.read_text().splitlines() if line]
    journal.write_text("".join(json.dumps({**entry, "at": entry["at"] - 3600}) + "\n" for entry in entries))


def restored(reader: MemoryReader, path: Path) -> tuple[int, int]:
    result = preview_import(reader, path).confirm()
    assert result.is_complete
    return result.events, result.records


def test_what_was_restored_and_deleted_again_can_be_restored_again(tmp_path: Path) -> None:
    data, path = MemoryData(), tmp_path / "m.jsonl"
    reader = data.reader("/facts/{actorId}/")
    data.say("hi")
    data.write("/facts/anna/", "The user lives in Berlin.")
    data.write("other/anna/", "The user likes tea.")  # where no template of this memory leads
    export_memory(data.reader("/facts/{actorId}/", "other/{actorId}/"), path, redactor=None)
    data.clear()
    assert restored(reader, path) == (1, 2)
    assert "not listed" not in preview_import(reader, path).note()
    data.clear()
    assert "3 of the events and records" in preview_import(reader, path).note()
    assert restored(reader, path) == (0, 0)  # listings may be behind
    age(tmp_path)
    preview = preview_import(reader, path)
    assert [(result.events, result.records) for result in (preview.confirm(), preview.confirm())] == [(1, 2), (0, 0)]
    age(tmp_path)
    assert restored(reader, path) == (0, 0)
    assert (len(data.events), len(data.records)) == (1, 2)


def test_only_the_metadata_of_loom_is_exported_as_it_is(tmp_path: Path) -> None:
    data, path = MemoryData(), tmp_path / "m.jsonl"
    data.say("hi", metadata={"x-loom-note": {"stringValue": KEY}})
    kept = {SOURCE_EVENTS_KEY: {"stringListValue": ["0000001764000000000#0a1b2c3d"]}}
    for metadata in ({"x-loom-key": {"stringValue": KEY}, **kept}, {EXTRACTOR_KEY: {"stringValue": KEY}}):
        data.write("/facts/anna/", "The user likes tea.", metadata=metadata)
    export_memory(data.reader("/facts/{actorId}/"), path, redactor=Redactor())
    assert KEY not in path.read_text()
    records = [json.loads(line) for line in path.read_text().splitlines() if '"kind":"record"' in line]
    assert records[0]["metadata"][SOURCE_EVENTS_KEY] == kept[SOURCE_EVENTS_KEY]


def test_a_read_that_the_service_refuses_is_reported_as_not_checked() -> None:
    report = check_isolation(MemoryData(refuses_paths=True).reader("/facts/{actorId}/"), actors=3)
    assert not report.is_isolated
    assert "not checked: 3 reads rejected, the first: Retrieving memory records" in report.sentence()
    assert check_isolation(MemoryData().reader("/facts/{actorId}/"), actors=3).is_isolated


def test_events_of_sessions_whose_redacted_ids_are_the_same_are_all_counted() -> None:
    data = MemoryData()
    for actor, count in ((KEY, 3), ("AKIA" + "TTTTZZZZUUUUIIII", 1)):
        for _ in range(count):
            data.say("hi", actor)
    events = take_snapshot(data.reader()).events
    assert events is not None
    assert sum(events.values()) == 4


@pytest.mark.parametrize(("failed", "sentence"), [(200, "200 extractions"), (350, "at least 200 extractions")])
def test_a_number_of_failed_extractions_that_is_a_limit_says_so(failed: int, sentence: str) -> None:
    reader = MemoryData(failed_jobs=failed).reader("/facts/{actorId}/")
    findings = find_unused(scan(strategies=reader.memory.strategies), reader, extraction=timedelta(0))
    (finding,) = [finding for finding in findings if "failed" in finding.what]
    assert finding.what.startswith(f"{sentence} of s0 failed")


@pytest.mark.parametrize("days", [999_999_999, -999_999_999])
def test_a_duration_beyond_the_range_of_times_is_refused(days: int) -> None:
    with pytest.raises(ValueError, match="not between the years 1 and 9999"):
        list(MemoryData().reader().events(since=timedelta(days=days)))


def test_a_snapshot_with_an_infinite_count_is_refused(tmp_path: Path) -> None:
    data, path = MemoryData(), tmp_path / "snapshot.json"
    data.say("hi")
    take_snapshot(data.reader()).save(path)
    assert read_snapshot(path).events == {("anna", "s1"): 1}
    path.write_text(path.read_text().replace(", 1]", ", Infinity]"))
    with pytest.raises(SettingsError, match="not a snapshot"):
        read_snapshot(path)
