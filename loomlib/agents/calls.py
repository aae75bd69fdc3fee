"""One invocation to be made, complete and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .entry import AgentEntry
from .payloads import Payload, check_session_id, make_payload, new_session_id
from .trace_context import with_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationCall:
    """Who is asked, what, in which session. `timeout_s` bounds it from sending to the end, None leaves it open.

    `headers` name the trace that the invocation belongs to.
    """

    agent: AgentEntry
    payload: Payload = field(repr=False)
    session_id: str
    qualifier: str = "DEFAULT"
    timeout_s: float | None = None
    labels: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def make_call(
    agent: AgentEntry,
    prompt: str | None,
    *,
    payload: Mapping[str, Any] | bytes | None,
    session_id: str | None,
    qualifier: str,
    timeout_s: float | None,
    labels: Sequence[str],
    headers: Mapping[str, str] | None,
) -> InvocationCall:
    """The call these arguments mean. Raises `RequestRejectedError` or `ValueError` before anything is stored or sent."""
    if timeout_s is not None and timeout_s <= 0:
        raise ValueError(f"timeout_s must be above zero, not {timeout_s:g}")
    if not qualifier:
        raise ValueError("qualifier must name an endpoint, such as DEFAULT")
    for name, value in (headers or {}).items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ValueError(f"the header {name!r} has characters that HTTP cannot carry")
    return InvocationCall(
        agent=agent,
        payload=make_payload(prompt, payload),
        session_id=new_session_id() if session_id is None else check_session_id(session_id),
        qualifier=qualifier,
        timeout_s=timeout_s,
        labels=tuple(labels),
        headers=with_trace(headers or {}),
    )
