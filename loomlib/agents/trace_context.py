"""The trace context of an invocation, chosen before the request is sent so that its trace id is known at once.

W3C Trace Context (`traceparent`) and X-Ray's tracing header; AgentCore passes both to the agent, whose spans then
belong to this trace.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_XRAY_ROOT = re.compile(r"(?:^|;)\s*Root=1-([0-9a-f]{8})-([0-9a-f]{24})")


def trace_id_in(headers: Mapping[str, str]) -> str | None:
    """Return the trace id (32 hex digits) of `traceparent`, else of `X-Amzn-Trace-Id`; header names in any case."""
    by_name = {name.lower(): value for name, value in headers.items()}
    if match := _TRACEPARENT.fullmatch(by_name.get("traceparent", "").strip().lower()):
        return match[1] if match[1].strip("0") else None
    if match := _XRAY_ROOT.search(by_name.get("x-amzn-trace-id", "")):
        return match[1] + match[2]
    return None


def with_trace(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` with the `traceparent` of a new, sampled trace, unless they carry a trace already.

    Its id begins with the time in seconds, as X-Ray requires.
    """
    if {name.lower() for name in headers} & {"traceparent", "x-amzn-trace-id"}:
        return dict(headers)
    trace_id = f"{int(time.time()):08x}{secrets.token_hex(12)}"
    return {**headers, "traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"}
