"""Memories as resources of the control plane."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from loomlib.local.resources import Behaviour, Draft, Resource, ResourceRecord
from loomlib.local.resources.store import ResourceStore
from loomlib.local.tenancy import sees_resource
from loomlib.local.wire import invalid, not_found

from .strategies import checked, created, modified

Parameters = Mapping[str, Any]
MemoryDocument = dict[str, Any]
_MOST_INDEXED_KEYS = 10

MEMORY: Final = Resource(
    noun="Memory",
    arn="memory/{id}",
    partitioned=False,
    duplicate="ValidationException",
    page_size=20,
    newest_first=True,
)


class MemoryBehaviour(Behaviour):
    """Creates a memory's strategies and indexed keys from request parameters.

    Args:
        on_deleted: Called with the id of a deleted memory, whose events may still be on disk.
    """

    def __init__(self, *, on_deleted: Callable[[str], object] = str) -> None:
        self._on_deleted = on_deleted

    async def before_create(self, draft: Draft) -> None:
        """Create the strategies."""
        document, moment = dict(draft.record.document), draft.record.updated_at.timestamp()
        strategies = checked([created(strategy, moment) for strategy in document.pop("memoryStrategies", ())])
        draft.record = replace(draft.record, document={**document, "strategies": strategies})

    async def before_update(self, draft: Draft) -> None:
        """Apply changes to strategies, indexed keys and other members."""
        assert draft.former is not None
        moment = draft.record.updated_at.timestamp()
        draft.record = replace(draft.record, document=_updated(draft.former.document, draft.parameters, moment))

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Report the deletion."""
        self._on_deleted(record.id)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the strategies of a memory in creation with the memory's own status."""
        if record.status != "CREATING":
            return {}
        return {"strategies": [{**strategy, "status": record.status} for strategy in record.document["strategies"]]}


class MemoryDirectory:
    """Finds memories by id, in any region. Thread-safe."""

    def __init__(self, resources: ResourceStore) -> None:
        self._resources = resources

    def find(self, memory_id: str) -> MemoryDocument | None:
        """Return a memory's members with its `tenant`; None if the current request may not see it."""
        record = self._resources.of_id(MEMORY.noun, memory_id)
        if record is None or not sees_resource(record.tenant):
            return None
        return {"id": record.id, "tenant": record.tenant, **record.document}


def read_memory(connection: sqlite3.Connection, parameters: Parameters) -> MemoryDocument:
    """Return the memory that `memoryId` (an id or an ARN) names, with its `tenant`.

    Args:
        connection: A connection with the view `memories`.
        parameters: The request's parameters.

    Raises:
        RefusedError: The memory does not exist, or belongs to another tenant (404).
    """
    memory_id: str = parameters["memoryId"].rpartition("/")[2]
    row = connection.execute("SELECT tenant, body FROM memories WHERE id = ?", (memory_id,)).fetchone()
    if row is None or not sees_resource(row["tenant"]):
        raise not_found(f"Memory not found: {memory_id}")
    return {**json.loads(row["body"]), "tenant": row["tenant"]}


def _updated(memory: Parameters, parameters: Parameters, moment: float) -> MemoryDocument:
    changed: MemoryDocument = dict(memory)
    for key in ("description", "memoryExecutionRoleArn", "eventExpiryDuration", "namespaceKeys"):
        if parameters.get(key) is not None:
            changed[key] = parameters[key]
    if parameters.get("streamDeliveryResources"):
        changed["streamDeliveryResources"] = parameters["streamDeliveryResources"]
    if added := parameters.get("addIndexedKeys"):
        keys = {item["key"]: item for item in memory.get("indexedKeys", ())}
        if clashing := [item["key"] for item in added if keys.get(item["key"], item)["type"] != item["type"]]:
            raise invalid(f"The type of an indexed key cannot change: {', '.join(clashing)}")
        keys.update({item["key"]: item for item in added})
        if len(keys) > _MOST_INDEXED_KEYS:
            raise invalid(f"A memory can have at most {_MOST_INDEXED_KEYS} indexed keys")
        changed["indexedKeys"] = list(keys.values())
    orders: Mapping[str, Any] = parameters.get("memoryStrategies") or {}
    strategies = {strategy["strategyId"]: strategy for strategy in memory["strategies"]}
    for change in orders.get("modifyMemoryStrategies") or ():
        strategies[_checked_strategy_id(strategies, change)] = modified(
            strategies[change["memoryStrategyId"]], change, moment
        )
    for removed in orders.get("deleteMemoryStrategies") or ():
        del strategies[_checked_strategy_id(strategies, removed)]
    new = [created(strategy, moment) for strategy in orders.get("addMemoryStrategies") or ()]
    changed["strategies"] = checked([*strategies.values(), *new])
    return changed


def _checked_strategy_id(strategies: Mapping[str, Any], reference: Mapping[str, str]) -> str:
    if reference["memoryStrategyId"] not in strategies:
        raise not_found(f"Memory strategy not found: {reference['memoryStrategyId']}")
    return reference["memoryStrategyId"]
