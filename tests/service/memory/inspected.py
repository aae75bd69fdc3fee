"""A workbench on the service whose long-term memory does not wait, and turns said into its memories."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import loomlib as loom
from loomlib.workbench.memory import Memory


def new_memory(bench: loom.Workbench, *strategies: Any) -> Memory:
    return bench.memories.create("m" + uuid.uuid4().hex[:12], strategies=strategies)


def say(memory: Memory, *texts: str, actor: str = "anna", session: str = "s1", **more: Any) -> str:
    """One event: the first text is the user's, the second the assistant's, and so on; its id."""
    payload = [
        {"conversational": {"role": ("USER", "ASSISTANT")[index % 2], "content": {"text": text}}}
        for index, text in enumerate(texts)
    ]
    arguments = {"eventTimestamp": datetime.now(UTC), "payload": payload, **more}
    answer = memory.reader.clients.data().create_event(
        memoryId=memory.id, actorId=actor, sessionId=session, **arguments
    )
    return answer["event"]["eventId"]


def write(memory: Memory, namespace: str, *texts: str) -> list[str]:
    """Records made by hand; their ids."""
    records = [
        {
            "requestIdentifier": f"r{n}",
            "namespaces": [namespace],
            "content": {"text": text},
            "timestamp": datetime.now(UTC),
        }
        for n, text in enumerate(texts)
    ]
    answer = memory.reader.clients.data().batch_create_memory_records(memoryId=memory.id, records=records)
    assert not answer["failedRecords"], answer
    return [record["memoryRecordId"] for record in answer["successfulRecords"]]
