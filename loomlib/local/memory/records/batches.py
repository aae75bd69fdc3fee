"""Batch operations on long-term records: each record is created, updated or deleted on its own, with its own result."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loomlib.local.tenancy import new_tenant, owns_row
from loomlib.local.wire import invalid

from .filters import seconds
from .operations import MemoryLookup, Parameters, known_id, own_token
from .store import LongTermRecord, RecordsStore, now_ms

_DAY_MS = 24 * 3_600_000
_NO_STRATEGY = "custom"
"""The strategy id of records that were not produced by a strategy of the memory."""


class RecordBatches:
    """BatchCreateMemoryRecords, BatchUpdateMemoryRecords and BatchDeleteMemoryRecords.

    A record that fails does not affect the others.
    """

    def __init__(self, store: RecordsStore, memories: MemoryLookup) -> None:
        self._store, self._memories = store, memories

    async def batch_create_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        """BatchCreateMemoryRecords."""
        return await asyncio.to_thread(self._create, parameters)

    async def batch_update_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        """BatchUpdateMemoryRecords."""
        return await asyncio.to_thread(self._update, parameters)

    async def batch_delete_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        """BatchDeleteMemoryRecords."""
        return await asyncio.to_thread(self._delete, parameters)

    def _create(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, entries = known_id(self._memories, parameters), parameters["records"]
        expiry: Mapping[str, Any] = parameters.get("recordExpirySpecification") or {}
        if "action" in expiry:
            raise invalid("recordExpirySpecification.action does not apply to new records")
        token, memory = own_token(parameters), self._memories.find(memory_id) or {}
        tenant = new_tenant(memory.get("tenant", ""))
        digest = hashlib.sha256(json.dumps([entries, expiry], sort_keys=True).encode()).hexdigest()
        vectors = _vectors([entry["content"]["text"] for entry in entries])
        used: set[str] = set()

        def create(entry: Mapping[str, Any], vector: bytes) -> str:
            record_id, identifier = f"mem-{uuid.uuid4()}", entry["requestIdentifier"]
            if identifier in used:
                raise _RecordError(record_id, 400, f"requestIdentifier {identifier} is in the batch twice")
            used.add(identifier)
            moment = _milliseconds(entry["timestamp"])
            record = LongTermRecord(
                record_id=record_id,
                namespace=_namespace(record_id, entry),
                strategy_id=self._strategy(memory_id, record_id, entry) or _NO_STRATEGY,
                text=entry["content"]["text"],
                created_at=moment,
                updated_at=moment,
                metadata=_metadata(entry),
                expires_at=_expiry(expiry),
                tenant=tenant,
            )
            self._store.put(memory_id, record, vector)
            return record_id

        with self._store.transaction():
            if token and (former := self._store.stored_response(memory_id, token)):
                if former[0] != digest:
                    raise invalid("clientToken was used before with other records")
                return json.loads(former[1])
            answer = _each(zip(entries, vectors, strict=True), create)
            if token:
                self._store.note_answer(memory_id, token, digest, json.dumps(answer))
        return answer

    def _update(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, entries = known_id(self._memories, parameters), parameters["records"]
        expiry: Mapping[str, Any] = parameters.get("recordExpirySpecification") or {}
        vectors = _vectors([entry["content"]["text"] if "content" in entry else "" for entry in entries])

        def update(entry: Mapping[str, Any], vector: bytes) -> str:
            former = self._former(memory_id, entry, (entry.get("sourceNamespaces") or [None])[0])
            record_id = former.record_id
            changed = replace(
                former,
                namespace=_namespace(record_id, entry) if "namespaces" in entry else former.namespace,
                strategy_id=self._strategy(memory_id, record_id, entry) or former.strategy_id,
                metadata=_metadata(entry) if "metadata" in entry else former.metadata,
                updated_at=_milliseconds(entry["timestamp"]),
                expires_at=_expiry(expiry) if expiry else former.expires_at,
            )
            if "content" in entry:
                # After a manual update, the extractor's notes no longer match the record.
                changed = replace(changed, text=entry["content"]["text"], slot=None, value=None, state=None)
            else:
                vector = self._store.vector(record_id)
            self._store.put(memory_id, changed, vector)
            return record_id

        with self._store.transaction():
            return _each(zip(entries, vectors, strict=True), update)

    def _delete(self, parameters: Parameters) -> dict[str, Any]:
        memory_id = known_id(self._memories, parameters)

        def delete(entry: Mapping[str, Any], _: bytes) -> str:
            former = self._former(memory_id, entry, entry.get("namespace"))
            self._store.remove(memory_id, former.record_id)
            return former.record_id

        with self._store.transaction():
            return _each([(entry, b"") for entry in parameters["records"]], delete)

    def _former(self, memory_id: str, entry: Mapping[str, Any], namespace: str | None) -> LongTermRecord:
        record_id = entry["memoryRecordId"]
        former = self._store.get(memory_id, [record_id]).get(record_id)
        if former is None or namespace not in (None, former.namespace) or not owns_row(former.tenant):
            raise _RecordError(record_id, 404, f"Memory record not found: {record_id}")
        return former

    def _strategy(self, memory_id: str, record_id: str, entry: Mapping[str, Any]) -> str | None:
        strategy_id = entry.get("memoryStrategyId")
        strategies = (self._memories.find(memory_id) or {}).get("strategies") or ()
        if strategy_id is None or any(strategy_id == strategy["strategyId"] for strategy in strategies):
            return strategy_id
        raise _RecordError(record_id, 400, f"The memory has no strategy {strategy_id}")


class _RecordError(Exception):
    """One record of a batch failed."""

    def __init__(self, record_id: str, code: int, message: str) -> None:
        super().__init__(message)
        self.record_id, self.code, self.message = record_id, code, message


def _each(
    entries: Iterable[tuple[Mapping[str, Any], bytes]], act: Callable[[Mapping[str, Any], bytes], str]
) -> dict[str, Any]:
    succeeded: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for entry, vector in entries:
        identifier_member = {"requestIdentifier": entry["requestIdentifier"]} if "requestIdentifier" in entry else {}
        try:
            succeeded.append({"memoryRecordId": act(entry, vector), "status": "SUCCEEDED", **identifier_member})
        except _RecordError as error:
            reason = {"errorCode": error.code, "errorMessage": error.message}
            failed.append({"memoryRecordId": error.record_id, "status": "FAILED", **identifier_member, **reason})
    return {"successfulRecords": succeeded, "failedRecords": failed}


def _vectors(texts: Sequence[str]) -> list[bytes]:
    from loomlib.embeddings import embed

    return [vector.tobytes() for vector in embed(texts)]


def _expiry(specification: Mapping[str, Any]) -> int | None:
    days = None if "action" in specification else specification.get("recordExpiryDurationDays")
    return None if days is None else now_ms() + days * _DAY_MS


def _namespace(record_id: str, entry: Mapping[str, Any]) -> str:
    namespace = (entry["namespaces"] or [""])[0]
    if "*" in namespace:
        raise _RecordError(record_id, 400, "Wildcards (*) are not supported in namespaces")
    return namespace


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata with its times as numbers, as they are stored."""
    metadata: Mapping[str, Mapping[str, Any]] = entry.get("metadata") or {}
    return {
        key: {"dateTimeValue": seconds(value["dateTimeValue"])} if "dateTimeValue" in value else value
        for key, value in metadata.items()
    }


def _milliseconds(time: float | str) -> int:
    return round(seconds(time) * 1000)
