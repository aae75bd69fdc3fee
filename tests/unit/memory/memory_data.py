"""The data plane of AgentCore Memory, in memory: what Loom lists, writes and deletes of events and records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from botocore.exceptions import ClientError
from healthy import NOW, description, strategy

from loomlib.aws.connection import Clients
from loomlib.memory.reading import MemoryReader


@dataclass
class MemoryData:
    """Stands in for `Clients`. A client token is forgotten with its event."""

    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    records: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    failed_jobs: int = 0
    refuses_paths: bool = False
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def data(self, region: str | None = None) -> MemoryData:
        assert region == "us-east-1"
        return self

    def reader(self, *templates: str) -> MemoryReader:
        """Of a memory with one strategy for each of these templates."""
        strategies = [strategy(template, id=f"s{number}") for number, template in enumerate(templates)]
        return MemoryReader(clients=cast(Clients, self), memory=description(*strategies))

    def say(self, text: str, actor: str = "anna", session: str = "s1", **more: Any) -> None:
        payload = [{"conversational": {"role": "USER", "content": {"text": text}}}]
        self.create_event(
            memoryId="m", actorId=actor, sessionId=session, eventTimestamp=NOW, payload=payload, clientToken="", **more
        )

    def write(self, namespace: str, text: str, **more: Any) -> None:
        record = {"namespaces": [namespace], "content": {"text": text}, "timestamp": NOW, "requestIdentifier": "r"}
        self.batch_create_memory_records(memoryId="m", records=[record | more])

    def clear(self) -> None:
        self.events.clear()
        self.records.clear()

    def texts(self) -> list[str]:
        return [record["content"]["text"] for record in self.records.values()]

    def list_actors(self, **_: Any) -> dict[str, Any]:
        return {"actorSummaries": [{"actorId": actor} for actor in sorted({event["actorId"] for event in self.events})]}

    def list_sessions(self, *, actorId: str, **_: Any) -> dict[str, Any]:
        sessions = sorted({event["sessionId"] for event in self.events if event["actorId"] == actorId})
        return {
            "sessionSummaries": [{"sessionId": name, "actorId": actorId, "createdAt": NOW} for name in sessions],
        }

    def list_events(self, *, actorId: str, sessionId: str, **_: Any) -> dict[str, Any]:
        place = (actorId, sessionId)
        return {"events": [event for event in self.events if (event["actorId"], event["sessionId"]) == place]}

    def create_event(self, *, clientToken: str, **request: Any) -> dict[str, Any]:
        known = [event for event in self.events if clientToken and event["clientToken"] == clientToken]
        if not known:
            event_id = f"{next(self.numbers):016d}#{next(self.numbers):08x}"
            self.events.append({**request, "clientToken": clientToken, "eventId": event_id})
        return {"event": known[0] if known else self.events[-1]}

    def delete_event(self, *, eventId: str, **_: Any) -> dict[str, Any]:
        self.events = [event for event in self.events if event["eventId"] != eventId]
        return {}

    def get_event(self, **_: Any) -> dict[str, Any]:
        raise refusal("ResourceNotFoundException", "GetEvent")

    def batch_create_memory_records(self, *, records: Sequence[dict[str, Any]], **_: Any) -> dict[str, Any]:
        ids = [f"mem-{next(self.numbers):036d}" for _ in records]
        for id, record in zip(ids, records, strict=True):
            shape: dict[str, Any] = {"memoryStrategyId": "", "metadata": {}, **record, "createdAt": record["timestamp"]}
            self.records[id] = {**shape, "memoryRecordId": id}
        successes = [
            {"memoryRecordId": id, "requestIdentifier": record["requestIdentifier"]}
            for id, record in zip(ids, records, strict=True)
        ]
        return {"successfulRecords": successes, "failedRecords": []}

    def batch_delete_memory_records(self, *, records: Sequence[dict[str, Any]], **_: Any) -> dict[str, Any]:
        for record in records:
            self.records.pop(record["memoryRecordId"], None)
        return {"successfulRecords": [], "failedRecords": []}

    def list_memory_records(
        self, *, namespace: str | None = None, namespacePath: str | None = None, **_: Any
    ) -> dict[str, Any]:
        if "{" in (namespace or "") + (namespacePath or ""):
            raise refusal("ValidationException", "ListMemoryRecords")
        start = (namespacePath or "").rstrip("/") + "/"
        return {
            "memoryRecordSummaries": [
                record
                for record in self.records.values()
                for name in record["namespaces"]
                if (name == namespace if namespace is not None else name.startswith(start))
            ]
        }

    def retrieve_memory_records(self, *, namespacePath: str | None = None, **request: Any) -> dict[str, Any]:
        if self.refuses_paths and namespacePath is not None:
            raise refusal("ValidationException", "RetrieveMemoryRecords")
        return self.list_memory_records(namespace=request.get("namespace"), namespacePath=namespacePath)

    def list_memory_extraction_jobs(self, **_: Any) -> dict[str, Any]:
        job: dict[str, Any] = {"messages": {}, "status": "FAILED", "failureReason": "no model", "strategyId": "s0"}
        return {"jobs": [{"jobID": str(number), **job} for number in range(self.failed_jobs)]}


def refusal(code: str, operation: str) -> ClientError:
    error_response: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return ClientError(error_response, operation)
