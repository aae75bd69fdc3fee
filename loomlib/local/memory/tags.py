"""Tags of memories. The tagging operations are shared by all resources, so what is no memory's goes on to others."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from loomlib.local.wire import invalid

from .store import MemoryStore

Parameters = Mapping[str, Any]
Result = dict[str, Any]
_MOST_TAGS = 50


class OtherTags(Protocol):
    """Whoever keeps the tags of other resources."""

    def tag_resource(self, parameters: Parameters) -> Awaitable[Result]: ...

    def untag_resource(self, parameters: Parameters) -> Awaitable[Result]: ...

    def list_tags_for_resource(self, parameters: Parameters) -> Awaitable[Result]: ...


class MemoryTags:
    """TagResource, UntagResource and ListTagsForResource."""

    def __init__(self, store: MemoryStore, others: OtherTags) -> None:
        self._store, self._others = store, others

    async def tag_resource(self, parameters: Parameters) -> Result:
        def tag(connection: sqlite3.Connection) -> bool:
            if (memory_id := _memory_of(connection, parameters)) is None:
                return False
            keep_tags(connection, memory_id, parameters["tags"])
            return True

        return {} if await self._store.write(tag) else await self._others.tag_resource(parameters)

    async def untag_resource(self, parameters: Parameters) -> Result:
        def untag(connection: sqlite3.Connection) -> bool:
            if (memory_id := _memory_of(connection, parameters)) is None:
                return False
            names = [(memory_id, name) for name in parameters["tagKeys"]]
            connection.executemany("DELETE FROM memory_tags WHERE memory_id = ? AND name = ?", names)
            return True

        return {} if await self._store.write(untag) else await self._others.untag_resource(parameters)

    async def list_tags_for_resource(self, parameters: Parameters) -> Result:
        def tags(connection: sqlite3.Connection) -> dict[str, str] | None:
            memory_id = _memory_of(connection, parameters)
            return None if memory_id is None else _tags(connection, memory_id)

        found = await self._store.read(tags)
        return await self._others.list_tags_for_resource(parameters) if found is None else {"tags": found}


def keep_tags(connection: sqlite3.Connection, memory_id: str, tags: Mapping[str, str]) -> None:
    """Add the tags to those that the memory has, refused when they become too many."""
    if len(_tags(connection, memory_id) | dict(tags)) > _MOST_TAGS:
        raise invalid(f"A resource can have at most {_MOST_TAGS} tags")
    rows = [(memory_id, name, value) for name, value in tags.items()]
    connection.executemany("INSERT OR REPLACE INTO memory_tags VALUES (?, ?, ?)", rows)


def drop_tags(connection: sqlite3.Connection, memory_id: str) -> None:
    connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))


def _memory_of(connection: sqlite3.Connection, parameters: Parameters) -> str | None:
    row = connection.execute("SELECT id FROM memories WHERE arn = ?", (parameters["resourceArn"],)).fetchone()
    return row and row["id"]


def _tags(connection: sqlite3.Connection, memory_id: str) -> dict[str, str]:
    rows = connection.execute("SELECT name, value FROM memory_tags WHERE memory_id = ? ORDER BY name", (memory_id,))
    return {row["name"]: row["value"] for row in rows}
