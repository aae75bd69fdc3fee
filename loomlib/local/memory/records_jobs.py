"""Extraction jobs that failed: listed, and started again. As on AWS, jobs that went well are not listed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from loomlib.local.wire import not_found

from .paging import page_request
from .records import Memories, Parameters, known_id
from .records_store import RecordsStore

_FILTERED = {"strategyId": "strategy_id", "sessionId": "session_id", "actorId": "actor_id", "status": "status"}


class ExtractionJobs:
    """ListMemoryExtractionJobs and StartMemoryExtractionJob. `on_started` wakes the extractor."""

    def __init__(self, store: RecordsStore, memories: Memories, on_started: Callable[[], None]) -> None:
        self._store, self._memories, self._on_started = store, memories, on_started

    async def list_memory_extraction_jobs(self, parameters: Parameters) -> dict[str, Any]:
        return await asyncio.to_thread(self._list, parameters)

    async def start_memory_extraction_job(self, parameters: Parameters) -> dict[str, Any]:
        job_id = parameters["extractionJob"]["jobId"]

        def start() -> None:
            memory_id = known_id(self._memories, parameters)
            with self._store.transaction() as db:
                found = db.execute(
                    "UPDATE jobs SET status='QUEUED' WHERE memory_id=? AND job_id=?", (memory_id, job_id)
                ).rowcount
            if not found:
                raise not_found(f"Extraction job not found: {job_id}")

        await asyncio.to_thread(start)
        self._on_started()
        return {"jobId": job_id}

    def _list(self, parameters: Parameters) -> dict[str, Any]:
        where, values = ["memory_id=?", "status='FAILED'"], [known_id(self._memories, parameters)]
        given: Mapping[str, str] = parameters.get("filter") or {}
        for name, value in given.items():
            where.append(f"{_FILTERED[name]}=?")
            values.append(value)
        asked = page_request(parameters, "ListMemoryExtractionJobs", int)
        with self._store.reading() as db:
            rows = db.execute(
                "SELECT job_id, messages, failure_reason, strategy_id, session_id, actor_id, seq FROM jobs "  # noqa: S608
                f"WHERE {' AND '.join(where)} AND seq>? ORDER BY seq LIMIT ?",
                (*values, asked.after[0] if asked.after else 0, asked.fetch),
            ).fetchall()
        jobs = [
            {
                "jobID": row[0],
                "messages": {"messagesList": json.loads(row[1])},
                "status": "FAILED",
                "failureReason": row[2] or "unknown",
                "strategyId": row[3],
                "sessionId": row[4],
                "actorId": row[5],
            }
            for row in rows
        ]
        return asked.page("jobs", jobs, lambda at: [rows[at][6]])
