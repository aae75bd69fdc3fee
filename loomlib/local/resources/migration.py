"""Import of resources from homes of older releases: runtimes of `runtimes.db` and memories of `memory.db`.

The old tables are unchanged, so that the older release can still read them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from .records import ResourceRecord
from .store import ResourceStore

Imported = tuple[ResourceRecord, Sequence[ResourceRecord], Mapping[str, str]]


def import_older_databases(store: ResourceStore) -> None:
    """Import, once, what an older release stored in this home folder."""
    for name, tables, read in (
        ("runtimes.db", {"runtimes", "versions", "endpoints", "tags"}, _runtimes),
        ("memory.db", {"memories", "memory_tags"}, _memories),
    ):
        if not (path := store.home / name).is_file():
            continue
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            if tables <= {row["name"] for row in _rows(connection, "SELECT name FROM sqlite_master")}:
                store.import_once(name, read(connection))


def _runtimes(old: sqlite3.Connection) -> Iterator[Imported]:
    for row in _rows(old, "SELECT * FROM runtimes ORDER BY created_at"):
        region = row["arn"].split(":")[3]
        versions = [
            ResourceRecord(
                kind="AgentRuntime",
                region=region,
                id=row["id"],
                name=row["name"],
                arn=row["arn"],
                version=version["number"],
                document=json.loads(version["definition"]),
                internal={"overlay": version["overlay"]} if version["overlay"] else {},
                tokens={"create": (row["client_token"], "")} if row["client_token"] else {},
                created_at=datetime.fromisoformat(row["created_at"]),
                **_state(version),
            )
            for version in _rows(old, "SELECT * FROM versions WHERE runtime_id = :id ORDER BY number", id=row["id"])
        ]
        if not versions:
            continue
        yield versions[-1], versions, _tags(old, row["arn"])
        endpoints = "SELECT * FROM endpoints WHERE runtime_id = :id ORDER BY created_at, name"
        for endpoint in _rows(old, endpoints, id=row["id"]):
            arn = f"{row['arn']}/runtime-endpoint/{endpoint['name']}"
            document = {"targetVersion": str(endpoint["target"])}
            if endpoint["live"]:
                document["liveVersion"] = str(endpoint["live"])
            if endpoint["description"]:
                document["description"] = endpoint["description"]
            record = ResourceRecord(
                kind="AgentRuntimeEndpoint",
                region=region,
                parent=row["arn"],
                id=endpoint["id"],
                name=endpoint["name"],
                arn=arn,
                document=document,
                created_at=datetime.fromisoformat(endpoint["created_at"]),
                **_state(endpoint),
            )
            yield record, (), _tags(old, arn)


def _memories(old: sqlite3.Connection) -> Iterator[Imported]:
    apart = ("arn", "id", "name", "status", "createdAt", "updatedAt")
    for row in _rows(old, "SELECT * FROM memories ORDER BY number"):
        memory = json.loads(row["body"])
        digest = row["digest"].hex() if row["digest"] else ""
        record = ResourceRecord(
            kind="Memory",
            region=memory["arn"].split(":")[3],
            id=memory["id"],
            name=memory["name"],
            arn=memory["arn"],
            status=memory["status"],
            document={name: value for name, value in memory.items() if name not in apart},
            tokens={"create": (row["client_token"], digest)} if row["client_token"] else {},
            created_at=datetime.fromtimestamp(memory["createdAt"], UTC),
            updated_at=datetime.fromtimestamp(memory["updatedAt"], UTC),
        )
        tags = _rows(old, "SELECT name, value FROM memory_tags WHERE memory_id = :id", id=memory["id"])
        yield record, (), {tag["name"]: tag["value"] for tag in tags}


def _tags(old: sqlite3.Connection, arn: str) -> dict[str, str]:
    return {row["name"]: row["value"] for row in _rows(old, "SELECT name, value FROM tags WHERE arn = :arn", arn=arn)}


def _state(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "status": row["status"],
        "failure": row["failure"],
        "updated_at": datetime.fromisoformat(row["updated_at"]),
    }


def _rows(old: sqlite3.Connection, statement: str, **values: str) -> Sequence[sqlite3.Row]:
    return old.execute(statement, values).fetchall()
