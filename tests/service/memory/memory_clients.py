"""One memory and what tests do with it through plain boto3."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config
from waiting import wait_until

from loomlib import local

FACTS = {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}
PREFERENCES = {"userPreferenceMemoryStrategy": {"name": "prefs", "namespaceTemplates": ["/prefs/{actorId}/"]}}
SUMMARIES = {"summaryMemoryStrategy": {"name": "sums", "namespaceTemplates": ["/sums/{actorId}/{sessionId}/"]}}
EPISODES = {
    "episodicMemoryStrategy": {
        "name": "episodes",
        "namespaceTemplates": ["/episodes/{actorId}/{sessionId}/"],
        "reflectionConfiguration": {"namespaceTemplates": ["/reflections/{actorId}/"]},
    }
}
_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTerm:
    """A memory and its clients."""

    control: Any
    data: Any
    memory: Mapping[str, Any]

    @classmethod
    def made(cls, state: local.ServiceState, *strategies: Mapping[str, Any], **more: Any) -> LongTerm:
        control, data = (client(state, name) for name in ("bedrock-agentcore-control", "bedrock-agentcore"))
        name = "m" + uuid.uuid4().hex[:12]
        memory = control.create_memory(name=name, eventExpiryDuration=30, memoryStrategies=list(strategies), **more)[
            "memory"
        ]
        return cls(control=control, data=data, memory=memory)

    @classmethod
    def of(cls, state: local.ServiceState, memory: Mapping[str, Any]) -> LongTerm:
        """A memory that was made before."""
        control, data = (client(state, name) for name in ("bedrock-agentcore-control", "bedrock-agentcore"))
        return cls(control=control, data=data, memory=memory)

    @property
    def id(self) -> str:
        return self.memory["id"]

    def close(self) -> None:
        self.control.close()
        self.data.close()

    def say(
        self, user: str, assistant: str = "Noted.", *, actor: str = "anna", session: str = "s1", **more: Any
    ) -> str:
        """One turn as one event; its id."""
        messages = [("USER", user), ("ASSISTANT", assistant)]
        payload = [{"conversational": {"role": role, "content": {"text": text}}} for role, text in messages if text]
        event = self.data.create_event(
            memoryId=self.id,
            actorId=actor,
            sessionId=session,
            eventTimestamp=datetime.now(UTC),
            payload=payload,
            **more,
        )
        return event["event"]["eventId"]

    def write(self, texts: Sequence[str], namespace: str, **more: Any) -> list[str]:
        """Records made by hand; their ids."""
        records = [
            {
                "requestIdentifier": f"r{number}",
                "namespaces": [namespace],
                "content": {"text": text},
                "timestamp": datetime.now(UTC),
                **more,
            }
            for number, text in enumerate(texts)
        ]
        answer = self.data.batch_create_memory_records(memoryId=self.id, records=records)
        assert not answer["failedRecords"], answer
        return [record["memoryRecordId"] for record in answer["successfulRecords"]]

    def records(self, path: str) -> list[dict[str, Any]]:
        pages = self.data.get_paginator("list_memory_records").paginate(memoryId=self.id, namespacePath=path)
        return [record for page in pages for record in page["memoryRecordSummaries"]]

    def texts(self, path: str) -> list[str]:
        return sorted(record["content"]["text"] for record in self.records(path))

    def search(self, query: str, top_k: int = 10, **place: Any) -> list[dict[str, Any]]:
        answer = self.data.retrieve_memory_records(
            memoryId=self.id, searchCriteria={"searchQuery": query, "topK": top_k}, **place
        )
        return answer["memoryRecordSummaries"]

    def until(self, path: str, predicate: Callable[[list[str]], bool]) -> list[str]:
        """Return the texts below a path once they satisfy `predicate`."""
        return wait_until(lambda: [texts] if predicate(texts := self.texts(path)) else [], what=path)[0]


def client(state: local.ServiceState, name: str) -> Any:
    return boto3.client(
        name,
        endpoint_url=state.url,
        region_name=state.region,
        aws_access_key_id=state.access_key,
        aws_secret_access_key=state.secret_key,
        config=Config(retries={"total_max_attempts": 1}),
    )


def extracting(state: local.ServiceState) -> list[int]:
    """The service's extracting processes."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(row[0]) for row in rows if int(row[1]) == state.pid and "loomlib.local.memory.extraction" in row[2]]
