"""The runtimes that were created here, their versions and endpoints, kept in SQLite to outlive the service."""

from __future__ import annotations

import json
import secrets
import sqlite3
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DEFAULT_ENDPOINT = "DEFAULT"
_ALPHANUMERIC = string.ascii_letters + string.digits
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runtimes (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, arn TEXT NOT NULL, created_at TEXT NOT NULL, client_token TEXT);
CREATE TABLE IF NOT EXISTS versions (
    runtime_id TEXT NOT NULL REFERENCES runtimes ON DELETE CASCADE, number INTEGER NOT NULL, status TEXT NOT NULL,
    failure TEXT NOT NULL, definition TEXT NOT NULL, overlay TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    PRIMARY KEY (runtime_id, number));
CREATE TABLE IF NOT EXISTS endpoints (
    runtime_id TEXT NOT NULL REFERENCES runtimes ON DELETE CASCADE, name TEXT NOT NULL, id TEXT NOT NULL,
    live INTEGER, target INTEGER NOT NULL, status TEXT NOT NULL, failure TEXT NOT NULL, description TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (runtime_id, name));
CREATE TABLE IF NOT EXISTS tags (arn TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (arn, name));
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A created runtime. Everything that changes is in its versions and endpoints."""

    id: str
    name: str
    arn: str
    created_at: datetime
    client_token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a runtime: `definition` is what CreateAgentRuntime or UpdateAgentRuntime was given."""

    runtime_id: str
    number: int
    status: str
    failure: str = ""
    definition: Mapping[str, Any] = field(repr=False)
    overlay: Path | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def is_ready(self) -> bool:
        return self.status == "READY"

    @property
    def is_being_made(self) -> bool:
        return self.status in ("CREATING", "UPDATING")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A named pointer to a version. `live` serves calls, `target` is where it is heading; both are version numbers."""

    runtime_id: str
    name: str
    id: str
    live: int | None
    target: int
    status: str
    failure: str = ""
    description: str = ""
    created_at: datetime
    updated_at: datetime


class Runtimes:
    """All runtimes of one home: read from memory, written through to `runtimes.db`."""

    def __init__(self, home: Path) -> None:
        self._database = sqlite3.connect(home / "runtimes.db", isolation_level=None, check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.executescript("PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL;")
        self._database.executescript(_SCHEMA)
        self._runtimes: dict[str, Runtime] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._endpoints: dict[str, dict[str, Endpoint]] = {}
        self._read()

    def _read(self) -> None:
        for row in self._database.execute("SELECT * FROM runtimes ORDER BY created_at"):
            self._runtimes[row["id"]] = Runtime(**_times(dict(row)))
            self._versions[row["id"]] = {}
            self._endpoints[row["id"]] = {}
        for row in self._database.execute("SELECT * FROM versions ORDER BY number"):
            values = _times(dict(row))
            values["definition"] = json.loads(values["definition"])
            values["overlay"] = Path(values["overlay"]) if values["overlay"] else None
            self._versions[row["runtime_id"]][row["number"]] = Version(**values)
        for row in self._database.execute("SELECT * FROM endpoints ORDER BY created_at, name"):
            self._endpoints[row["runtime_id"]][row["name"]] = Endpoint(**_times(dict(row)))

    def close(self) -> None:
        self._database.close()

    # Reading

    def all(self) -> list[Runtime]:
        return list(self._runtimes.values())

    def get(self, runtime_id: str) -> Runtime | None:
        return self._runtimes.get(runtime_id)

    def named(self, name: str) -> Runtime | None:
        return next((runtime for runtime in self._runtimes.values() if runtime.name == name), None)

    def versions(self, runtime_id: str) -> list[Version]:
        return list(self._versions.get(runtime_id, {}).values())

    def version(self, runtime_id: str, number: int) -> Version | None:
        return self._versions.get(runtime_id, {}).get(number)

    def newest(self, runtime_id: str) -> Version:
        versions = self._versions[runtime_id]
        return versions[max(versions)]

    def endpoints(self, runtime_id: str) -> list[Endpoint]:
        return list(self._endpoints.get(runtime_id, {}).values())

    def endpoint(self, runtime_id: str, name: str) -> Endpoint | None:
        return self._endpoints.get(runtime_id, {}).get(name)

    def tags(self, arn: str) -> dict[str, str]:
        rows = self._database.execute("SELECT name, value FROM tags WHERE arn = ? ORDER BY name", (arn,))
        return {row["name"]: row["value"] for row in rows}

    # Writing: memory follows only when the database has taken it

    def add(self, runtime: Runtime) -> None:
        self._write("runtimes", _row(runtime))
        self._runtimes[runtime.id] = runtime
        self._versions[runtime.id], self._endpoints[runtime.id] = {}, {}

    def keep_version(self, version: Version) -> None:
        overlay = str(version.overlay) if version.overlay else None
        definition = json.dumps(version.definition)
        self._write("versions", _row(version) | {"definition": definition, "overlay": overlay})
        self._versions[version.runtime_id][version.number] = version

    def keep_endpoint(self, endpoint: Endpoint) -> None:
        self._write("endpoints", _row(endpoint))
        self._endpoints[endpoint.runtime_id][endpoint.name] = endpoint

    def remove(self, runtime_id: str) -> None:
        runtime = self._runtimes[runtime_id]
        # Its endpoints' ARNs begin with its own, so one prefix finds the tags of all; ids hold no wildcard but "_".
        self._database.execute("DELETE FROM tags WHERE substr(arn, 1, ?) = ?", (len(runtime.arn), runtime.arn))
        self._database.execute("DELETE FROM runtimes WHERE id = ?", (runtime_id,))
        for table in (self._runtimes, self._versions, self._endpoints):
            table.pop(runtime_id, None)

    def remove_version(self, runtime_id: str, number: int) -> None:
        self._database.execute("DELETE FROM versions WHERE runtime_id = ? AND number = ?", (runtime_id, number))
        self._versions[runtime_id].pop(number, None)

    def remove_endpoint(self, runtime_id: str, name: str) -> None:
        self._database.execute("DELETE FROM endpoints WHERE runtime_id = ? AND name = ?", (runtime_id, name))
        self._endpoints[runtime_id].pop(name, None)

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        for name, value in tags.items():
            self._write("tags", {"arn": arn, "name": name, "value": value})

    def untag(self, arn: str, names: list[str]) -> None:
        self._database.executemany("DELETE FROM tags WHERE arn = ? AND name = ?", [(arn, name) for name in names])

    def _write(self, table: str, row: Mapping[str, Any]) -> None:
        # An upsert, not REPLACE: replacing a runtime's row would cascade to its versions.
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        updates = ", ".join(f"{name} = excluded.{name}" for name in row)
        statement = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO UPDATE SET {updates}"  # noqa: S608 - names are ours
        self._database.execute(statement, tuple(row.values()))


def new_id(name: str) -> str:
    """An id in AWS's form: the name, a hyphen, ten letters or digits."""
    return f"{name}-{''.join(secrets.choice(_ALPHANUMERIC) for _ in range(10))}"


def now() -> datetime:
    return datetime.now(UTC)


def _row(value: Any) -> dict[str, Any]:
    row = {name: getattr(value, name) for name in value.__dataclass_fields__}
    return {name: item.isoformat() if isinstance(item, datetime) else item for name, item in row.items()}


def _times(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: datetime.fromisoformat(row[name]) for name in ("created_at", "updated_at") if name in row}
