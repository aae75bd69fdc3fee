"""Long-term memory's reading operations: get, list, retrieve by meaning, and delete one record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from loomlib.local.wire import invalid, not_found

from . import records_filters
from .paging import page_request
from .records_store import Record, RecordsStore, Scope

if TYPE_CHECKING:
    from .records_index import RecordsIndex

Parameters = Mapping[str, Any]
_TOP_K = 10
_READ_AT_ONCE = 500


class Memories(Protocol):
    """Where memories are known."""

    def find(self, memory_id: str) -> Mapping[str, Any] | None:
        """The memory as GetMemory shows it, with its `strategies`; None when there is none."""
        ...


class RecordPlane:
    """The data plane's operations on single records and on their lists. All work is done off the event loop."""

    def __init__(self, store: RecordsStore, memories: Memories) -> None:
        self._store, self._memories = store, memories
        self._index: RecordsIndex | None = None

    async def get_memory_record(self, parameters: Parameters) -> dict[str, Any]:
        record = await asyncio.to_thread(self._one, parameters)
        return {"memoryRecord": described(record, expiry=True)}

    async def delete_memory_record(self, parameters: Parameters) -> dict[str, Any]:
        def delete() -> None:
            record = self._one(parameters)
            if not self._store.remove(known_id(self._memories, parameters), record.record_id):
                raise _no_record(record.record_id)

        await asyncio.to_thread(delete)
        return {"memoryRecordId": parameters["memoryRecordId"]}

    async def list_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._list, parameters)

    async def retrieve_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._retrieve, parameters)

    def forget_memory(self, memory_id: str) -> None:
        """Delete a deleted memory's records and vectors."""
        self._store.forget_memory(memory_id)
        if self._index is not None:
            self._index.forget_memory(memory_id)

    def _one(self, parameters: Parameters) -> Record:
        memory_id, record_id = known_id(self._memories, parameters), parameters["memoryRecordId"]
        record = self._store.get(memory_id, [record_id]).get(record_id)
        if record is None or parameters.get("namespace", record.namespace) != record.namespace:
            raise _no_record(record_id)
        return record

    def _list(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, scope = known_id(self._memories, parameters), _scope(parameters)
        filters: Sequence[Any] = parameters.get("metadataFilters") or ()
        records_filters.check(filters)
        asked = page_request(parameters, "ListMemoryRecords", int)
        limit, below = asked.size, asked.after[0] if asked.after else None
        found: list[Record] = []
        while True:
            part = self._store.newest_first(
                memory_id,
                scope,
                strategy_id=parameters.get("memoryStrategyId"),
                below=below,
                limit=_READ_AT_ONCE if filters else limit + 1,
            )
            found += [each for each in part if records_filters.matches(each.metadata, filters)]
            if len(found) > limit or not filters or len(part) < _READ_AT_ONCE:
                break
            below = part[-1].seq
        return asked.page("memoryRecordSummaries", [described(each) for each in found], lambda at: [found[at].seq])

    def _retrieve(self, parameters: Parameters) -> dict[str, Any]:
        from loomlib.embeddings import embed

        from .records_index import RecordsIndex

        memory_id, scope, criteria = (
            known_id(self._memories, parameters),
            _scope(parameters),
            parameters["searchCriteria"],
        )
        filters: Sequence[Any] = criteria.get("metadataFilters") or ()
        records_filters.check(filters)
        top_k = criteria.get("topK") or _TOP_K
        asked = page_request(parameters, "RetrieveMemoryRecords", int)
        begin = asked.after[0] if asked.after else 0
        end = min(top_k, begin + asked.size)
        index = self._index = self._index or RecordsIndex(self._store)
        nearest = index.nearest(
            memory_id,
            embed([criteria["searchQuery"]])[0],
            scope,
            strategy_id=criteria.get("memoryStrategyId"),
            wanted=(lambda metadata: records_filters.matches(metadata, filters)) if filters else None,
            k=top_k,
        )
        records = self._store.get(memory_id, [record_id for record_id, _ in nearest[begin:end]])
        summaries = [
            {**described(records[record_id]), "score": max(0.0, min(1.0, score))}
            for record_id, score in nearest[begin:end]
            if record_id in records
        ]
        more = {"nextToken": asked.token([end])} if end < len(nearest) else {}
        return {"memoryRecordSummaries": summaries, **more}


def known_id(memories: Memories, parameters: Parameters) -> str:
    """The memory's id, given as such or as an ARN; refused with 404 when there is no such memory."""
    memory_id = str(parameters["memoryId"]).rpartition("/")[2]
    if memories.find(memory_id) is None:
        raise not_found(f"Memory not found: {memory_id}")
    return memory_id


def described(record: Record, *, expiry: bool = False) -> dict[str, Any]:
    """A record in AWS's form; times are unix seconds. GetMemoryRecord alone tells when it expires."""
    return {
        "memoryRecordId": record.record_id,
        "content": {"text": record.text},
        "memoryStrategyId": record.strategy_id,
        "namespaces": [record.namespace] if record.namespace else [],
        "createdAt": record.created_at / 1000,
        "timestamp": record.updated_at / 1000,
        **({"metadata": dict(record.metadata)} if record.metadata else {}),
        **({"expiresAt": record.expires_at / 1000} if expiry and record.expires_at is not None else {}),
    }


def _scope(parameters: Parameters) -> Scope:
    namespace, path = parameters.get("namespace"), parameters.get("namespacePath")
    if (namespace is None) == (path is None):
        raise invalid("Exactly one of namespace and namespacePath is needed")
    if "*" in (namespace or path or ""):
        raise invalid("Wildcards (*) are not supported in namespaces")
    return Scope(namespace, path)


def _no_record(record_id: str) -> Exception:
    return not_found(f"Memory record not found: {record_id}")
