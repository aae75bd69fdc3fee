"""A memory's application log (`APPLICATION_LOGS`): one record per extraction, if a delivery requests it.

The members are those that AWS names for memories' log records (CDK, `CfnMemoryApplicationLogsRecordFields`). The
texts in `body` are the local service's own.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..contract import LogSink
from ..resources.store import ResourceStore
from .control_plane import MEMORY

STREAM: Final = "BedrockAgentCoreMemory_ApplicationLogs"


class MemoryLogs:
    """Writes the records.

    Args:
        sink: Receives the records.
        resources: The memories.
        groups: Returns the keys of the log groups to which a resource's logs of a type are delivered.
    """

    def __init__(self, sink: LogSink, resources: ResourceStore, groups: Callable[[str, str], Sequence[str]]) -> None:
        self._sink, self._resources, self._groups = sink, resources, groups

    def extracted(self, outcome: Mapping[str, Any]) -> None:
        """Write a record about one extraction.

        Args:
            outcome: The outcome that the extraction process reported; see `worker.Extraction.outcomes`.
        """
        memory = self._resources.of_id(MEMORY.noun, str(outcome["memory_id"]))
        groups = self._groups(memory.arn, "APPLICATION_LOGS") if memory is not None else ()
        if memory is None or not groups:
            return
        now_ms, failure, event_ids = int(time.time() * 1000), str(outcome["failure"]), outcome["event_ids"]
        text = f"Extraction failed: {failure}" if failure else f"Extracted {len(event_ids)} events"
        record = {
            "resource_arn": memory.arn,
            "event_timestamp": now_ms,
            "timeUnixNano": now_ms * 1_000_000,
            "severityText": "ERROR" if failure else "INFO",
            "severityNumber": 17 if failure else 9,
            "memory_strategy_id": outcome["strategy_id"],
            "namespace": outcome["namespace"],
            "actor_id": outcome["actor_id"],
            "session_id": outcome["session_id"],
            "event_id": event_ids[-1] if event_ids else "",
            "body": {"log": text, "requestId": str(uuid.uuid4()), "isError": bool(failure)},
        }
        for group in groups:
            self._sink.write(group=group, stream=STREAM, timestamp_ms=now_ms, message=json.dumps(record))
