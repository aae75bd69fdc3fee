"""Operations on long-term records: get, list, retrieve by meaning, delete; and on failed extraction jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from loomlib.local.paging import page_request
from loomlib.local.tenancy import acting_tenant, own_rows, owns_row
from loomlib.local.wire import RefusedError, invalid, not_found

from . import filters
from .store import LongTermRecord, RecordsStore, Scope

if TYPE_CHECKING:  # numpy is imported with the first question
    from .index import RecordsIndex

Parameters = Mapping[str, Any]
_TOP_K = 10
_CHUNK = 500
_JOB_FILTERS = {"strategyId": "strategy_id", "sessionId": "session_id", "actorId": "actor_id", "status": "status"}


class MemoryLookup(Protocol):
    """Finds memories; the control plane implements it, and tests use a small implementation."""

    def find(self, memory_id: str) -> Mapping[str, Any] | None:
        """Return the memory in the form of GetMemory, with its `strategies`; None if there is none."""
        ...


class RecordOperations:
    """The data-plane operations on single records, on lists of records and on extraction jobs.

    All work runs outside the event loop. `on_job_started` wakes the extraction process.
    """

    def __init__(self, store: RecordsStore, memories: MemoryLookup, on_job_started: Callable[[], None]) -> None:
        self._store, self._memories, self._on_job_started = store, memories, on_job_started
        self._index: RecordsIndex | None = None

    async def get_memory_record(self, parameters: Parameters) -> dict[str, Any]:
        """GetMemoryRecord."""
        record = await asyncio.to_thread(self._one, parameters)
        return {"memoryRecord": described(record, expiry=True)}

    async def delete_memory_record(self, parameters: Parameters) -> dict[str, Any]:
        """DeleteMemoryRecord."""

        def delete() -> None:
            record = self._one(parameters)
            if not self._store.remove(known_id(self._memories, parameters), record.record_id):
                raise _no_record(record.record_id)

        await asyncio.to_thread(delete)
        return {"memoryRecordId": parameters["memoryRecordId"]}

    async def list_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        """ListMemoryRecords."""
        return await asyncio.to_thread(self._list, parameters)

    async def retrieve_memory_records(self, parameters: Parameters) -> dict[str, Any]:
        """RetrieveMemoryRecords: the records that best answer a question, by meaning and words."""
        return await asyncio.to_thread(self._retrieve, parameters)

    async def list_memory_extraction_jobs(self, parameters: Parameters) -> dict[str, Any]:
        """ListMemoryExtractionJobs."""
        return await asyncio.to_thread(self._list_jobs, parameters)

    async def start_memory_extraction_job(self, parameters: Parameters) -> dict[str, Any]:
        """StartMemoryExtractionJob: queue a failed job again; a repeated client token queues nothing."""
        job_id, token = parameters["extractionJob"]["jobId"], own_token(parameters)
        request = f"StartMemoryExtractionJob {job_id}"

        def start() -> bool:
            memory_id = known_id(self._memories, parameters)
            with self._store.transaction() as db:
                if token and (former := self._store.stored_response(memory_id, token)):
                    if former[0] != request:
                        raise invalid("clientToken was used already, with other parameters")
                    return False
                own, values = own_rows()
                queue = f"UPDATE jobs SET status='QUEUED' WHERE memory_id=? AND job_id=? AND {own}"  # noqa: S608
                if not db.execute(queue, (memory_id, job_id, *values)).rowcount:
                    raise not_found(f"Extraction job not found: {job_id}")
                if token:
                    self._store.note_answer(memory_id, token, request, json.dumps({"jobId": job_id}))
                return True

        if await asyncio.to_thread(start):
            self._on_job_started()
        return {"jobId": job_id}

    def forget_memory(self, memory_id: str) -> None:
        """Delete the records and vectors of a deleted memory."""
        self._store.forget_memory(memory_id)
        if self._index is not None:
            self._index.forget_memory(memory_id)

    def _one(self, parameters: Parameters) -> LongTermRecord:
        memory_id, record_id = known_id(self._memories, parameters), parameters["memoryRecordId"]
        record = self._store.get(memory_id, [record_id]).get(record_id)
        if record is None or parameters.get("namespace", record.namespace) != record.namespace:
            raise _no_record(record_id)
        if not owns_row(record.tenant):
            raise _no_record(record_id)
        return record

    def _list(self, parameters: Parameters) -> dict[str, Any]:
        memory_id, scope = known_id(self._memories, parameters), _scope(parameters)
        expressions: Sequence[Any] = parameters.get("metadataFilters") or ()
        filters.check(expressions)
        request = page_request(parameters, "ListMemoryRecords", int)
        below, strategy_id = request.after[0] if request.after else None, parameters.get("memoryStrategyId")
        chunk = _CHUNK if expressions else request.fetch
        matching: list[LongTermRecord] = []
        while True:
            part = self._store.newest_first(memory_id, scope, strategy_id=strategy_id, below=below, limit=chunk)
            matching += [record for record in part if filters.matches(record.metadata, expressions)]
            if len(matching) > request.size or not expressions or len(part) < chunk:
                break
            below = part[-1].seq
        records = [described(record) for record in matching]
        return request.page("memoryRecordSummaries", records, lambda at: [matching[at].seq])

    def _retrieve(self, parameters: Parameters) -> dict[str, Any]:
        from loomlib.embeddings import embed

        from .index import RecordsIndex

        memory_id, scope, criteria = (
            known_id(self._memories, parameters),
            _scope(parameters),
            parameters["searchCriteria"],
        )
        expressions: Sequence[Any] = criteria.get("metadataFilters") or ()
        filters.check(expressions)
        top_k = criteria.get("topK") or _TOP_K
        request = page_request(parameters, "RetrieveMemoryRecords", int)
        begin = request.after[0] if request.after else 0
        end = min(top_k, begin + request.size)
        index = self._index = self._index or RecordsIndex(self._store)
        nearest = index.search(
            memory_id,
            criteria["searchQuery"],
            embed([criteria["searchQuery"]])[0],
            scope,
            strategy_id=criteria.get("memoryStrategyId"),
            wanted=(lambda metadata: filters.matches(metadata, expressions)) if expressions else None,
            k=top_k,
        )
        records = self._store.get(memory_id, [record_id for record_id, _ in nearest[begin:end]])
        summaries = [
            {**described(records[record_id]), "score": max(0.0, min(1.0, score))}
            for record_id, score in nearest[begin:end]
            if record_id in records
        ]
        return {
            "memoryRecordSummaries": summaries,
            **({"nextToken": request.token([end])} if end < len(nearest) else {}),
        }

    def _list_jobs(self, parameters: Parameters) -> dict[str, Any]:
        """Return the failed jobs; as on AWS, successful jobs are not listed."""
        own, owned = own_rows()
        where, values = f"memory_id=? AND status='FAILED' AND {own}", [known_id(self._memories, parameters), *owned]
        filters: Mapping[str, str] = parameters.get("filter") or {}
        for name, value in filters.items():
            where += f" AND {_JOB_FILTERS[name]}=?"
            values.append(value)
        request = page_request(parameters, "ListMemoryExtractionJobs", int)
        rows = self._store.rows(
            "SELECT job_id, messages, failure_reason, strategy_id, session_id, actor_id, seq FROM jobs "  # noqa: S608
            f"WHERE {where} AND seq>? ORDER BY seq LIMIT ?",
            (*values, request.after[0] if request.after else 0, request.fetch),
        )
        jobs = [
            {
                "jobID": job_id,
                "messages": {"messagesList": json.loads(messages)},
                "status": "FAILED",
                "failureReason": reason or "unknown",
                "strategyId": strategy_id,
                "sessionId": session_id,
                "actorId": actor_id,
            }
            for job_id, messages, reason, strategy_id, session_id, actor_id, _ in rows
        ]
        return request.page("jobs", jobs, lambda at: [rows[at][6]])


def known_id(memories: MemoryLookup, parameters: Parameters) -> str:
    """Return the id of the memory that a request names by id or ARN.

    A memory that does not exist is refused with 404.
    """
    memory_id = str(parameters["memoryId"]).rpartition("/")[2]
    if memories.find(memory_id) is None:
        raise not_found(f"Memory not found: {memory_id}")
    return memory_id


def own_token(parameters: Parameters) -> str | None:
    """Return the client token of a request as it is stored: each tenant has its own client tokens."""
    token, acting = parameters.get("clientToken"), acting_tenant()
    return f"{acting}\0{token}" if token and acting else token


def described(record: LongTermRecord, *, expiry: bool = False) -> dict[str, Any]:
    """Return a record in AWS's form, with times as unix seconds.

    Args:
        record: The record.
        expiry: Whether to add when it expires, as GetMemoryRecord does.
    """
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
        raise invalid("Exactly one of namespace and namespacePath is required")
    if "*" in (namespace or path or ""):
        raise invalid("Wildcards (*) are not supported in namespaces")
    return Scope(namespace, path, acting_tenant())


def _no_record(record_id: str) -> RefusedError:
    return not_found(f"Memory record not found: {record_id}")
