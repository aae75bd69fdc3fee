"""Objects that moto deletes are freed."""

from __future__ import annotations

import gc
import time
import weakref

from moto.core.common_models import BaseModel
from moto.logs.models import LogsBackend

import loomlib.local.moto_fallback


def test_the_lines_of_a_deleted_log_group_are_freed() -> None:
    assert loomlib.local.moto_fallback.MotoFallback
    backend = LogsBackend("us-east-1", "123456789012")
    backend.create_log_group("group", {})
    backend.create_log_stream("group", "stream")
    backend.put_log_events("group", "stream", [{"timestamp": int(time.time() * 1000), "message": "line"}])
    event_refs: list[weakref.ref[BaseModel]] = [
        weakref.ref(event) for event in backend.groups["group"].streams["stream"].events
    ]
    assert len(event_refs) == 1
    backend.delete_log_group("group")
    gc.collect()
    assert event_refs[0]() is None
