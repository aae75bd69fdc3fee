"""The control plane's operations on memories, one method each, named after the operation.

A memory is usable as soon as CreateMemory or UpdateMemory has answered: the answer says CREATING or UPDATING as AWS's
does, and what is read next says ACTIVE.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any

from loomlib.local.runtimes import new_id
from loomlib.local.wire import Encoded, Refused, invalid, not_found

from .paging import PageRequest, page_request
from .store import MemoryStore
from .strategies import checked, made, modified
from .tags import drop_tags, keep_tags

Parameters = Mapping[str, Any]
Memory = dict[str, Any]
_KEPT = (
    "description",
    "encryptionKeyArn",
    "memoryExecutionRoleArn",
    "indexedKeys",
    "namespaceKeys",
    "streamDeliveryResources",
)
_MOST_INDEXED_KEYS = 10


class MemoryControlPlane:
    """Create, read, update, delete and list memories.

    `on_deleted` is called with the id of a memory that has gone, while its events may still lie on disk.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        account_id: str,
        region: str,
        on_deleted: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._on_deleted, self._clock = store, on_deleted, clock
        # The service model knows memories of the partition "aws" only.
        self._arn = f"arn:aws:bedrock-agentcore:{region}:{account_id}:memory/"

    async def create_memory(self, parameters: Parameters) -> Encoded:
        moment, name = self._moment(), parameters["name"]
        memory_id = new_id(name)
        memory: Memory = {
            "arn": self._arn + memory_id,
            "id": memory_id,
            "name": name,
            "eventExpiryDuration": parameters["eventExpiryDuration"],
            "status": "ACTIVE",
            "createdAt": moment,
            "updatedAt": moment,
            "strategies": checked([made(each, moment) for each in parameters.get("memoryStrategies") or ()]),
            **{key: parameters[key] for key in _KEPT if parameters.get(key) is not None},
        }
        token, digest = parameters.get("clientToken") or None, _digest(parameters)

        def create(connection: sqlite3.Connection) -> Memory:
            row = (
                token
                and connection.execute("SELECT body, digest FROM memories WHERE client_token = ?", (token,)).fetchone()
            )
            if row:
                if row["digest"] != digest:
                    raise _other_parameters()
                return json.loads(row["body"])
            if connection.execute("SELECT 1 FROM memories WHERE name = ?", (name,)).fetchone():
                raise invalid(f"Memory with name {name} already exists", "ResourceConflict")
            connection.execute(
                "INSERT INTO memories (id, arn, name, body, event_expiry_days, client_token, digest, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    memory_id,
                    memory["arn"],
                    name,
                    json.dumps(memory),
                    memory["eventExpiryDuration"],
                    token,
                    digest,
                    int(moment * 1000),
                ),
            )
            keep_tags(connection, memory_id, parameters.get("tags") or {})
            return memory

        return _answer({"memory": _seen_as(await self._store.write(create), "CREATING")})

    async def get_memory(self, parameters: Parameters) -> Encoded:
        return _answer({"memory": await self._store.read(lambda connection: read_memory(connection, parameters))})

    async def list_memories(self, parameters: Parameters) -> Encoded:
        asked = page_request(parameters, "ListMemories", int)
        rows = await self._store.read(lambda connection: _newest(connection, asked))
        summaries = [
            {key: memory[key] for key in ("arn", "id", "status", "createdAt", "updatedAt")}
            for memory in (json.loads(row["body"]) for row in rows)
        ]
        return _answer(asked.page("memories", summaries, lambda at: [rows[at]["number"]]))

    async def update_memory(self, parameters: Parameters) -> Encoded:
        moment = self._moment()

        def update(connection: sqlite3.Connection) -> Memory:
            memory = read_memory(connection, parameters)
            changed = _updated(memory, parameters, moment)
            connection.execute(
                "UPDATE memories SET body = ?, event_expiry_days = ? WHERE id = ?",
                (json.dumps(changed), changed["eventExpiryDuration"], changed["id"]),
            )
            return changed

        return _answer({"memory": {**await self._store.write(update), "status": "UPDATING"}})

    async def delete_memory(self, parameters: Parameters) -> Encoded:
        def delete(connection: sqlite3.Connection) -> str:
            memory_id: str = read_memory(connection, parameters)["id"]
            connection.execute("DELETE FROM memories WHERE id = ?", (memory_id,))
            drop_tags(connection, memory_id)
            return memory_id

        memory_id = await self._store.write(delete)
        self._on_deleted(memory_id)
        return _answer({"memoryId": memory_id, "status": "DELETING"})

    def find(self, memory_id: str) -> Memory | None:
        """The memory as GetMemory shows it; None when there is none. Not for the event loop's thread: it waits."""
        try:
            return self._store.read_now(lambda connection: read_memory(connection, {"memoryId": memory_id}))
        except Refused:
            return None

    def _moment(self) -> float:
        return round(self._clock(), 3)


def read_memory(connection: sqlite3.Connection, parameters: Parameters) -> Memory:
    """The memory that `memoryId` (an id or an ARN) names, as GetMemory shows it, or `Refused` with 404."""
    memory_id: str = parameters["memoryId"].rpartition("/")[2]
    row = connection.execute("SELECT body FROM memories WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        raise not_found(f"Memory not found: {memory_id}")
    return json.loads(row["body"])


def _newest(connection: sqlite3.Connection, asked: PageRequest) -> list[sqlite3.Row]:
    before = asked.after[0] if asked.after else 2**62
    return connection.execute(
        "SELECT number, body FROM memories WHERE number < ? ORDER BY number DESC LIMIT ?", (before, asked.fetch)
    ).fetchall()


def _updated(memory: Memory, parameters: Parameters, moment: float) -> Memory:
    changed: Memory = {**memory, "updatedAt": moment}
    for key in ("description", "memoryExecutionRoleArn", "eventExpiryDuration", "namespaceKeys"):
        if parameters.get(key) is not None:
            changed[key] = parameters[key]
    if parameters.get("streamDeliveryResources"):
        changed["streamDeliveryResources"] = parameters["streamDeliveryResources"]
    if added := parameters.get("addIndexedKeys"):
        keys = {each["key"]: each for each in memory.get("indexedKeys", ())}
        if clashing := [each["key"] for each in added if keys.get(each["key"], each)["type"] != each["type"]]:
            raise invalid(f"Indexed keys keep their type: {', '.join(clashing)}")
        keys.update({each["key"]: each for each in added})
        if len(keys) > _MOST_INDEXED_KEYS:
            raise invalid(f"A memory has at most {_MOST_INDEXED_KEYS} indexed keys")
        changed["indexedKeys"] = list(keys.values())
    orders: Mapping[str, Any] = parameters.get("memoryStrategies") or {}
    strategies = {each["strategyId"]: each for each in memory["strategies"]}
    for change in orders.get("modifyMemoryStrategies") or ():
        strategies[_known(strategies, change)] = modified(strategies[change["memoryStrategyId"]], change, moment)
    for gone in orders.get("deleteMemoryStrategies") or ():
        del strategies[_known(strategies, gone)]
    new = [made(each, moment) for each in orders.get("addMemoryStrategies") or ()]
    changed["strategies"] = checked([*strategies.values(), *new])
    return changed


def _known(strategies: Mapping[str, Any], named: Mapping[str, str]) -> str:
    if named["memoryStrategyId"] not in strategies:
        raise not_found(f"Memory strategy not found: {named['memoryStrategyId']}")
    return named["memoryStrategyId"]


def _seen_as(memory: Memory, status: str) -> Memory:
    return {**memory, "status": status, "strategies": [{**each, "status": status} for each in memory["strategies"]]}


def _other_parameters() -> Refused:
    return invalid("clientToken was used already, with other parameters", "IdempotentParameterMismatchException")


def _digest(parameters: Parameters) -> bytes:
    given = {name: value for name, value in parameters.items() if name != "clientToken"}
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).digest()


def _answer(document: Mapping[str, Any]) -> Encoded:
    return Encoded(json.dumps(document).encode())
