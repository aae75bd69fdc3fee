"""Homes of an earlier release, whose tables name no tenant: what they hold belongs to none."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from loomlib.local.memory.records.store import LongTermRecord, RecordsStore, Scope
from loomlib.local.memory.store import MemoryStore
from loomlib.local.resources import ResourceRecord
from loomlib.local.resources.store import ResourceStore
from loomlib.local.tenancy import acting_for, sees_resource

TABLES = {"resources.db": ("resources",), "memory.db": ("sessions",), "memory-records.sqlite": ("records", "jobs")}


def fill(home: Path) -> None:
    moment = datetime.now(UTC)
    arn = "arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/m-0123456789"
    record = ResourceRecord(
        kind="Memory", region="us-east-1", id="m-0123456789", name="m", arn=arn, document={}, created_at=moment,
        updated_at=moment,
    )  # fmt: skip
    with contextlib.closing(ResourceStore(home)) as resources:
        resources.put([record])
        insert = "INSERT INTO sessions (memory_id, actor_id, session_id, created_at) VALUES ('m', 'a', 's', 1)"
        with contextlib.closing(MemoryStore(home)) as events:
            events.write_now(lambda connection: connection.execute(insert))
    with contextlib.closing(RecordsStore(home)) as records:
        memory_record = LongTermRecord(
            record_id="r", namespace="/", strategy_id="s", text="t", created_at=1, updated_at=1
        )
        records.put("m", memory_record, b"")


def test_what_an_earlier_release_stored_belongs_to_no_tenant(tmp_path: Path) -> None:
    fill(tmp_path)
    for file, tables in TABLES.items():
        with contextlib.closing(sqlite3.connect(tmp_path / file)) as connection:
            for table in tables:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN tenant")
            connection.commit()
    with contextlib.closing(ResourceStore(tmp_path)) as resources:
        (memory,) = resources.records("Memory")
        assert memory.tenant == ""
        with acting_for("a"):
            assert sees_resource(memory.tenant)  # it is shared
        with contextlib.closing(MemoryStore(tmp_path)) as events:
            rows = events.read_now(lambda connection: connection.execute("SELECT tenant FROM sessions").fetchall())
            assert [row["tenant"] for row in rows] == [""]
    with contextlib.closing(RecordsStore(tmp_path)) as records:
        assert [record.tenant for record in records.newest_first("m", Scope(), limit=9)] == [""]
        assert records.newest_first("m", Scope(tenant="a"), limit=9) == []
