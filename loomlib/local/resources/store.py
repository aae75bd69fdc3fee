"""`resources.db`: every resource of a home folder, read from memory and written through."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    create_engine,
    delete,
    event,
    select,
)
from sqlalchemy.dialects.sqlite import insert

from .attaching import FILE_NAME
from .records import ResourceRecord

_METADATA = MetaData()
_STATE = ("status", "failure", "document", "internal", "created_at", "updated_at")
"""Columns that a resource has of its newest version, and each version of its own."""


def _state_columns() -> list[Column[Any]]:
    names = ("status", "failure", "created_at", "updated_at")
    texts: list[Column[Any]] = [Column(name, Text, nullable=False) for name in names]
    return [*texts, Column("document", JSON, nullable=False), Column("internal", JSON, nullable=False)]


RESOURCES: Final = Table(
    "resources",
    _METADATA,
    Column("number", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("kind", "region", "parent", "id", "name")),
    Column("arn", Text, nullable=False, unique=True),
    Column("version", Integer, nullable=False),
    Column("tokens", JSON, nullable=False),
    *_state_columns(),
    sqlite_autoincrement=True,  # a number is a position in a list: it must not come back
)
VERSIONS: Final = Table(
    "versions",
    _METADATA,
    Column("resource", Integer, ForeignKey(RESOURCES.c.number, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_state_columns(),
)
TAGS: Final = Table(
    "tags",
    _METADATA,
    Column("arn", Text, ForeignKey(RESOURCES.c.arn, ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
IMPORTS: Final = Table("imports", _METADATA, Column("source", Text, primary_key=True))


class ResourceStore:
    """All resources of one home folder.

    Reads come from memory and are safe in any thread. Memory follows a write only when the database has taken it.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        engine = create_engine(f"sqlite:///{home / FILE_NAME}", connect_args={"check_same_thread": False})
        event.listen(engine, "connect", _configure)
        self._connection = engine.connect()
        self._writing = threading.Lock()
        self._records: dict[int, ResourceRecord] = {}
        self._versions: dict[int, dict[int, ResourceRecord]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        with self._connection.begin():
            _METADATA.create_all(self._connection)
        self.reload()

    def reload(self) -> None:
        """Read everything from the database again."""
        for table in (self._records, self._versions, self._numbers):
            table.clear()
        with self._connection.begin():
            for row in self._connection.execute(select(RESOURCES).order_by(RESOURCES.c.number)):
                self._hold(_record(row))
            for row in self._connection.execute(select(VERSIONS).order_by(VERSIONS.c.number)):
                resource = self._records[row.resource]
                self._versions[row.resource][row.number] = replace(resource, version=row.number, **_state(row))

    def close(self) -> None:
        """Close the database."""
        with self._writing:
            self._connection.close()
            self._connection.engine.dispose()

    # Reading

    def find(
        self, kind: str, region: str, key: str, *, parent: str = "", by_name: bool = False
    ) -> ResourceRecord | None:
        """Return a resource by its ARN, its id or, with `by_name`, its name."""
        if key.startswith("arn:"):
            record = self.of_arn(key)
            return record if record and record.kind == kind and record.region == region else None
        return self._record((kind, region, parent, "name" if by_name else "id", key))

    def of_arn(self, arn: str) -> ResourceRecord | None:
        """Return the resource of an ARN, wherever it is."""
        return self._record(("arn", arn))

    def of_id(self, kind: str, id: str) -> ResourceRecord | None:
        """Return the resource of a random id, wherever it is."""
        return self._record(("id", kind, id))

    def of_token(self, kind: str, region: str, token: str) -> ResourceRecord | None:
        """Return the resource that a request with this client token created."""
        return self._record(("token", kind, region, token))

    def records(self, kind: str, *, region: str | None = None, parent: str | None = None) -> list[ResourceRecord]:
        """Return the resources of a kind in the order of their creation.

        Args:
            kind: The resource's noun.
            region: Only this region's; None for all regions.
            parent: Only those below this ARN; None for all.
        """
        return [
            record
            for record in list(self._records.values())
            if record.kind == kind
            and (region is None or record.region == region)
            and (parent is None or record.parent == parent)
        ]

    def versions(self, record: ResourceRecord) -> list[ResourceRecord]:
        """Return the versions of a resource, the oldest first."""
        return list(self._versions.get(record.number, {}).values())

    def version(self, record: ResourceRecord, number: int) -> ResourceRecord | None:
        """Return one version of a resource: the resource as that version has it."""
        return self._versions.get(record.number, {}).get(number)

    def tags(self, arn: str) -> dict[str, str]:
        """Return the tags of a resource, by name."""
        with self._writing, self._connection.begin():
            rows = self._connection.execute(select(TAGS).where(TAGS.c.arn == arn).order_by(TAGS.c.name))
            return {row.name: row.value for row in rows}

    # Writing

    def put(self, records: Sequence[ResourceRecord], *, tags: Mapping[str, str] | None = None) -> list[ResourceRecord]:
        """Store records in one transaction, with `tags` for the first, and return them with their numbers.

        A record with a number replaces the one it was made from. Of a resource with versions, a record that is not
        the newest version changes that version alone.
        """
        with self._writing:
            stored: list[ResourceRecord] = []
            with self._connection.begin():
                for record in records:
                    stored.append(self._write(record))
                if tags:
                    self._write_tags(stored[0].arn, tags)
            for record in stored:
                self._hold(record)
            return stored

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags, or replace those of the same name."""
        with self._writing, self._connection.begin():
            self._write_tags(arn, tags)

    def untag(self, arn: str, names: Iterable[str]) -> None:
        """Remove tags by name."""
        with self._writing, self._connection.begin():
            self._connection.execute(delete(TAGS).where(TAGS.c.arn == arn, TAGS.c.name.in_(list(names))))

    def remove(self, record: ResourceRecord) -> None:
        """Remove a resource with its versions, its tags and everything below it."""
        with self._writing:
            removed = [record, *self._below(record)]
            with self._connection.begin():
                self._connection.execute(
                    delete(RESOURCES).where(RESOURCES.c.number.in_([item.number for item in removed]))
                )
            for item in removed:
                self._drop(item)

    def remove_version(self, record: ResourceRecord, number: int) -> None:
        """Remove one version of a resource."""
        with self._writing:
            with self._connection.begin():
                self._connection.execute(
                    delete(VERSIONS).where(VERSIONS.c.resource == record.number, VERSIONS.c.number == number)
                )
            self._versions[record.number].pop(number, None)

    def import_once(
        self, source: str, records: Iterable[tuple[ResourceRecord, Sequence[ResourceRecord], Mapping[str, str]]]
    ) -> bool:
        """Store the records of another database, each with its versions and tags, unless it was done before.

        Returns:
            Whether this call imported them.
        """
        with self._writing:
            with self._connection.begin():
                if self._connection.execute(select(IMPORTS).where(IMPORTS.c.source == source)).first():
                    return False
                for record, versions, tags in records:
                    stored = self._write(record)
                    for version in versions:
                        self._write_version(replace(version, number=stored.number))
                    self._write_tags(stored.arn, tags)
                self._connection.execute(insert(IMPORTS).values(source=source))
            self.reload()
            return True

    def _write(self, record: ResourceRecord) -> ResourceRecord:
        newest = self._records.get(record.number)
        if newest is None or record.version >= newest.version:
            values = {**_row(record), "tokens": record.tokens, "version": record.version}
            values |= {name: getattr(record, name) for name in ("kind", "region", "parent", "id", "name", "arn")}
            if record.number:
                values["number"] = record.number
            statement = insert(RESOURCES).values(values)
            # Not REPLACE: replacing a row would delete its versions and tags with it.
            statement = statement.on_conflict_do_update(index_elements=["number"], set_=values)
            key = self._connection.execute(statement).inserted_primary_key
            record = replace(record, number=record.number or (key[0] if key else 0))
        if record.version:
            self._write_version(record)
        return record

    def _write_version(self, record: ResourceRecord) -> None:
        values = _row(record)
        statement = insert(VERSIONS).values(resource=record.number, number=record.version, **values)
        self._connection.execute(statement.on_conflict_do_update(index_elements=["resource", "number"], set_=values))

    def _write_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        for name, value in tags.items():
            statement = insert(TAGS).values(arn=arn, name=name, value=value)
            self._connection.execute(
                statement.on_conflict_do_update(index_elements=["arn", "name"], set_={"value": value})
            )

    def _record(self, key: tuple[str, ...]) -> ResourceRecord | None:
        number = self._numbers.get(key)
        return None if number is None else self._records.get(number)

    def _hold(self, record: ResourceRecord) -> None:
        versions = self._versions.setdefault(record.number, {})
        if record.version:
            versions[record.version] = record
        former = self._records.get(record.number)
        if former is None or record.version >= former.version:
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


def _configure(connection: sqlite3.Connection, _: object) -> None:
    # FULL: with less, an acknowledged resource outlives a killed process but not a power cut.
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL;")


def _keys(record: ResourceRecord) -> Iterator[tuple[str, ...]]:
    place = (record.kind, record.region, record.parent)
    yield (*place, "id", record.id)
    yield (*place, "name", record.name)
    yield ("arn", record.arn)
    yield ("id", record.kind, record.id)
    if token := record.tokens.get("create"):
        yield ("token", record.kind, record.region, token[0])


def _row(record: ResourceRecord) -> dict[str, Any]:
    times = {name: getattr(record, name).isoformat() for name in ("created_at", "updated_at")}
    return {name: getattr(record, name) for name in _STATE} | times


def _state(row: Row[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(row, name) for name in _STATE}
    return values | {name: datetime.fromisoformat(values[name]) for name in ("created_at", "updated_at")}


def _record(row: Row[Any]) -> ResourceRecord:
    values: dict[str, Any] = {item.name: getattr(row, item.name) for item in fields(ResourceRecord)}
    tokens = cast("Mapping[str, list[str]]", values["tokens"])
    values["tokens"] = {name: (pair[0], pair[1]) for name, pair in tokens.items()}
    return ResourceRecord(**values | _state(row))
