"""Batches of long-term records: created, changed and deleted one by one, with one result each."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loomlib.local.wire import invalid

from .records import Memories, Parameters, known_id
from .records_filters import seconds
from .records_store import Record, RecordsStore, now_ms

_DAY_MS = 24 * 3_600_000
_OWN_STRATEGY = "custom"  # records that no strategy stands behind


class RecordBatches:
    """BatchCreate-, BatchUpdate- and BatchDeleteMemoryRecords. A record that fails does not keep others from it."""

    def __init__(self, store: RecordsStore, memories: Memories) -> None:
        self._store, self._memories = store, memories

    async def batch_create_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._create, parameters)

    async def batch_update_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._update, parameters)

    async def batch_delete_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._delete, parameters)

    def _create(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, records = known_id(self._memories, parameters), parameters["records"]
        expiry: Mapping[str, Any] = parameters.get("recordExpirySpecification") or {}
        if "action" in expiry:
            raise invalid("recordExpirySpecification.action does not apply to new records")
        token = parameters.get("clientToken")
        request = hashlib.sha256(json.dumps([records, expiry], sort_keys=True).encode()).hexdigest()
        vectors = _vectors([each["content"]["text"] for each in records])
        expires_at = now_ms() + expiry["recordExpiryDurationDays"] * _DAY_MS if expiry else None
        used: set[str] = set()

        def create(each: Mapping[str, Any], vector: bytes) -> str:
            record_id = f"mem-{uuid.uuid4()}"
            if each["requestIdentifier"] in used:
                raise _Failed(record_id, 400, f"requestIdentifier {each['requestIdentifier']} is in the batch twice")
            used.add(each["requestIdentifier"])
            record = Record(
                record_id=record_id,
                namespace=self._namespace(record_id, each),
                strategy_id=self._strategy(memory_id, record_id, each) or _OWN_STRATEGY,
                text=each["content"]["text"],
                created_at=_milliseconds(each["timestamp"]),
                updated_at=_milliseconds(each["timestamp"]),
                metadata=_metadata(each),
                expires_at=expires_at,
            )
            self._store.put(memory_id, record, vector)
            return record_id

        with self._store.transaction():
            if token and (former := self._store.answered(memory_id, token)):
                if former[0] != request:
                    raise invalid("clientToken was used before with other records")
                return json.loads(former[1])
            answer = _each(list(zip(records, vectors, strict=True)), create)
            if token:
                self._store.note_answer(memory_id, token, request, json.dumps(answer))
        return answer

    def _update(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, records = known_id(self._memories, parameters), parameters["records"]
        expiry: Mapping[str, Any] = parameters.get("recordExpirySpecification") or {}
        texts = [each["content"]["text"] if "content" in each else "" for each in records]
        vectors = _vectors(texts)

        def update(each: Mapping[str, Any], vector: bytes) -> str:
            former = self._former(memory_id, each, (each.get("sourceNamespaces") or [None])[0])
            expires_at = former.expires_at
            if "action" in expiry:
                expires_at = None
            elif expiry:
                expires_at = now_ms() + expiry["recordExpiryDurationDays"] * _DAY_MS
            record_id = former.record_id
            changed = replace(
                former,
                namespace=self._namespace(record_id, each) if "namespaces" in each else former.namespace,
                strategy_id=self._strategy(memory_id, record_id, each) or former.strategy_id,
                metadata=_metadata(each) if "metadata" in each else former.metadata,
                updated_at=_milliseconds(each["timestamp"]),
                expires_at=expires_at,
            )
            if "content" in each:
                # Whoever rewrites a record by hand says something of his own: the extractor's notes go.
                changed = replace(changed, text=each["content"]["text"], slot=None, value=None, state=None)
            else:
                vector = self._store.vector(record_id)
            self._store.put(memory_id, changed, vector)
            return record_id

        with self._store.transaction():
            return _each(list(zip(records, vectors, strict=True)), update)

    def _delete(self, parameters: Parameters) -> dict[str, Any]:
        memory_id = known_id(self._memories, parameters)

        def delete(each: Mapping[str, Any], _: bytes) -> str:
            former = self._former(memory_id, each, each.get("namespace"))
            self._store.remove(memory_id, former.record_id)
            return former.record_id

        with self._store.transaction():
            return _each([(each, b"") for each in parameters["records"]], delete)

    def _former(self, memory_id: str, each: Mapping[str, Any], namespace: str | None) -> Record:
        record_id = each["memoryRecordId"]
        former = self._store.get(memory_id, [record_id]).get(record_id)
        if former is None or namespace not in (None, former.namespace):
            raise _Failed(record_id, 404, f"Memory record not found: {record_id}")
        return former

    def _strategy(self, memory_id: str, record_id: str, each: Mapping[str, Any]) -> str | None:
        strategy_id = each.get("memoryStrategyId")
        memory = self._memories.find(memory_id) or {}
        if strategy_id is None or any(strategy_id == known["strategyId"] for known in memory.get("strategies") or ()):
            return strategy_id
        raise _Failed(record_id, 400, f"The memory has no strategy {strategy_id}")

    def _namespace(self, record_id: str, each: Mapping[str, Any]) -> str:
        namespace = (each["namespaces"] or [""])[0]
        if "*" in namespace:
            raise _Failed(record_id, 400, "Wildcards (*) are not supported in namespaces")
        return namespace


class _Failed(Exception):
    """One record of a batch failed."""

    def __init__(self, record_id: str, code: int, message: str) -> None:
        super().__init__(message)
        self.record_id, self.code, self.message = record_id, code, message


def _each(
    records: Sequence[tuple[Mapping[str, Any], bytes]], act: Callable[[Mapping[str, Any], bytes], str]
) -> dict[str, Any]:
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for each, vector in records:
        named = {"requestIdentifier": each["requestIdentifier"]} if "requestIdentifier" in each else {}
        try:
            done.append({"memoryRecordId": act(each, vector), "status": "SUCCEEDED", **named})
        except _Failed as failure:
            reason = {"errorCode": failure.code, "errorMessage": failure.message}
            failed.append({"memoryRecordId": failure.record_id, "status": "FAILED", **named, **reason})
    return {"successfulRecords": done, "failedRecords": failed}


def _vectors(texts: Sequence[str]) -> list[bytes]:
    from loomlib.embeddings import embed

    return [row.tobytes() for row in embed(texts)]


def _metadata(each: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with its times as numbers, the form in which they are kept."""
    given: Mapping[str, Mapping[str, Any]] = each.get("metadata") or {}
    return {
        key: {"dateTimeValue": seconds(value["dateTimeValue"])} if "dateTimeValue" in value else value
        for key, value in given.items()
    }


def _milliseconds(time: float | str) -> int:
    return round(seconds(time) * 1000)
