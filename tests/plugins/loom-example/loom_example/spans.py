"""A span source: asked for the spans of a call, it makes one up that lasts as long as the call did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def made_up(call: Any) -> Iterator[dict[str, Any]]:
    yield {
        "traceId": call.trace_id,
        "spanId": "b1" * 8,
        "name": "invoke_agent example",
        "startTimeUnixNano": int(call.sent_s * 1e9) + 1_000,
        "endTimeUnixNano": int(call.done_s * 1e9) - 1_000,
        "attributes": {"gen_ai.operation.name": "invoke_agent", "session.id": call.session_id},
    }
