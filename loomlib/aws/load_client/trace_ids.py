"""The trace of each call of a load step: its id is derived from the step and the call, so that it need not be stored.

W3C Trace Context (`traceparent`). A trace's id begins with a time in seconds, as X-Ray requires.
"""

from __future__ import annotations

import hashlib


def call_trace_id(traces_since_s: int, session_id: str, index: int) -> str:
    """Return the id of a call's trace, 32 hex digits.

    Args:
        traces_since_s: The step's start in whole Unix seconds.
        session_id: The call's session.
        index: Its number in the step.
    """
    return f"{traces_since_s:08x}{_digest(session_id, index)[:24]}"


def call_traceparent(traces_since_s: int, session_id: str, index: int) -> str:
    """Return the `traceparent` of a call, sampled.

    Args:
        traces_since_s: The step's start in whole Unix seconds.
        session_id: The call's session.
        index: Its number in the step.
    """
    digest = _digest(session_id, index)
    return f"00-{traces_since_s:08x}{digest[:24]}-{digest[24:40]}-01"


def _digest(session_id: str, index: int) -> str:
    return hashlib.sha256(f"{session_id}/{index}".encode()).hexdigest()
