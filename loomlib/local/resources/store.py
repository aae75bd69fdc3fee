"""`resources.db`: every resource of a home folder, read from memory and written through.

The statements are plain SQL: importing SQLAlchemy took a quarter of the processor time that the service needs to start
(0.17 of 0.7 s).
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..tenancy import sees_resource
from .attaching import FILE_NAME
from .naming import Place
from .records import ResourceRecord

_log = logging.getLogger(__name__)
_STATE_COLUMNS: Final = (
    "status TEXT NOT NULL, failure TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, "
    "document JSON NOT NULL, internal JSON NOT NULL"
)
"""Columns of a resource for its newest version, and of each version."""
# AUTOINCREMENT: a number is a position in a list, so it must not be reused.
# synchronous=FULL: otherwise an acknowledged resource would survive a killed process but not a power failure.
_SCHEMA: Final = f"""
PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS resources (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, region TEXT NOT NULL, parent TEXT NOT NULL,
    id TEXT NOT NULL, name TEXT NOT NULL, arn TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, tokens JSON NOT NULL,
    {_STATE_COLUMNS}, tenant TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS versions (
    resource INTEGER NOT NULL REFERENCES resources (number) ON DELETE CASCADE, number INTEGER NOT NULL,
    {_STATE_COLUMNS}, PRIMARY KEY (resource, number));
CREATE TABLE IF NOT EXISTS tags (
    arn TEXT NOT NULL REFERENCES resources (arn) ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (arn, name));
CREATE TABLE IF NOT EXISTS imports (source TEXT NOT NULL PRIMARY KEY);
"""


class ResourceStore:
    """All resources of one home folder.

    Reads come from memory and are safe in any thread. Memory is updated only after the database has committed a write.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._connection = sqlite3.connect(home / FILE_NAME, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(_SCHEMA)
        columns = self._connection.execute("PRAGMA table_info(resources)").fetchall()
        if all(column["name"] != "tenant" for column in columns):  # of an earlier release
            self._connection.execute("ALTER TABLE resources ADD COLUMN tenant TEXT NOT NULL DEFAULT ''")
        self._writing = threading.Lock()
        self._records: dict[int, ResourceRecord] = {}
        self._versions: dict[int, dict[int, ResourceRecord]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        self.reload()

    def reload(self) -> None:
        """Read all resources from the database again."""
        for table in (self._records, self._versions, self._numbers):
            table.clear()
        for row in self._connection.execute("SELECT * FROM resources ORDER BY number"):
            with _sound(row["arn"]):
                self._hold(_record(row))
        for row in self._connection.execute("SELECT * FROM versions ORDER BY number"):
            number, version = row["resource"], row["number"]
            with _sound(f"version {version} of resource {number}"):
                self._versions[number][version] = replace(self._records[number], version=version, **_state(row))

    def close(self) -> None:
        """Close the database."""
        with self._writing:
            self._connection.close()

    # Reading

    def find(
        self, kind: str, place: Place, key: str, *, parent: str = "", by_name: bool = False
    ) -> ResourceRecord | None:
        """Return a resource of a place by its ARN, its id or its name.

        Args:
            kind: The noun of the resource's declaration.
            place: Region and account.
            key: The ARN, or the id.
            parent: The ARN of the resource that it belongs to.
            by_name: Whether `key` is a name instead of an id.
        """
        if key.startswith("arn:"):
            record = self.of_arn(key)
            return record if record and record.kind == kind and record.place == place else None
        return self._record((kind, *place, parent, "name" if by_name else "id", key))

    def visible(
        self, kind: str, place: Place, key: str, *, parent: str = "", by_name: bool = False
    ) -> ResourceRecord | None:
        """Return the result of `find`, unless it belongs to a tenant other than that of the current request."""
        record = self.find(kind, place, key, parent=parent, by_name=by_name)
        return record if record is not None and sees_resource(record.tenant) else None

    def of_arn(self, arn: str) -> ResourceRecord | None:
        """Return the resource with an ARN, in any place."""
        return self._record(("arn", arn))

    def of_id(self, kind: str, id: str) -> ResourceRecord | None:
        """Return the resource with an id, in any place."""
        return self._record(("id", kind, id))

    def of_token(self, kind: str, place: Place, token: str) -> ResourceRecord | None:
        """Return the resource that a request with this client token created.

        Args:
            kind: The noun of the resource's declaration.
            place: Region and account.
            token: The client token of the request that created it.
        """
        return self._record(("token", kind, *place, token))

    def records(self, kind: str, *, place: Place | None = None, parent: str | None = None) -> list[ResourceRecord]:
        """Return the resources of a kind, oldest first.

        Args:
            kind: The resource's noun.
            place: Only those of this region and account; None for all.
            parent: Only those below this ARN; None for all.
        """
        return [
            record
            for record in list(self._records.values())
            if record.kind == kind
            and (place is None or record.place == place)
            and (parent is None or record.parent == parent)
        ]

    def versions(self, record: ResourceRecord) -> list[ResourceRecord]:
        """Return the versions of a resource, the oldest first."""
        return list(self._versions.get(record.number, {}).values())

    def version(self, record: ResourceRecord, number: int) -> ResourceRecord | None:
        """Return the resource as it was in one version."""
        return self._versions.get(record.number, {}).get(number)

    def tags(self, arn: str) -> dict[str, str]:
        """Return the tags of a resource, by name."""
        with self._writing:
            rows = self._connection.execute("SELECT name, value FROM tags WHERE arn = ? ORDER BY name", (arn,))
            return dict(map(tuple, rows))

    # Writing

    def put(self, records: Sequence[ResourceRecord], *, tags: Mapping[str, str] | None = None) -> list[ResourceRecord]:
        """Store records in one transaction, with `tags` for the first; return them with their numbers.

        A record with a number replaces the one from which it was created. For a resource with versions, a record that
        is not the newest version changes that version only.
        """
        with self._writing:
            stored: list[ResourceRecord] = []
            with self._connection:
                for record in records:
                    stored.append(self._write(record))
                if tags:
                    self._write_tags(stored[0].arn, tags)
            for record in stored:
                self._hold(record)
            return stored

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags, or replace tags with the same key."""
        with self._writing, self._connection:
            self._write_tags(arn, tags)

    def untag(self, arn: str, names: Iterable[str]) -> None:
        """Remove tags by name."""
        with self._writing, self._connection:
            self._connection.executemany("DELETE FROM tags WHERE arn = ? AND name = ?", [(arn, name) for name in names])

    def remove(self, record: ResourceRecord) -> None:
        """Delete a resource with its versions, its tags and its children."""
        with self._writing:
            removed = [record, *self._below(record)]
            with self._connection:
                self._connection.executemany(
                    "DELETE FROM resources WHERE number = ?", [(item.number,) for item in removed]
                )
            for item in removed:
                self._drop(item)

    def remove_version(self, record: ResourceRecord, number: int) -> None:
        """Remove one version of a resource."""
        with self._writing:
            with self._connection:
                self._connection.execute(
                    "DELETE FROM versions WHERE resource = ? AND number = ?", (record.number, number)
                )
            self._versions[record.number].pop(number, None)

    def import_once(
        self, source: str, records: Iterable[tuple[ResourceRecord, Sequence[ResourceRecord], Mapping[str, str]]]
    ) -> bool:
        """Import another database's records, each with its versions and tags, unless they were imported before.

        Returns:
            Whether this call imported them.
        """
        with self._writing:
            with self._connection:
                if self._connection.execute("SELECT 1 FROM imports WHERE source = ?", (source,)).fetchone():
                    return False
                for record, versions, tags in records:
                    stored = self._write(record)
                    for version in versions:
                        self._write_version(replace(version, number=stored.number))
                    self._write_tags(stored.arn, tags)
                self._connection.execute("INSERT INTO imports VALUES (?)", (source,))
            self.reload()
            return True

    def _write(self, record: ResourceRecord) -> ResourceRecord:
        newest = self._records.get(record.number)
        if newest is None or record.version >= newest.version:
            values = _row(record) | {"tokens": json.dumps(record.tokens), "version": record.version}
            values |= {
                name: getattr(record, name) for name in ("kind", "region", "parent", "id", "name", "arn", "tenant")
            }
            number = self._upsert("resources", values | {"number": record.number or None}, "number")
            record = replace(record, number=record.number or number)
        if record.version:
            self._write_version(record)
        return record

    def _write_version(self, record: ResourceRecord) -> None:
        values = {"resource": record.number, "number": record.version, **_row(record)}
        self._upsert("versions", values, "resource, number")

    def _write_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        for name, value in tags.items():
            self._upsert("tags", {"arn": arn, "name": name, "value": value}, "arn, name")

    def _upsert(self, table: str, values: Mapping[str, Any], key: str) -> int:
        """Insert a row, or update the one with the same key; return an inserted row's number."""
        # Not REPLACE: replacing a row would delete its versions and tags with it.
        statement = (
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)}) "  # noqa: S608
            f"ON CONFLICT ({key}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in values)}"
        )
        return self._connection.execute(statement, values).lastrowid or 0

    def _record(self, key: tuple[str, ...]) -> ResourceRecord | None:
        number = self._numbers.get(key)
        return None if number is None else self._records.get(number)

    def _hold(self, record: ResourceRecord) -> None:
        versions = self._versions.setdefault(record.number, {})
        if record.version:
            versions[record.version] = record
        former = self._records.get(record.number)
        if former is None or record.version >= former.version:
            for key in _keys(former) if former is not None and former.name != record.name else ():
                self._numbers.pop(key, None)
            self._records[record.number] = record
            for key in _keys(record):
                self._numbers[key] = record.number

    def _drop(self, record: ResourceRecord) -> None:
        self._records.pop(record.number, None)
        self._versions.pop(record.number, None)
        for key in _keys(record):
            self._numbers.pop(key, None)

    def _below(self, record: ResourceRecord) -> Iterator[ResourceRecord]:
        for child in list(self._records.values()):
            if child.parent == record.arn:
                yield child
                yield from self._below(child)


@contextlib.contextmanager
def _sound(description: str) -> Generator[None]:
    """Log a stored record that is invalid, and continue without it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError):
        _log.exception("A damaged record in %s is left out: %s", FILE_NAME, description)


def _keys(record: ResourceRecord) -> Iterator[tuple[str, ...]]:
    within = (record.kind, *record.place, record.parent)
    yield (*within, "id", record.id)
    yield (*within, "name", record.name)
    yield ("arn", record.arn)
    yield ("id", record.kind, record.id)
    if token := record.tokens.get("create"):
        yield ("token", record.kind, *record.place, token[0])


def _row(record: ResourceRecord) -> dict[str, Any]:
    return {
        "status": record.status,
        "failure": record.failure,
        "document": json.dumps(record.document),
        "internal": json.dumps(record.internal),
        "created_at": record.created_at.isoformat(),
        "updated_at": record.updated_at.isoformat(),
    }


def _state(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "status": row["status"],
        "failure": row["failure"],
        "document": json.loads(row["document"]),
        "internal": json.loads(row["internal"]),
        "created_at": datetime.fromisoformat(row["created_at"]),
        "updated_at": datetime.fromisoformat(row["updated_at"]),
    }


def _record(row: sqlite3.Row) -> ResourceRecord:
    values: dict[str, Any] = {item.name: row[item.name] for item in fields(ResourceRecord)}
    values["tokens"] = {name: (pair[0], pair[1]) for name, pair in json.loads(row["tokens"]).items()}
    return ResourceRecord(**values | _state(row))
