"""Data-plane operations on short-term memory: events, and the actors and sessions that have events."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any

from loomlib.local.paging import page_request
from loomlib.local.tenancy import own_rows
from loomlib.local.wire import Encoded, not_found

from .branches import segments, seq_of
from .control_plane import read_memory
from .filters import newest_matching
from .store import MemoryStore
from .writing import StoredRow, add_event, delete_event, find_session

Parameters = Mapping[str, Any]
_HEAD = "e.memory_id, e.actor_id, e.session_id, e.event_id, e.timestamp_ms, e.branch, e.root_event, e.metadata, e.seq"


class EventPlane:
    """CreateEvent, GetEvent, ListEvents, DeleteEvent, ListActors and ListSessions.

    `on_event` is called with the seq of an event once it is on disk; it must not block.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        on_event: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._on_event, self._clock = store, on_event, clock

    async def create_event(self, parameters: Parameters) -> Encoded:
        """CreateEvent."""
        now_ms = self._now_ms()
        row = await self._store.write(lambda connection: add_event(connection, parameters, now_ms))
        self._on_event(row["seq"])
        return Encoded(f'{{"event": {event_json(row)}}}'.encode())

    async def get_event(self, parameters: Parameters) -> Encoded:
        """GetEvent."""
        now_ms = self._now_ms()

        def get(connection: sqlite3.Connection) -> sqlite3.Row:
            memory_id: str = read_memory(connection, parameters)["id"]
            row = connection.execute(
                f"SELECT {_HEAD}, e.body FROM events e WHERE e.seq = ? AND e.event_id = ? AND e.session_number = ? "  # noqa: S608
                "AND e.expires_at > ?",
                (
                    seq_of(parameters["eventId"]),
                    parameters["eventId"],
                    find_session(connection, memory_id, parameters),
                    now_ms,
                ),
            ).fetchone()
            if row is None:
                raise not_found(f"Event not found: {parameters['eventId']}")
            return row

        return Encoded(f'{{"event": {event_json(await self._store.read(get))}}}'.encode())

    async def list_events(self, parameters: Parameters) -> Encoded:
        """ListEvents."""
        request = page_request(parameters, "ListEvents", int, int)
        now_ms = self._now_ms()
        filters: Mapping[str, Any] = parameters.get("filter") or {}
        with_payloads = parameters.get("includePayloads") is not False
        columns = f"{_HEAD}, e.body" if with_payloads else f"{_HEAD}, '[]' AS body"
        branch: Mapping[str, Any] | None = filters.get("branch")

        def find(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            memory_id: str = read_memory(connection, parameters)["id"]
            number = find_session(connection, memory_id, parameters)
            if number is None:
                number = -1  # the filter is validated nevertheless
            parts = None
            if branch:
                parents = bool(branch.get("includeParentBranches"))
                parts = segments(connection, number, branch["name"], parents=parents)
            query = newest_matching(
                number, filters.get("eventMetadata") or (), parts, request.after, now_ms, request.fetch, columns
            )
            return connection.execute(*query).fetchall()

        rows = await self._store.read(find)
        token = ""
        if len(rows) > request.size:
            last = rows[request.size - 1]
            token = f', "nextToken": "{request.token((last["timestamp_ms"], last["seq"]))}"'
        listed = ", ".join(event_json(row) for row in rows[: request.size])
        return Encoded(f'{{"events": [{listed}]{token}}}'.encode())

    async def delete_event(self, parameters: Parameters) -> Encoded:
        """DeleteEvent."""
        now_ms = self._now_ms()
        await self._store.write(lambda connection: delete_event(connection, parameters, now_ms))
        return Encoded(json.dumps({"eventId": parameters["eventId"]}).encode())

    async def list_actors(self, parameters: Parameters) -> Encoded:
        """ListActors."""
        request = page_request(parameters, "ListActors", str)

        def find(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            memory_id: str = read_memory(connection, parameters)["id"]
            own, values = own_rows()
            return connection.execute(
                f"SELECT actor_id FROM sessions WHERE memory_id = ? AND actor_id > ? AND {own} GROUP BY actor_id "  # noqa: S608
                "ORDER BY actor_id LIMIT ?",
                (memory_id, request.after[0] if request.after else "", *values, request.fetch),
            ).fetchall()

        actors = [{"actorId": row["actor_id"]} for row in await self._store.read(find)]
        page = request.page("actorSummaries", actors, lambda at: [actors[at]["actorId"]])
        return Encoded(json.dumps(page).encode())

    async def list_sessions(self, parameters: Parameters) -> Encoded:
        """ListSessions."""
        request = page_request(parameters, "ListSessions", int)
        now_ms = self._now_ms()
        filled, filters = "", parameters.get("filter")
        if filters and filters.get("eventFilter") == "HAS_EVENTS":
            filled = "AND EXISTS (SELECT 1 FROM events e WHERE e.session_number = s.number AND e.expires_at > ?) "

        def find(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            memory_id: str = read_memory(connection, parameters)["id"]
            own, values = own_rows()
            before = request.after[0] if request.after else 2**62
            return connection.execute(
                "SELECT number, session_id, actor_id, created_at FROM sessions s WHERE memory_id = ? AND actor_id = ? "  # noqa: S608
                f"AND number < ? AND {own} {filled}ORDER BY number DESC LIMIT ?",
                (memory_id, parameters["actorId"], before, *values, *([now_ms] if filled else ()), request.fetch),
            ).fetchall()

        rows = await self._store.read(find)
        sessions = [
            {"sessionId": row["session_id"], "actorId": row["actor_id"], "createdAt": row["created_at"] / 1000}
            for row in rows
        ]
        page = request.page("sessionSummaries", sessions, lambda at: [rows[at]["number"]])
        return Encoded(json.dumps(page).encode())

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def event_json(row: StoredRow) -> str:
    """Return an event as JSON in AWS's form; parts that are stored as JSON are inserted unchanged."""
    head: dict[str, Any] = {
        "memoryId": row["memory_id"],
        "actorId": row["actor_id"],
        "sessionId": row["session_id"],
        "eventId": row["event_id"],
        "eventTimestamp": row["timestamp_ms"] / 1000,
    }
    if row["branch"]:
        head["branch"] = {"name": row["branch"], **({"rootEventId": row["root_event"]} if row["root_event"] else {})}
    metadata = f', "metadata": {row["metadata"]}' if row["metadata"] else ""
    return f'{json.dumps(head)[:-1]}, "payload": {row["body"]}{metadata}}}'
